// How long each stage of a command's and of a query's way takes, counted in fixed buckets. Unlike the decaying samples of
// metrics.ts, buckets add up: over servers, and over any time between two readings. To observe is a few comparisons and adds.
//
//   command   queue   from its arrival to its turn
//             parse   bytes to a typed command
//             apply   comparing and writing, without the commit
//             commit  of its batch, once for all commands of it
//   query     plan    parameters and text to a tree
//             execute work on its rows, pauses left out
//             stream  a long answer on its way, the client's pauses included

export const stageNames = ['queue', 'parse', 'apply', 'commit', 'plan', 'execute', 'stream'] as const;
type StageName = (typeof stageNames)[number];

/** Upper bounds in milliseconds, ascending; what takes longer is in a last bucket without one. */
export const stageBounds: readonly number[] = [
  0.1, 0.25, 0.5, 1, 2.5, 5, 10, 25, 50, 100, 250, 500, 1000, 2500, 5000, 10_000, 30_000, 60_000, 300_000,
];

export class Stage {
  /** Observations by bucket, each in the first one whose bound it does not exceed. */
  readonly counts = new Float64Array(stageBounds.length + 1);
  /** Milliseconds, all together. */
  sum = 0;
  count = 0;

  /** `ms`: milliseconds. */
  observe(ms: number): void {
    let bucket = 0;
    while (bucket < stageBounds.length && ms > stageBounds[bucket]!) bucket++;
    this.counts[bucket]!++;
    this.sum += ms;
    this.count++;
  }
}

export type Stages = Readonly<Record<StageName, Stage>>;

export function createStages(): Stages {
  return Object.fromEntries(stageNames.map((name) => [name, new Stage()])) as Record<StageName, Stage>;
}
