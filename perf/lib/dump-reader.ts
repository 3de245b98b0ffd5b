// A client that reads whole answers on a thread of its own, so that its reading does not hold up the clients whose times are
// taken, nor they it. Main side: `readOnce` and `readAgain`; the file is also the thread's entry.

import { once } from 'node:events';
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads';
import { Client, type Target, type Timed } from './client.ts';

interface Task extends Target {
  readonly path: string;
  /** Whether one answer is all. */
  readonly isOnce: boolean;
}

function begin({ url, identity }: Target, path: string, isOnce: boolean) {
  const task: Task = { url, identity, path, isOnce };
  const thread = new Worker(new URL(import.meta.url), { workerData: task });
  const answers = once(thread, 'message').then(([timed]) => timed as readonly Timed[]);
  // A failure is told when the answers are asked for.
  answers.catch(() => {});
  return { thread, answers };
}

/** Reads `path` as fast as it comes. */
export async function readOnce(target: Target, path: string): Promise<Timed> {
  const [timed] = await begin(target, path, true).answers;
  return timed!;
}

/** Reads `path` until `stop` is called, which finishes the answer at hand and tells of all. */
export function readAgain(target: Target, path: string): { stop(): Promise<readonly Timed[]> } {
  const { thread, answers } = begin(target, path, false);
  return {
    stop() {
      thread.postMessage('stop');
      return answers;
    },
  };
}

async function read({ path, isOnce, ...target }: Task): Promise<void> {
  const client = new Client(target, 1);
  let done = isOnce;
  const onStop = (): void => {
    done = true;
  };
  parentPort!.once('message', onStop);
  const answers: Timed[] = [];
  do {
    const timed = await client.read({ path }, () => {});
    if (timed.status !== 200) throw new Error(`${path} got ${timed.status}`);
    answers.push(timed);
  } while (!done);
  client.close();
  parentPort!.off('message', onStop);
  parentPort!.postMessage(answers);
}

if (!isMainThread) await read(workerData as Task);
