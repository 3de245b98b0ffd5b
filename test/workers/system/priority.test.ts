// The threads that apply commands give way to the others, as far as they are told.

import { readdirSync, readFileSync } from 'node:fs';
import { getPriority } from 'node:os';
import { after, describe, test } from 'node:test';
import { knowsIdle } from '../../../workers/system/priority.ts';
import { Endings } from '../../support/endings.ts';
import { TestServer } from '../../support/server.ts';
import { until } from '../../support/waiting.ts';

const skip =
  process.platform !== 'linux'
    ? 'threads have priorities of their own on Linux only'
    : getPriority() === 0
      ? false
      : 'these tests have a low priority themselves';

/** Numbers of Linux's policies. */
const NORMAL = 0;
const IDLE = 5;
/** Where they are in what Linux tells of a thread, behind its name. */
const NICENESS_FIELD = 16;
const POLICY_FIELD = 38;

/** `niceness policy` of each thread whose niceness is not that of the process. */
function yieldingThreads(pid: number): string[] {
  const found: string[] = [];
  for (const thread of readdirSync(`/proc/${pid}/task`)) {
    const stat = readFileSync(`/proc/${pid}/task/${thread}/stat`, 'latin1');
    const fields = stat.slice(stat.lastIndexOf(') ') + 2).split(' ');
    if (fields[NICENESS_FIELD] !== '0') found.push(`${fields[NICENESS_FIELD]} ${fields[POLICY_FIELD]}`);
  }
  return found;
}

describe('priority of the threads that apply commands', { skip }, () => {
  const endings = new Endings();
  after(() => endings.run());

  /** Waits until a server with three threads for commands has them up, and no other thread gives way. */
  async function assertThreads(expected: string, ...args: string[]): Promise<void> {
    const server = await TestServer.start(endings, { args: ['--command-threads', '3', ...args] });
    await until(`three threads of ${expected}`, () => {
      const threads = yieldingThreads(server.pid);
      return threads.length === 3 && threads.every((thread) => thread === expected);
    });
    await server.stop();
  }

  test('low, unless something else is said', () => assertThreads(`5 ${NORMAL}`));

  const missing = skip || knowsIdle() ? skip : 'koffi is not installed for this platform';
  test('idle', { skip: missing }, () => assertThreads(`5 ${IDLE}`, '--command-priority', 'idle'));
});
