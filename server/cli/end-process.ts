import { nativeFunction } from '../../workers/system/native.ts';

/**
 * Ends the process at once. `process.exit` would interrupt the threads and wait for them, and one that is interrupted in a
 * transaction of LMDB, which it may be while it opens the store, waits for itself for ever. Where the status cannot be given that
 * way (native.ts), SIGKILL is what is left.
 */
export function endProcess(status: number): void {
  nativeFunction('void _exit(int status)')?.(status);
  process.kill(process.pid, 'SIGKILL');
}
