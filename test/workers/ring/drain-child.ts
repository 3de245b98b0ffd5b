// A process that runs a ring with the stub engine until nothing waits any more, and then ends in order. Arguments: data directory, then
// the commands to be submitted before, as JSON: of each its certname, its uuid and what the stub is to do.

import { startRing } from '../../../workers/ring/start-ring.ts';
import { threadScript } from '../../../workers/system/thread-script.ts';
import { submissionOf } from '../../support/commands.ts';
import { engineSettings } from '../../support/engine-settings.ts';
import { allOpen } from '../../support/partitions.ts';
import { until } from '../../support/waiting.ts';

const [dir, ...commands] = process.argv.slice(2) as [string, ...string[]];
const ring = await startRing({
  dir,
  engine: engineSettings,
  partitions: 3,
  threads: 2,
  script: threadScript('stub-actor', import.meta.url),
  times: { flushDelay: 20, retryDelay: 50 },
  onFatal: () => process.kill(process.pid, 'SIGKILL'),
});
await Promise.all(
  commands.map((text) => {
    const { certname, uuid, ...script } = JSON.parse(text);
    const sent = { command: 'store report', version: 8, certname, payload: JSON.stringify(script) };
    return ring.submit(submissionOf(sent, { uuid }), false);
  }),
);
// What partitions hold is known when they are open.
await allOpen(ring, 30_000);
await until('nothing waits', () => ring.depth === 0, 20_000);
await ring.stop();
