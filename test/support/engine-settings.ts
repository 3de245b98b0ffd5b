// Settings that commands are applied with.

import { DAY_MS } from '../../engine/time.ts';
import type { EngineSettings } from '../../workers/actor/engine-host.ts';

/** As a server without configuration has them. */
export const engineSettings: EngineSettings = {
  resourceEventsTtl: 14 * DAY_MS,
  factsBlocklist: [],
  factsBlocklistType: 'literal',
  decompressedMax: 256 << 20,
  nodeTtl: 7 * DAY_MS,
  nodePurgeTtl: 14 * DAY_MS,
  reportTtl: 14 * DAY_MS,
};
