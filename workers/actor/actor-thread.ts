// Entry of an actor thread with the real engine.

import { Fingerprints, newKey } from '../../engine/fingerprint.ts';
import { warmUpRuns } from '../../engine/ingest/warm-up.ts';
import { scratchDir } from '../../engine/store/file/layout.ts';
import { openStoreInfo } from '../../engine/store/file/store-info.ts';
import { type ActorData, serveActor } from './actor.ts';
import type { WarmUp } from './actor-warm-up.ts';
import { EngineHost } from './engine-host.ts';

/** In a store of its own, of one partition. */
function warmUpWith(data: ActorData): WarmUp {
  const dir = scratchDir(data.dir, data.slots[0] ?? 0);
  const settings = data.engine;
  return {
    dir,
    open: (guard) => {
      const fingerprints = new Fingerprints(newKey());
      return new EngineHost({ dir, slot: 0, partitions: 1, fingerprints, settings, guard });
    },
    batches: warmUpRuns,
  };
}

serveActor((data) => {
  const { partitions, key } = openStoreInfo(data.dir);
  const fingerprints = new Fingerprints(key ?? newKey());
  const settings = data.engine;
  return (slot, guard) => new EngineHost({ dir: data.dir, slot, partitions, fingerprints, settings, guard });
}, warmUpWith);
