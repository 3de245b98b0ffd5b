// Thread entry for the tests of ring and supervision: real partitions, and instead of the engine's commands a body that says
// what shall happen. Each application of a command is counted in the partition, in the transaction that advances the
// position, so a test can tell exactly once from twice or never.
//
//   {"do": "store"}                    processed
//   {"do": "store slowly"}             processed in 5 ms
//   {"do": "refuse"}                   fails for good, as validation does
//   {"do": "retry", "times": n}        fails n times, retryable
//   {"do": "throw"}                    makes apply throw, nothing is committed
//   {"do": "move", "to": certname}     belongs to another certname
//   {"do": "die"}                      ends the thread
//   {"do": "die committed"}            ends the thread once it has been applied
//   {"do": "kill"}                     ends the whole process
//   {"do": "kill held"}                fails, retryable, and ends the whole process when it is tried again
//   {"do": "kill there", "to": certname}  belongs to another certname, and ends the whole process there
//   {"do": "fill memory"}              takes memory in its transaction until its thread ends for want of it
//   {"do": "hang"}                     never returns
//   {"do": "hang inside"}              stays in its transaction until the release file is there, and then fails it

import { appendFileSync, existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { BodyReader, Unreadable } from '../../../engine/inbox/stored-body.ts';
import type { ApplyOutcome, QueuedCommand } from '../../../engine/ingest/command/types.ts';
import type { Sweep } from '../../../engine/retention/sweep.ts';
import type { Batch } from '../../../engine/store/batch.ts';
import { partitionDir } from '../../../engine/store/file/layout.ts';
import { openStoreInfo, slotOf } from '../../../engine/store/file/store-info.ts';
import { openPartition, type Partition } from '../../../engine/store/partition.ts';
import { type ActorData, serveActor } from '../../../workers/actor/actor.ts';
import type { Applied, ApplyContext, Guard, HeldChange, PartitionHost } from '../../../workers/actor/partition-host.ts';

interface Script {
  readonly do:
    | 'store'
    | 'store slowly'
    | 'refuse'
    | 'retry'
    | 'throw'
    | 'large'
    | 'move'
    | 'die'
    | 'die committed'
    | 'kill'
    | 'kill held'
    | 'kill there'
    | 'fill memory'
    | 'hang'
    | 'hang inside';
  readonly times?: number;
  readonly to?: string;
}

const LONG_LIST = `[${'1.5,'.repeat(1000)}1]`;

/** While this file exists in the data directory, partitions cannot be written: its content is the error's code. */
const FAULT_FILE = 'fault';

/** While this file exists, bodies cannot be read from the log: its content is the error's code. */
const UNREADABLE_FILE = 'unreadable';

/** While this file exists, there is room for so many commands of a batch as it says, and for none that is large. */
const ROOM_FILE = 'room';

/** What hangs inside ends when this file is in the data directory, or after the time in ms. */
const RELEASE_FILE = 'release';
const HANG_MAX = 60_000;
const SLOWLY_MS = 5;

class StubHost implements PartitionHost {
  readonly #partition: Partition;
  readonly #dir: string;
  readonly #slot: number;
  readonly #partitions: number;
  readonly #guard: Guard;
  /** How often each command has failed, by seq. */
  readonly #failures = new Map<number, number>();

  constructor(dir: string, slot: number, guard: Guard) {
    this.#guard = guard;
    this.#dir = dir;
    this.#slot = slot;
    this.#partitions = openStoreInfo(dir).partitions;
    this.#partition = openPartition(partitionDir(dir, slot));
  }

  get position(): number {
    return this.#partition.position;
  }

  apply(commands: readonly QueuedCommand[], context: ApplyContext): Applied {
    const start = performance.now();
    for (const command of commands) {
      const script = scriptOf(command);
      const what = script.do;
      if (what === 'die') process.exit(7);
      if (what === 'kill') process.kill(process.pid, 'SIGKILL');
      // What moves the stream position comes from the log.
      if (what === 'kill held' && context.position === 0) process.kill(process.pid, 'SIGKILL');
      if (what === 'kill there' && !this.#isElsewhere(script)) process.kill(process.pid, 'SIGKILL');
      if (what === 'hang') for (;;);
    }
    this.#requireRoom(commands);
    const outcomes = this.#write((batch) => {
      const all = commands.map((command) => this.#applyOne(command));
      writeHeld(batch, context.held(all));
      batch.position = Math.max(batch.position, context.position);
      return all;
    });
    for (const { seq, envelope } of commands) {
      appendFileSync(join(this.#dir, 'applied.txt'), `${this.#slot} ${seq} ${envelope.certname}\n`);
    }
    for (const { kind, seq } of outcomes) if (kind === 'failed') this.#failures.set(seq, this.#failuresOf(seq) + 1);
    if (commands.some((command) => scriptOf(command).do === 'die committed')) process.exit(7);
    const share = (performance.now() - start) / Math.max(1, commands.length);
    const [durations, parses] = [outcomes.map(() => share), outcomes.map(() => 1)];
    return { outcomes, durations, parses, timings: [{ name: 'commit', value: 1 }] };
  }

  #requireRoom(commands: readonly QueuedCommand[]): void {
    const file = join(this.#dir, ROOM_FILE);
    if (!existsSync(file)) return;
    const isLarge = commands.some((command) => scriptOf(command).do === 'large');
    if (isLarge || commands.length > Number(readFileSync(file, 'utf8'))) {
      throw Object.assign(new Error('ENOSPC: injected'), { code: 'ENOSPC' });
    }
  }

  #isElsewhere({ to = '' }: Script): boolean {
    return slotOf(to, this.#partitions) !== this.#slot;
  }

  #failuresOf(seq: number): number {
    return this.#failures.get(seq) ?? 0;
  }

  #applyOne(command: QueuedCommand): ApplyOutcome {
    const { seq, envelope } = command;
    const { uuid, certname } = envelope;
    const script = scriptOf(command);
    const failed = {
      kind: 'failed',
      seq,
      validation: script.do === 'refuse',
      exception: 'StubFailure',
      stack: [],
    } as const;
    if (script.do === 'store slowly') for (const end = Date.now() + SLOWLY_MS; Date.now() < end; );
    if (script.do === 'throw') throw new TypeError('thrown on request');
    // Not with arrays that V8 fills by itself: Node 24 lets a thread go on with these far beyond its bound.
    if (script.do === 'fill memory') for (const all: unknown[] = []; ; ) all.push(JSON.parse(LONG_LIST));
    if (script.do === 'hang inside') {
      const end = Date.now() + HANG_MAX;
      while (Date.now() < end && !existsSync(join(this.#dir, RELEASE_FILE)));
      throw new Error('came back');
    }
    if ((script.do === 'move' || script.do === 'kill there') && this.#isElsewhere(script)) {
      return { kind: 'reroute', seq, certname: script.to ?? '' };
    }
    if (script.do === 'kill held') return { ...failed, retryable: true, error: 'fails on request, at first' };
    if (script.do === 'refuse') return { ...failed, retryable: false, error: 'refused on request' };
    if (script.do === 'retry' && this.#failuresOf(seq) < (script.times ?? 0)) {
      return { ...failed, retryable: true, error: `attempt ${this.#failuresOf(seq)} fails on request` };
    }
    const key = Buffer.from(`applied ${uuid}`);
    const table = this.#partition.tables.environment;
    const before = table.get(key);
    table.putSync(key, Buffer.from(String(Number(before?.toString() ?? 0) + 1)));
    return { kind: 'processed', seq, detail: 'stored', certname, hash: 'abcdef0123456789' };
  }

  writeHeld(changes: readonly HeldChange[], position: number): void {
    this.#write((batch) => {
      writeHeld(batch, changes);
      batch.position = Math.max(batch.position, position);
    });
  }

  heldSeqs(): number[] {
    return this.#partition.retrySeqs();
  }

  readHeld(seq: number): Uint8Array | null {
    return this.#partition.retry(seq);
  }

  flush(): Promise<void> {
    return this.#partition.flush();
  }

  /** Three steps that change one thing each; the slot's number as the day found. */
  sweep(): Sweep {
    let steps = 0;
    return { step: () => ({ changed: 1, done: ++steps === 3, day: this.#slot }) };
  }

  close(): Promise<void> {
    return this.#partition.close();
  }

  #write<T>(change: (batch: Batch) => T): T {
    const fault = join(this.#dir, FAULT_FILE);
    if (existsSync(fault)) {
      const code = readFileSync(fault, 'utf8');
      throw Object.assign(new Error(`${code}: injected`), { code });
    }
    return this.#guard(() => this.#partition.write(change));
  }
}

const scriptOf = (command: QueuedCommand): Script => JSON.parse(Buffer.from(command.body).toString()) as Script;

function writeHeld(batch: Batch, changes: readonly HeldChange[]): void {
  for (const { seq, bytes } of changes) {
    if (bytes === null) batch.removeRetry(seq);
    else batch.putRetry(seq, bytes);
  }
}

/** Injects failures into the reading of bodies. */
function failToRead(dir: string): void {
  const { read } = BodyReader.prototype;
  BodyReader.prototype.read = function (this: BodyReader, stored) {
    const file = join(dir, UNREADABLE_FILE);
    if (!existsSync(file)) return read.call(this, stored);
    const code = readFileSync(file, 'utf8');
    throw new Unreadable(0, Object.assign(new Error(`${code}: injected into read`), { code }));
  };
}

serveActor((data: ActorData) => {
  failToRead(data.dir);
  return (slot, guard) => new StubHost(data.dir, slot, guard);
});
