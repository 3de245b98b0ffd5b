// Entry of an actor thread with the real engine.

import { Fingerprints, newKey } from '../engine/fingerprint.ts';
import { openStoreInfo } from '../engine/store/store-info.ts';
import { serveActor } from './actor.ts';
import { EngineHost, type EngineSettings, engineDefaults } from './engine-host.ts';

serveActor(({ dir, engine }) => {
  const { partitions, key } = openStoreInfo(dir);
  const fingerprints = new Fingerprints(key ?? newKey());
  const settings: EngineSettings = { ...engineDefaults, ...(engine as Partial<EngineSettings> | null) };
  return (slot, guard) => new EngineHost({ dir, slot, partitions, fingerprints, settings, guard });
});
