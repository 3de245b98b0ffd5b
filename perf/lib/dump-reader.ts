// A client that reads whole answers again and again on a thread of its own, so that its reading does not hold up the clients
// whose times are taken. Main side: `readAgain`; the file is also the thread's entry.

import { once } from 'node:events';
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads';
import { Client } from './client.ts';

interface Task {
  readonly url: string;
  readonly path: string;
}

/** Reads `path` until `stop` is called, which finishes the answer at hand and tells how many there were. */
export function readAgain(url: string, path: string): { stop(): Promise<number> } {
  const task: Task = { url, path };
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

async function readUntilStopped({ url, path }: Task): Promise<void> {
  const client = new Client(url, 1);
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
