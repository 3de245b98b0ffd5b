// The one way in: reads what `--config` names, the environment and the flags, checks everything, and hands out the frozen
// configuration, or one error that lists all that is wrong.

import { availableParallelism } from 'node:os';
import { resolve } from 'node:path';
import { type Settings, settingEntries } from '../../schemas/config.ts';
import type { Rules } from '../access/rules.ts';
import { readRules } from './authorization.ts';
import { checkSettings, noticesOf } from './check.ts';
import { readConfigFiles } from './files.ts';
import { resolveSettings } from './resolve.ts';
import type { Notice, Sources } from './sources.ts';
import type { Problem } from './tree.ts';

export interface Configuration {
  readonly settings: Settings;
  readonly sources: Sources;
  /** Rules for /status and /metrics; null: none were given. */
  readonly rules: Rules | null;
  readonly notices: readonly Notice[];
}

export interface LoadOptions {
  /** What `--config` said: file, folder or comma-separated list. Without it $MUSTER_CONFIG, else no files. */
  readonly config: string | null;
  readonly flags: Readonly<Record<string, string>>;
  readonly environment: Readonly<Record<string, string | undefined>>;
}

/** Everything that is wrong with a configuration. The message has one line for each problem. */
export class ConfigurationInvalid extends Error {
  readonly problems: readonly Problem[];
  constructor(problems: readonly Problem[]) {
    const lines = problems.map(({ where, message }) => `  ${where}: ${message}`);
    const count = problems.length === 1 ? 'a problem' : `${problems.length} problems`;
    super(`the configuration has ${count}:\n${lines.join('\n')}`);
    this.name = 'ConfigurationInvalid';
    this.problems = problems;
  }
}

/** Throws ConfigurationInvalid. */
export function loadConfiguration(options: LoadOptions): Configuration {
  const paths = options.config ?? (options.environment['MUSTER_CONFIG'] || null);
  const read = paths === null ? null : readConfigFiles(paths, options.environment);
  const problems: Problem[] = read === null ? [] : [...read.problems];
  const resolved = resolveSettings({
    tree: read?.tree ?? null,
    environment: options.environment,
    flags: options.flags,
    machine: { cores: availableParallelism() },
  });
  problems.push(...resolved.problems);
  const notices = [...resolved.notices];
  const rules = read === null ? null : readRules(read.tree, problems, notices);
  const settings = withAbsolutePaths(resolved.settings);
  problems.push(...checkSettings(settings, resolved.sources));
  if (problems.length > 0) throw new ConfigurationInvalid(problems);
  notices.push(...noticesOf(settings, Date.now()));
  return { settings, sources: resolved.sources, rules, notices };
}

/** Paths are relative to the folder the process was started in; later they no longer depend on it. */
function withAbsolutePaths(settings: Settings): Settings {
  const changed: Record<string, unknown> = { ...settings };
  for (const [key, row] of settingEntries) {
    const value = settings[key];
    // A relative vardir is refused by the checks, which should see it as it was written.
    if (row.type === 'path' && key !== 'vardir' && typeof value === 'string') changed[key] = resolve(value);
  }
  return Object.freeze(changed) as unknown as Settings;
}
