// What has been begun and is not waited for: requests that are made when they are due, whether or not those before were answered.

export class Started {
  readonly #running = new Set<Promise<void>>();
  #failure: Error | null = null;

  /** Whether one has failed: no more need be begun. */
  get hasFailed(): boolean {
    return this.#failure !== null;
  }

  add(work: Promise<void>): void {
    const running = work
      .catch((error: Error) => {
        this.#failure ??= error;
      })
      .finally(() => this.#running.delete(running));
    this.#running.add(running);
  }

  /** Resolves when all are done; rejects with what the first one failed with. */
  async done(): Promise<void> {
    await Promise.all(this.#running);
    if (this.#failure !== null) throw this.#failure;
  }
}
