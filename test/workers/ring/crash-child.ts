// A process to be killed: runs a ring with the stub engine, submits without pause, and writes each acknowledged uuid to
// standard output. Arguments: data directory, partitions.

import { randomUUID } from 'node:crypto';
import { writeSync } from 'node:fs';
import { startRing } from '../../../workers/ring/start-ring.ts';
import { threadScript } from '../../../workers/system/thread-script.ts';
import { submissionOf } from '../../support/commands.ts';
import { engineSettings } from '../../support/engine-settings.ts';

const [dir, partitions] = process.argv.slice(2) as [string, string];
const ring = await startRing({
  dir,
  engine: engineSettings,
  partitions: Number(partitions),
  threads: 2,
  script: threadScript('stub-actor', import.meta.url),
  times: { flushDelay: 20, retryDelay: 50 },
});

async function submitForEver(client: number): Promise<void> {
  for (let i = 0; ; i++) {
    const uuid = randomUUID();
    const script = i % 17 === 3 ? { do: 'retry', times: 1 } : { do: 'store', padding: 'x'.repeat((i * 977) % 5000) };
    await ring.submit(
      submissionOf(
        { command: 'store report', version: 8, certname: `n${(i + client) % 13}`, payload: JSON.stringify(script) },
        { uuid },
      ),
      false,
    );
    // Straight to the pipe: what the parent reads was acknowledged.
    writeSync(1, `${uuid}\n`);
  }
}

for (let client = 0; client < 8; client++) void submitForEver(client);
