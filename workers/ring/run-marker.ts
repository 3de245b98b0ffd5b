// Whether the runs before this one ended in order. A process that dies soon after each of its starts may be dying of a damaged
// page, which LMDB maps and trusts; so after some such ends the files are read in whole before they are mapped, and the start
// is refused with the name of the one that is damaged.

import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DataFileDamaged } from '../../engine/store/file/data-file.ts';
import { dataFileOf, RUNNING_NAME } from '../../engine/store/file/layout.ts';
import { walkInTurns } from '../../engine/store/file/page-walk.ts';
import { partitionDirs, type StoreInfo } from '../../engine/store/file/store-info.ts';
import { inTurns } from '../system/turns.ts';

/** A run that lasted this long says nothing against the files. */
export const SETTLED_MS = 600_000;
/** So many runs in a row that ended soon and not in order make the files suspect. */
export const QUICK_ENDS_MAX = 2;

/** The file `running` of a data directory: there while a process uses it, and after one that did not end in order. */
export class RunMarker {
  /** Runs before this one, in a row, that ended soon and not in order. */
  readonly quickEnds: number;
  readonly #file: string;
  readonly #timer: NodeJS.Timeout;

  constructor(dir: string) {
    this.#file = join(dir, RUNNING_NAME);
    this.quickEnds = readEnds(this.#file);
    this.#write(this.quickEnds + 1);
    this.#timer = setTimeout(() => this.#write(0), SETTLED_MS);
    this.#timer.unref();
  }

  /** The run ends in order. */
  end(): void {
    clearTimeout(this.#timer);
    rmSync(this.#file, { force: true });
  }

  /** The run says nothing against the files: the start was refused, or the disk made it end. */
  leave(): void {
    clearTimeout(this.#timer);
    this.#write(this.quickEnds);
  }

  #write(ends: number): void {
    try {
      writeFileSync(this.#file, `${ends}\n`, { mode: 0o600 });
    } catch {
      // A full disk is told by what needs it.
    }
  }
}

/** 0 when there is no such file: the run before ended in order, or there was none. */
function readEnds(file: string): number {
  try {
    return Math.max(0, Number.parseInt(readFileSync(file, 'utf8'), 10) || 0);
  } catch {
    return 0;
  }
}

/**
 * Reads every page of every partition, without mapping a file; others have their turns meanwhile. Throws DataFileDamaged with
 * the first problem.
 */
export async function checkAllPages(dir: string, info: StoreInfo): Promise<void> {
  for (const path of partitionDirs(dir, info)) {
    const [problem] = await inTurns(walkInTurns(path));
    if (problem !== undefined) throw new DataFileDamaged(dataFileOf(path), problem);
  }
}
