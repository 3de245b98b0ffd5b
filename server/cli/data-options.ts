// Where commands that work on a data directory find it: as `muster start` with the same configuration would.

import { statSync } from 'node:fs';
import { reasonOf } from '../../engine/reason.ts';
import { INFO_NAME, infoFile } from '../../engine/store/file/layout.ts';
import { partitionsWithData } from '../../engine/store/file/store-info.ts';
import type { Settings } from '../../schemas/config.ts';
import { shownHost } from '../hosts.ts';
import type { OptionSpec, ParsedArguments } from './arguments.ts';
import { CliFailure, exitStatus, type Terminal } from './command.ts';
import { configurationOf } from './setting-options.ts';

export const dataOptions: Readonly<Record<string, OptionSpec>> = {
  data: { type: 'text', value: 'DIR', group: 'Which data', doc: 'The data directory. [as for `muster start`]' },
  config: {
    type: 'text',
    short: 'c',
    value: 'PATH',
    group: 'Which data',
    doc: 'Configuration that names the directory.',
  },
};

/** The data directory, whether it is there or not. */
export const dataPath = (args: ParsedArguments, terminal: Terminal): string => settingsOf(args, terminal).data;

/** Where the server of that data directory listens without certificates; null: nowhere. */
export function urlOfData(args: ParsedArguments, terminal: Terminal): string | null {
  const { http, httpHost, httpPort } = settingsOf(args, terminal);
  if (!http || httpPort === 0) return null;
  const host = httpHost === '0.0.0.0' ? '127.0.0.1' : httpHost === '::' ? '::1' : httpHost;
  return `http://${shownHost(host)}:${httpPort}`;
}

function settingsOf(args: ParsedArguments, terminal: Terminal): Settings {
  const { data, config } = args.options;
  const options = { ...(data === undefined ? {} : { data }), ...(config === undefined ? {} : { config }) };
  return configurationOf({ options, positionals: [], problems: [] }, terminal).settings;
}

/** A data directory that is there. Throws CliFailure when it holds no store, or nobody here may look. */
export function existingDataPath(args: ParsedArguments, terminal: Terminal): string {
  const path = dataPath(args, terminal);
  try {
    if (statSync(infoFile(path), { throwIfNoEntry: false }) !== undefined) return path;
    const left =
      statSync(path, { throwIfNoEntry: false })?.isDirectory() === true ? partitionsWithData(path)[0] : undefined;
    if (left !== undefined) throw new Error(`${INFO_NAME} is missing, but ${left} has data; restore it from a backup`);
  } catch (error) {
    throw new CliFailure(exitStatus.failed, `${path} cannot be read: ${reasonOf(error)}`);
  }
  throw new CliFailure(exitStatus.usage, `${path} is no data directory of Muster; give --data DIR`);
}
