// What has been begun and is not waited for: requests that are made when they are due, whether or not those before were answered.

export class Started {
  readonly #all: Promise<void>[] = [];
  #failure: Error | null = null;

  /** Whether one has failed: no more need be begun. */
  get hasFailed(): boolean {
    return this.#failure !== null;
  }

  add(work: Promise<void>): void {
    this.#all.push(
      work.catch((error: Error) => {
        this.#failure ??= error;
      }),
    );
  }

  /** Resolves when all are done; rejects with what the first one failed with. */
  async done(): Promise<void> {
    await Promise.all(this.#all);
    if (this.#failure !== null) throw this.#failure;
  }
}
