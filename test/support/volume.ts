// A small file system of its own for tests of full disks: a tmpfs, which only root may mount and only Linux has.

import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { atEnd, type Owner } from './endings.ts';

export interface Volume {
  readonly dir: string;
  resize(mebibytes: number): void;
  /** A second, read-only sight of a directory; returns where it is. */
  readOnlySight(of: string): string;
}

function run(command: string, ...args: string[]): void {
  const { status, stderr } = spawnSync(command, args, { encoding: 'utf8' });
  if (status !== 0) throw new Error(`${command} ${args.join(' ')}: ${stderr}`);
}

/** null where such a thing cannot be made, which is told. Gone when the test ends. */
export function smallVolume(owner: Owner & { diagnostic(text: string): void }, mebibytes: number): Volume | null {
  const dir = mkdtempSync(join(tmpdir(), 'muster-volume-'));
  try {
    if (process.platform !== 'linux' || process.getuid?.() !== 0)
      throw new Error('only root on Linux may mount a tmpfs');
    run('mount', '-t', 'tmpfs', '-o', `size=${mebibytes}M,mode=0700`, 'tmpfs', dir);
  } catch (error) {
    rmSync(dir, { recursive: true, force: true });
    owner.diagnostic((error as Error).message);
    return null;
  }
  const sights: string[] = [];
  atEnd(owner, () => {
    for (const mounted of [...sights, dir]) {
      // Lazily: what a test left open must not keep the next one from beginning.
      run('umount', '-l', mounted);
      rmSync(mounted, { recursive: true, force: true });
    }
  });
  return {
    dir,
    resize: (size) => run('mount', '-o', `remount,size=${size}M`, dir),
    readOnlySight: (of) => {
      const sight = mkdtempSync(join(tmpdir(), 'muster-sight-'));
      run('mount', '--bind', of, sight);
      sights.push(sight);
      run('mount', '-o', 'remount,bind,ro', sight);
      return sight;
    },
  };
}
