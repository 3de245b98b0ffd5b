// Configuration files on disk: a file, a folder (not its subfolders) or a comma-separated list of them, each read by its
// suffix and merged into one tree. Sections may be spread over files; the same key in two files is an error.

import { readdirSync, readFileSync, statSync } from 'node:fs';
import { basename, extname, join } from 'node:path';
import { reasonOf } from '../../engine/reason.ts';
import { parseHocon } from './hocon.ts';
import { parseIni, parseProperties } from './ini.ts';
import type { Environment } from './substitutions.ts';
import { type ConfigObject, emptyObject, FormatError, type Problem, placeText } from './tree.ts';

const readers: Readonly<Record<string, (text: string, file: string, environment: Environment) => ConfigObject>> = {
  '.ini': parseIni,
  '.conf': parseHocon,
  '.json': parseHocon,
  '.properties': parseProperties,
};

/** PuppetDB reads these formats, too. A folder with such a file is refused: without it settings would be missing. */
const NOT_READ = ['.edn', '.yaml', '.yml'];

/** Largest file that is read: configuration is small, and a wrong path may name anything. */
const FILE_BYTES_MAX = 16_777_216;

interface ConfigFiles {
  readonly tree: ConfigObject;
  readonly problems: readonly Problem[];
}

/**
 * Reads everything that `paths` (as given to `--config`) names. `environment`: what substitutions in HOCON may stand for. Never
 * throws: what is wrong is in `problems`.
 */
export function readConfigFiles(paths: string, environment: Environment): ConfigFiles {
  const tree = emptyObject({ file: paths, line: 0 });
  const problems: Problem[] = [];
  const named = paths.split(',').map((part) => part.trim());
  if (named.every((path) => path === '')) problems.push({ where: '--config', message: 'names no file or folder' });
  for (const path of named) {
    if (path === '') continue;
    for (const file of filesOf(path, problems)) {
      const object = readOne(file, environment, problems);
      if (object !== null) merge(tree, object, [], problems);
    }
  }
  return { tree, problems };
}

function filesOf(path: string, problems: Problem[]): string[] {
  try {
    if (!statSync(path).isDirectory()) return [path];
    return readdirSync(path, { withFileTypes: true })
      .filter(({ name }) => !name.startsWith('.') && (extname(name) in readers || NOT_READ.includes(extname(name))))
      .filter((entry) => !entry.isDirectory())
      .map((entry) => join(path, entry.name))
      .sort();
  } catch (error) {
    problems.push({ where: path, message: `cannot be read: ${reasonOf(error)}` });
    return [];
  }
}

function readOne(file: string, environment: Environment, problems: Problem[]): ConfigObject | null {
  const suffix = extname(file);
  const reader = readers[suffix];
  if (reader === undefined) {
    const known = Object.keys(readers).join(', ');
    problems.push({
      where: file,
      message: `the format \`${suffix || basename(file)}\` is not read; known are ${known}`,
    });
    return null;
  }
  try {
    const size = statSync(file).size;
    if (size > FILE_BYTES_MAX) throw new Error(`it has ${size} bytes; at most ${FILE_BYTES_MAX} are read`);
    return reader(readFileSync(file, 'utf8'), file, environment);
  } catch (error) {
    const where = error instanceof FormatError ? placeText(error.place) : file;
    problems.push({
      where,
      message: error instanceof FormatError ? error.message : `cannot be read: ${reasonOf(error)}`,
    });
    return null;
  }
}

function merge(target: ConfigObject, source: ConfigObject, path: readonly string[], problems: Problem[]): void {
  for (const [key, value] of source.members) {
    const known = target.members.get(key);
    const keyPath = [...path, key];
    if (known === undefined) {
      target.members.set(key, value);
    } else if (known.kind === 'object' && value.kind === 'object') {
      merge(known, value, keyPath, problems);
    } else {
      const name = `[${keyPath.map((part) => `:${part}`).join(' ')}]`;
      problems.push({
        where: placeText(value.place),
        message: `Duplicate configuration entry: ${name} (first at ${placeText(known.place)})`,
      });
    }
  }
}
