// The anonymisation profiles (spec/operations.md 17.2): per kind of value an ordered list of rules. The first rule whose
// contexts all match decides; without one the value is replaced. A context matches when any of its patterns does: texts are
// compared whole, a regular expression may match anywhere.

export type LeafKind =
  | 'node'
  | 'type'
  | 'title'
  | 'parameter-name'
  | 'parameter-value'
  | 'fact-name'
  | 'fact-value'
  | 'file'
  | 'line'
  | 'message'
  | 'text'
  | 'transaction_uuid'
  | 'environment'
  | 'catalog-input-type'
  | 'catalog-input-value';

/** What is known about a value where it stands. */
export interface LeafContext {
  readonly node?: string;
  readonly type?: string | undefined;
  readonly title?: string | undefined;
  readonly 'parameter-name'?: string | undefined;
  readonly 'fact-name'?: string | undefined;
}

type Pattern = string | RegExp;

interface AnonymizationRule {
  readonly where: { readonly [K in keyof LeafContext]?: readonly Pattern[] };
  readonly replace: boolean;
}

export type AnonymizationProfile = { readonly [K in LeafKind]?: readonly AnonymizationRule[] };

const always = (replace: boolean): AnonymizationRule => ({ where: {}, replace });
const keepAll = [always(false)];
/** Separated by blanks; `/…/` is a regular expression. */
const patterns = (text: string): readonly Pattern[] =>
  text.split(/\s+/).map((word) => (/^\/.+\/$/.test(word) ? new RegExp(word.slice(1, -1)) : word));

const SECRET = /password|pwd|secret|key|private/i;
/** Whether what has that name is to be hidden, with all that is in it. */
export const isSecret = (name: string | undefined): boolean => name !== undefined && SECRET.test(name);
const hideSecretParameters: AnonymizationRule = { where: { 'parameter-name': [SECRET] }, replace: true };
const hideSecretFacts: AnonymizationRule = { where: { 'fact-name': [SECRET] }, replace: true };

const knownTypes = patterns(
  `Augeas Computer Cron Exec File Filebucket Group Host Interface K5login Macauthorization Mailalias Mcx Mount Notify
   Package Resources Router Schedule Schedule_task Selboolean Selmodule Service Ssh_authorized_key Sshkey Stage Tidy
   User Vlan Yumrepo Zfs Zone Zpool Class Anchor File_line Firewall A2mod Vcsrepo Filesystem Logical_volume
   Physical_volume Volume_group Java_ks /^Nagios_/ /^Pe_/ /^Mysql/ /^Postgresql/ /^Rabbitmq/ /^Puppetdb/ /^Apache/
   /^Mrepo/ /^F5/ /^Apt/ /^Registry/ /^Concat/`,
);

/** Facts whose names and values tell little, and those whose names alone may be shown. */
const harmlessFacts = patterns(
  `architecture /^augeasversion/ /^bios_/ /^blockdevice/ /^board/ facterversion hardwareisa hardwaremodel id interfaces
   /^iptables/ /^ip6tables/ is_pe is_virtual /^kernel/ /^lsb/ /^macosx/ /^mtu_/ /^netmask/ /^operatingsystem/ osfamily
   /^postgres_/ /^processor/ /^physicalprocessorcount/ productname ps puppetversion rubysitedir rubyversion /^selinux/
   swapencrypted /^swapfree/ /^swapsize/ timezone /^uptime/ virtual`,
);
const namedFacts = patterns(
  `domain fqdn hostname /^ipaddress/ /^macaddress/ /^memoryfree/ /^memorysize/ memorytotal /^network/ path /^sp_/ /^ssh/
   uuid`,
);

const moderate: AnonymizationProfile = {
  type: [{ where: { type: knownTypes }, replace: false }],
  title: [{ where: { type: ['Filebucket', 'Package', 'Stage', 'Service'] }, replace: false }],
  'parameter-name': keepAll,
  'parameter-value': [
    {
      where: { 'parameter-name': ['provider', 'ensure', 'noop', 'loglevel', 'audit', 'schedule'] },
      replace: false,
    },
    hideSecretParameters,
  ],
  'fact-name': [{ where: { 'fact-name': [...harmlessFacts, ...namedFacts] }, replace: false }],
  'fact-value': [hideSecretFacts, { where: { 'fact-name': [...harmlessFacts, /^memory/] }, replace: false }],
  line: keepAll,
  transaction_uuid: keepAll,
  'catalog-input-type': keepAll,
};

/** Node names, what the log says, catalog inputs, parameters' values (as PuppetDB does, which did not mean to), and facts that are named like a secret. */
const low: AnonymizationProfile = {
  type: keepAll,
  title: keepAll,
  'parameter-name': keepAll,
  'fact-name': keepAll,
  'fact-value': [hideSecretFacts, always(false)],
  file: keepAll,
  line: keepAll,
  message: [hideSecretParameters, always(false)],
  transaction_uuid: keepAll,
  environment: keepAll,
  'catalog-input-type': keepAll,
};

/**
 * From the one that replaces least. `none` is no anonymisation, like any name that is not here; `full` has no rules and replaces
 * everything.
 */
export const anonymizationProfiles: ReadonlyMap<string, AnonymizationProfile> = new Map([
  ['low', low],
  ['moderate', moderate],
  ['full', {}],
]);

/** Whether a value of that kind is to be replaced where it stands. */
export function isReplaced(profile: AnonymizationProfile, kind: LeafKind, context: LeafContext): boolean {
  for (const { where, replace } of profile[kind] ?? []) if (matches(where, context)) return replace;
  return true;
}

function matches(where: AnonymizationRule['where'], context: LeafContext): boolean {
  for (const key of Object.keys(where) as (keyof LeafContext)[]) {
    const value = context[key];
    if (value === undefined || !where[key]!.some((pattern) => matchesPattern(pattern, value))) return false;
  }
  return true;
}

const matchesPattern = (pattern: Pattern, value: string): boolean =>
  typeof pattern === 'string' ? pattern === value : pattern.test(value);
