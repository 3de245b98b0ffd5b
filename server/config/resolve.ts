// From files, environment and flags to one frozen set of settings: flag before environment before file before default.
// Everything that is wrong is collected and told at once, each problem with the place it was written at.

import {
  environmentOf,
  flagOf,
  type Machine,
  type SettingKey,
  type SettingRow,
  type Settings,
  settingEntries,
} from '../../schemas/config.ts';
import { fileLayer } from './file-layer.ts';
import { type Given, type Layer, type Notice, type Source, type Sources, sourceText } from './sources.ts';
import { suggestion } from './suggest.ts';
import type { ConfigObject, Problem } from './tree.ts';
import { type PlainValue, parseSetting, ValueRefused } from './values.ts';

interface ResolveInput {
  readonly tree: ConfigObject | null;
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Flag values by flag name without dashes. */
  readonly flags: Readonly<Record<string, string>>;
  readonly machine: Machine;
}

interface Resolved {
  readonly settings: Settings;
  readonly sources: Sources;
  readonly notices: readonly Notice[];
  readonly problems: readonly Problem[];
}

/** Variables that begin with MUSTER_ and are no settings of their own: where the configuration is, an address in one, and those of client commands. */
const OTHER_VARIABLES = new Set([
  'MUSTER_CONFIG',
  'MUSTER_URL',
  'MUSTER_CERT',
  'MUSTER_KEY',
  'MUSTER_CA',
  'MUSTER_HTTPS',
]);
/** The section of what PuppetDB does not have. */
const OWN_SECTION = 'muster';

/** Merges all sources. Settings with problems have their default in the result, so that checks can go on. */
export function resolveSettings(input: ResolveInput): Resolved {
  const problems: Problem[] = [];
  const notices: Notice[] = [];
  const layers = [
    flagLayer(input.flags),
    environmentLayer(input.environment, notices),
    input.tree === null ? new Map() : fileLayer(input.tree, problems, notices),
  ] as Layer[];
  for (const layer of layers) expandAddress(layer, problems);

  const values: Record<string, PlainValue | null> = {};
  const sources = {} as Record<SettingKey, Source>;
  for (const [key, row] of settingEntries) {
    const given = layers.map((layer) => layer.get(key)).find((entry) => entry !== undefined);
    const parsed = given === undefined ? undefined : parseGiven(row, given, problems, notices);
    if (parsed !== undefined) {
      values[key] = parsed;
      sources[key] = given!.source;
    } else if (row.default !== null) {
      values[key] = parseSetting(row, row.default, false);
      sources[key] = { kind: 'default' };
    } else if (row.derived !== undefined) {
      values[key] = row.derived.value(values, input.machine);
      sources[key] = { kind: 'derived', text: row.derived.text };
    } else {
      values[key] = null;
      sources[key] = { kind: 'default' };
    }
  }
  withoutCleartext(values, sources, notices);
  // The table decides type and nullability of every key; `Settings` is derived from it.
  return { settings: Object.freeze(values) as unknown as Settings, sources, notices, problems };
}

/** undefined: it is of no use, which is told. */
function parseGiven(row: SettingRow, given: Given, problems: Problem[], notices: Notice[]): PlainValue | undefined {
  // PuppetDB takes everything but `true` for false in its own files.
  const isLoose = given.source.kind === 'file' && row.section !== OWN_SECTION;
  try {
    const value = parseSetting(row, given.raw, isLoose);
    if (value === false && !/^\s*false\s*$/i.test(String(given.raw))) {
      const where = `${sourceText(given.source)}: [${sectionOf(given.source, row)}] ${row.name}`;
      notices.push({
        level: 'warn',
        message: `${where}: "${given.raw}" is not \`true\`, and so is taken for \`false\``,
      });
    }
    return value;
  } catch (error) {
    if (!(error instanceof ValueRefused)) throw error;
    const name = given.source.kind === 'file' ? `[${sectionOf(given.source, row)}] ${row.name}` : flagOf(row);
    problems.push({ where: sourceText(given.source), message: `${name}: ${error.message}` });
    return undefined;
  }
}

const sectionOf = (source: Source, row: SettingRow): string => (source.kind === 'file' ? source.section : row.section);

function flagLayer(flags: Readonly<Record<string, string>>): Layer {
  const layer: Layer = new Map();
  for (const [key, row] of settingEntries) {
    const name = flagOf(row);
    const raw = flags[name];
    if (raw !== undefined) layer.set(key, { raw, source: { kind: 'flag', name } });
  }
  addHttps(layer, flags['https'], { kind: 'flag', name: 'https' });
  return layer;
}

