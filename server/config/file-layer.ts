// What configuration files say: which of their values are settings, and what is told of the others. Sections and names are PuppetDB's, so
// most of the others are settings of its own that say nothing here.

import { settingEntries } from '../../schemas/config.ts';
import { type IgnoredReason, ignoredSettings, sectionAliases } from '../../schemas/puppetdb-settings.ts';
import type { Layer, Notice } from './sources.ts';
import { suggestion } from './suggest.ts';
import { type ConfigObject, type ConfigValue, type Problem, placeText } from './tree.ts';
import type { RawValue } from './values.ts';

/** Sections that are read elsewhere. */
const OTHER_SECTIONS = new Set(['authorization']);

interface Leaf {
  readonly section: string;
  /** The section's name in the file. */
  readonly written: string;
  readonly name: string;
  readonly value: ConfigValue;
}

export function fileLayer(tree: ConfigObject, problems: Problem[], notices: Notice[]): Layer {
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
