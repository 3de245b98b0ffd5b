// Entry of an actor thread with the real engine.

import { openStoreInfo } from '../engine/store/store-info.ts';
import { serveActor } from './actor.ts';
import { EngineHost, type EngineSettings, engineDefaults } from './engine-host.ts';

serveActor(({ dir, engine }) => {
  const { partitions } = openStoreInfo(dir);
  const settings: EngineSettings = { ...engineDefaults, ...(engine as Partial<EngineSettings> | null) };
  return (slot, guard) => new EngineHost({ dir, slot, partitions, settings, guard });
});