/** An empty variable counts as not set, as container files cannot leave one out. */
function environmentLayer(environment: ResolveInput['environment'], notices: Notice[]): Layer {
  const layer: Layer = new Map();
  const known = new Set(OTHER_VARIABLES);
  for (const [key, row] of settingEntries) {
    const names = [environmentOf(row), ...(row.environment ?? [])];
    known.add(names[0]!);
    const name = names.find((candidate) => (environment[candidate] ?? '') !== '');
    if (name !== undefined) layer.set(key, { raw: environment[name]!, source: { kind: 'environment', name } });
  }
  addHttps(layer, environment['MUSTER_HTTPS'] || undefined, { kind: 'environment', name: 'MUSTER_HTTPS' });
  tellUnread(environment, notices);
  for (const name of Object.keys(environment)) {
    if (!name.startsWith('MUSTER_') || known.has(name)) continue;
    notices.push({ level: 'warn', message: `$${name} is no setting and is ignored${suggestion(name, known)}` });
  }
  return layer;
}

/** Variables of PuppetDB's container images that say nothing here. */
function tellUnread(environment: ResolveInput['environment'], notices: Notice[]): void {
  const read = new Set<string>(settingEntries.flatMap(([, row]) => row.environment ?? []));
  const unread = Object.keys(environment).filter((name) => IMAGE_VARIABLE.test(name) && !read.has(name));
  if (unread.length === 0) return;
  notices.push({
    level: 'info',
    message: `not read here: ${unread
      .sort()
      .map((name) => `$${name}`)
      .join(', ')}`,
  });
}
const IMAGE_VARIABLE = /^(?:PUPPETDB|OPENVOXDB)_/;

function addHttps(layer: Layer, address: string | undefined, source: Source): void {
  if (address === undefined) return;
  const parts = hostAndPort(address);
  if (parts.host !== null) layer.set('httpsHost', { raw: parts.host, source });
  layer.set('httpsPort', { raw: parts.port, source });
}

/** `http` may hold an address instead of a Boolean: it then says host and port, and that there is a listener. */
function expandAddress(layer: Layer, problems: Problem[]): void {
  const given = layer.get('http');
  if (given === undefined) return;
  const text = String(given.raw).trim().toLowerCase();
  // Where a Boolean is meant: as ports they would be a surprise.
  if (given.source.kind !== 'flag' && ['0', '1'].includes(text)) {
    problems.push({
      where: sourceText(given.source),
      message: `http: "${given.raw}" is none of true, false and HOST:PORT`,
    });
    layer.delete('http');
    return;
  }
  const isOff = ['off', 'no', 'none', 'false'].includes(text);
  layer.set('http', { raw: !isOff, source: given.source });
  if (isOff || ['on', 'yes', 'true'].includes(text)) return;
  const parts = hostAndPort(String(given.raw).trim());
  if (!/^\d+$/.test(parts.port)) {
    problems.push({ where: sourceText(given.source), message: `http: "${given.raw}" is neither HOST:PORT nor off` });
    return;
  }
  if (parts.host !== null) layer.set('httpHost', { raw: parts.host, source: given.source });
  layer.set('httpPort', { raw: parts.port, source: given.source });
}

/** `HOST:PORT`, `[v6]:PORT`, `:PORT` (all addresses) or `PORT`. */
function hostAndPort(address: string): { host: string | null; port: string } {
  const match = /^(?:\[([^\]]+)\]|([^:]*)):([^:]*)$/.exec(address);
  if (match === null) return { host: null, port: address };
  const host = match[1] ?? match[2]!;
  return { host: host === '' ? '0.0.0.0' : host, port: match[3]! };
}

/** As PuppetDB: files that set up HTTPS and say nothing about cleartext get no cleartext listener. */
function withoutCleartext(
  values: Record<string, PlainValue | null>,
  sources: Record<SettingKey, Source>,
  notices: Notice[],
): void {
  const isSilent = (['http', 'httpHost', 'httpPort'] as const).every((key) => sources[key].kind === 'default');
  const hasHttps = (['httpsHost', 'httpsPort', 'sslCert'] as const).some((key) => sources[key].kind === 'file');
  if (!isSilent || !hasHttps) return;
  values['http'] = false;
  sources.http = { kind: 'derived', text: 'off, as the files set up HTTPS only' };
  notices.push({ level: 'info', message: 'no cleartext listener: the files set up HTTPS only (set port to have one)' });
}
