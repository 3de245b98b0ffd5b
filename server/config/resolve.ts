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
import { type IgnoredReason, ignoredSettings, sectionAliases } from '../../schemas/puppetdb-settings.ts';
import { suggestion } from './suggest.ts';
import { type ConfigObject, type ConfigValue, type Place, type Problem, placeText } from './tree.ts';
import { type PlainValue, parseSetting, type RawValue, ValueRefused } from './values.ts';

/** Where an effective value came from. */
export type Source =
  | { readonly kind: 'default' }
  | { readonly kind: 'derived'; readonly text: string }
  /** `section`: as it is written there. */
  | { readonly kind: 'file'; readonly place: Place; readonly section: string }
  | { readonly kind: 'environment'; readonly name: string }
  | { readonly kind: 'flag'; readonly name: string };

export type Sources = Readonly<Record<SettingKey, Source>>;

/** Whether somebody has set it: it is no default. */
export const isSet = ({ kind }: Source): boolean => kind !== 'default' && kind !== 'derived';

/** Something worth telling that does not keep the server from starting. */
export interface Notice {
  readonly level: 'info' | 'warn';
  readonly message: string;
}

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

interface Given {
  readonly raw: RawValue;
  readonly source: Source;
}
type Layer = Map<SettingKey, Given>;

/** Variables that begin with MUSTER_ and are no settings: read by the client commands and by packaging. */
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
/** Sections that are read elsewhere. */
const OTHER_SECTIONS = new Set(['authorization']);

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

