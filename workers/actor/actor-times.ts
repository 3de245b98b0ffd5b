// How long actors wait for what.

/** Numbers that tests make small. Milliseconds. */
export interface ActorTimes {
  /** Between the attempts of a retryable command. */
  readonly retryDelay: number;
  /** From a commit to the flush that makes it durable. */
  readonly flushDelay: number;
  /** First and largest pause while the partition cannot be written. */
  readonly stallMin: number;
  readonly stallMax: number;
}

export const actorTimes: ActorTimes = { retryDelay: 3_600_000, flushDelay: 1000, stallMin: 200, stallMax: 10_000 };
