// A partition's host whose calls are all uninterrupted pieces of work: a thread that is ended between two calls of lmdb leaves
// the second one without a way to fail, and the whole process dies of that. Only `apply` is left to the host itself, which
// guards its transaction: what a command does before that may hang and be ended.

import type { ApplyContext, Guard, HeldChange, PartitionHost } from './partition-host.ts';

/** Opens the host, which is such a piece of work, too. Throws what `open` throws. */
export function openGuarded(open: () => PartitionHost, guard: Guard): PartitionHost {
  const host = guard(open);
  return {
    get position() {
      return guard(() => host.position);
    },
    apply: (commands, context: ApplyContext) => host.apply(commands, context),
    writeHeld: (changes: readonly HeldChange[], position) => guard(() => host.writeHeld(changes, position)),
    heldSeqs: () => guard(() => host.heldSeqs()),
    readHeld: (seq) => guard(() => host.readHeld(seq)),
    // What goes on behind the call needs no guard: Node waits for it before it takes the thread apart.
    flush: () => guard(() => host.flush()),
    sweep: (kind, now) => {
      const sweep = guard(() => host.sweep(kind, now));
      return { step: () => guard(() => sweep.step()) };
    },
    close: () => guard(() => host.close()),
  };
}