export function sourceText(source: Source): string {
  switch (source.kind) {
    case 'default':
      return 'default';
    case 'derived':
      return `default (${source.text})`;
    case 'file':
      return placeText(source.place);
    case 'environment':
      return `$${source.name}`;
    case 'flag':
      return `--${source.name}`;
  }
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

interface Leaf {
  readonly section: string;
  /** The section's name in the file. */
  readonly written: string;
  readonly name: string;
  readonly value: ConfigValue;
}

function fileLayer(tree: ConfigObject, problems: Problem[], notices: Notice[]): Layer {
  const layer: Layer = new Map();
  const leaves = leavesOf(tree, problems, notices);
  const byName = new Map<string, Leaf>();
  // The first wins: sections of single databases come before the one they inherit from.
  for (const leaf of leaves) {
    const id = `${leaf.section}\0${leaf.name}`;
    const first = byName.get(id);
    if (first === undefined) byName.set(id, leaf);
    else if (sectionAliases.has(leaf.written) !== sectionAliases.has(first.written))
      problems.push(twoSections(first, leaf));
  }
  const known = new Set<string>();
  for (const [key, row] of settingEntries) {
    const names = [row.name, ...(row.formerly ?? [])];
    for (const name of names) known.add(`${row.section}\0${name}`);
    const found = names.map((name) => byName.get(`${row.section}\0${name}`)).filter((leaf) => leaf !== undefined);
    if (found.length > 1) problems.push(bothSpellings(found));
    const leaf = found[0];
    if (leaf === undefined) continue;
    const raw = rawValue(leaf.value);
    if (raw === undefined) {
      const where = placeText(leaf.value.place);
      problems.push({ where, message: `[${leaf.written}] ${leaf.name}: one value is needed here` });
      continue;
    }
    if (raw !== null) layer.set(key, { raw, source: { kind: 'file', place: leaf.value.place, section: leaf.written } });
  }
  tellUnused(leaves, known, problems, notices);
  return layer;
}

/** Values below the sections, with dotted names. A section `database-NAME` is read as `database` and goes first. */
function leavesOf(tree: ConfigObject, problems: Problem[], notices: Notice[]): Leaf[] {
  const leaves: Leaf[] = [];
  const databases: string[] = [];
  for (const [written, section] of tree.members) {
    if (OTHER_SECTIONS.has(written)) continue;
    if (section.kind !== 'object') {
      tellOutside(written, placeText(section.place), problems, notices);
      continue;
    }
    const isDatabase = written.startsWith('database-');
    if (isDatabase) databases.push(written);
    const name = isDatabase ? 'database' : (sectionAliases.get(written) ?? written);
    const below: Leaf[] = [];
    collect({ section: name, written }, '', section, below);
    if (isDatabase) leaves.unshift(...below);
    else leaves.push(...below);
  }
  if (databases.length > 1) {
    const names = databases.map((name) => `[${name}]`).join(', ');
    notices.push({
      level: 'warn',
      message: `there is one store here; of the settings in ${names} those of [${databases.at(-1)}] are used first`,
    });
  }
  return leaves;
}

/** A value that stands beside the sections may be there for substitutions. */
function tellOutside(name: string, where: string, problems: Problem[], notices: Notice[]): void {
  if (knownSections.has(name)) {
    problems.push({ where, message: `\`${name}\` is a section: settings are needed below it` });
    return;
  }
  const message = `${where}: \`${name}\` stands in no section, where only substitutions read it${homeHint(name) ?? ''}`;
  notices.push({ level: 'warn', message });
}

/** Where a setting of that name belongs. */
function homeHint(name: string): string | null {
  const home = settingEntries.find(([, row]) => row.name === name)?.[1].section;
  return home === undefined ? null : `; it belongs below [${home}]`;
}

function collect(names: Pick<Leaf, 'section' | 'written'>, prefix: string, object: ConfigObject, leaves: Leaf[]): void {
  for (const [key, value] of object.members) {
    const name = prefix + key;
    if (value.kind === 'object') collect(names, `${name}.`, value, leaves);
    else leaves.push({ ...names, name, value });
  }
}

/** undefined: not one value; null: explicitly none. */
function rawValue(value: ConfigValue): RawValue | null | undefined {
  if (value.kind === 'scalar') return value.value;
  if (value.kind === 'object') return undefined;
  const items: string[] = [];
  for (const item of value.items) {
    if (item.kind !== 'scalar') return undefined;
    items.push(String(item.value));
  }
  return items;
}

function bothSpellings(found: readonly Leaf[]): Problem {
  const [current, former] = [found[0]!, found[1]!];
  return {
    where: placeText(former.value.place),
    message:
      `Configuration specifies both the obsolete ${former.name} and its replacement ${current.name}.  ` +
      'Please remove the former.',
  };
}

/** Two names of one section. */
function twoSections(first: Leaf, second: Leaf): Problem {
  const message = `[${second.written}] ${second.name}: [${first.written}] has it, too, which is the same section`;
  return { where: placeText(second.value.place), message };
}

const ignoredTexts: Readonly<Record<Exclude<IgnoredReason, 'silent' | 'retired' | 'refused'>, string>> = {
  database: 'there is no database server to set up',
  'one store': 'there is one store here, and what is said of it below [database] counts',
  runtime: 'they concern the Java runtime and its web server',
  policy: 'nothing but reading is possible at /metrics/v2, and the rules of auth.conf say who may do it',
  absent: 'this is not offered here',
};

/** What settings are called that PuppetDB's documents have by another name. */
const otherNames: Readonly<Record<string, string>> = {
  'graceful-shutdown-timeout': '; it is called shutdown-timeout-seconds, and counts seconds',
};

const knownSections = new Set([
  ...settingEntries.map(([, row]) => row.section),
  ...ignoredSettings.map(([section]) => section),
  ...sectionAliases.keys(),
]);

/** One line for each kind of ignored settings, and one for each setting that nobody knows. */
function tellUnused(leaves: readonly Leaf[], known: ReadonlySet<string>, problems: Problem[], notices: Notice[]): void {
  const ignored = new Map<keyof typeof ignoredTexts, string[]>();
  const unknownSections = new Set<string>();
  for (const { section, written, name, value } of leaves) {
    if (known.has(`${section}\0${name}`)) continue;
    const reason = ignoredReason(section, name);
    if (reason === 'refused') {
      const message = `[${written}] ${name}: this was removed, and nothing would be as it says; take it out of the config`;
      problems.push({ where: placeText(value.place), message });
    } else if (reason === 'retired') {
      const message = `The [${written}] ${name} config option has been retired and will be ignored.`;
      notices.push({ level: 'info', message });
    } else if (reason !== null) {
      if (reason === 'silent') continue;
      const names = ignored.get(reason) ?? [];
      names.push(`[${written}] ${name}`);
      ignored.set(reason, names);
    } else if (knownSections.has(section)) {
      const names = settingEntries.filter(([, row]) => row.section === section).map(([, row]) => row.name);
      const message = `The configuration item \`:${name}\` does not exist and should be removed from the config.`;
      const where = `${placeText(value.place)}: [${written}]`;
      const hint = homeHint(name) ?? otherNames[name] ?? suggestion(name, names);
      notices.push({ level: 'warn', message: `${message} (${where}${hint})` });
    } else if (!unknownSections.has(section)) {
      unknownSections.add(section);
      const message = `${placeText(value.place)}: nothing reads the section [${section}]${suggestion(section, knownSections)}`;
      notices.push({ level: 'warn', message });
    }
  }
  for (const [reason, names] of ignored) {
    const level = reason === 'policy' ? 'warn' : 'info';
    notices.push({ level, message: `ignored, as ${ignoredTexts[reason]}: ${names.join(', ')}` });
  }
}

function ignoredReason(section: string, name: string): IgnoredReason | null {
  for (const [ignoredSection, names, reason] of ignoredSettings) {
    if (ignoredSection !== section) continue;
    if (names === '*') return reason;
    for (const ignoredName of names.split(', ')) {
      if (name === ignoredName || name.startsWith(`${ignoredName}.`)) return reason;
    }
  }
  return null;
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
