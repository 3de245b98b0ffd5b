// A client that reads whole answers again and again on a thread of its own, so that its reading does not hold up the clients
// whose times are taken. Main side: `readAgain`; the file is also the thread's entry.

import { once } from 'node:events';
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads';
import { Client, type Target } from './client.ts';

interface Task extends Target {
  readonly path: string;
}

/** Reads `path` until `stop` is called, which finishes the answer at hand and tells how many there were. */
export function readAgain({ url, identity }: Target, path: string): { stop(): Promise<number> } {
  const task: Task = { url, identity, path };
  const thread = new Worker(new URL(import.meta.url), { workerData: task });
  const count = once(thread, 'message').then(([answers]) => answers as number);
  // A failure is told when the thread is asked to stop.
  count.catch(() => {});
  return {
    stop() {
      thread.postMessage('stop');
      return count;
    },
  };
}

async function readUntilStopped({ path, ...target }: Task): Promise<void> {
  const client = new Client(target, 1);
  let done = false;
  parentPort!.once('message', () => {
    done = true;
  });
  let answers = 0;
  while (!done) {
    const { status } = await client.read({ path }, () => {});
    if (status !== 200) throw new Error(`${path} got ${status}`);
    answers++;
  }
  client.close();
  parentPort!.postMessage(answers);
}

if (!isMainThread) await readUntilStopped(workerData as Task);
