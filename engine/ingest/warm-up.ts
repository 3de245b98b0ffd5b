// Commands of nodes that there are not, for threads whose code V8 has not compiled yet (workers/actor/actor-warm-up.ts). What counts is that they go
// the ways that the commands of a fleet go: nodes that share most of what they have, runs in which nothing or little has changed, reports
// with and without events. Nothing in them is random: every start does the same work.

import { gzipSync } from 'node:zlib';
import type { QueuedCommand } from './command/types.ts';

/** Nodes come one by one, each followed by runs of those that are there. */
const NODES = 40;
const ROLES = 4;
/** Runs between a node's last one and the one in which something has changed. */
const CHANGES_EVERY = 2;
const SHARED_RESOURCES = 120;
const OWN_RESOURCES = 12;
const FACTS = 90;
const PACKAGES = 80;
const REPORTED = 60;
const HALF_HOUR = 30 * 60 * 1000;

const MODULES = ['base', 'ssh', 'ntp', 'sudo', 'logging', 'firewall', 'backup', 'monitoring'];
const TYPES = ['File', 'Package', 'Service', 'Exec', 'User', 'Cron'];

/** The commands of one agent run each, in the order in which they would come. `now`: epoch ms, the time of the last ones. */
export function* warmUpRuns(now: number): Generator<readonly QueuedCommand[]> {
  let seq = 1;
  for (let newest = 0; newest < NODES; newest++) {
    // The new one, one that has been there for a while, and one whose run before was not long ago.
    for (const node of new Set([newest, newest >> 1, Math.max(0, newest - 1)])) {
      const commands = agentRun({ node, run: newest, time: now - (NODES - newest) * HALF_HOUR }, seq);
      seq += commands.length;
      yield commands;
    }
  }
}

interface Run {
  readonly node: number;
  readonly run: number;
  /** Epoch ms. */
  readonly time: number;
}

/** What the compile server sends of a run. */
function agentRun(of: Run, seq: number): QueuedCommand[] {
  const certname = certnameOf(of);
  const commands = [
    { command: 'replace facts', version: 5, payload: facts(of) },
    { command: 'replace catalog', version: 9, payload: catalog(of) },
    { command: 'store report', version: 8, payload: report(of) },
  ];
  return commands.map(({ command, version, payload }, i) => ({
    seq: seq + i,
    envelope: {
      uuid: uuidOf(of, i),
      command,
      version,
      certname,
      received: of.time,
      producerTimestamp: of.time,
      gzip: true,
      size: null,
    },
    body: gzipSync(JSON.stringify(payload), { level: 1 }),
  }));
}

const certnameOf = ({ node }: Run): string => `warm-up-${node}.example.invalid`;

/** The state of what changes now and then: another one with every run that changes something. */
const stateOf = ({ run }: Run): number => Math.floor(run / CHANGES_EVERY);

/** Letters and digits that follow from the numbers. */
function word(length: number, ...of: readonly number[]): string {
  let sum = 0x811c9dc5;
  for (const number of of) sum = Math.imul(sum ^ number, 0x01000193);
  let text = '';
  while (text.length < length) {
    sum = Math.imul(sum ^ (sum >>> 15), 0x2c1b3c6d) ^ text.length;
    text += (sum >>> 0).toString(36);
  }
  return text.slice(0, length);
}

const uuidOf = ({ node, run }: Run, part: number): string =>
  [node, run, part, 0x4000, 0x8000].map((n, i) => n.toString(16).padStart([8, 4, 4, 4, 12][i]!, '0')).join('-');

function headerOf(of: Run): Record<string, string> {
  return {
    certname: certnameOf(of),
    environment: of.node % 5 === 0 ? 'staging' : 'production',
    producer: 'compiler.example.invalid',
    producer_timestamp: new Date(of.time).toISOString(),
  };
}

function facts(of: Run): object {
  const { node } = of;
  const values: Record<string, unknown> = {
    kernel: 'Linux',
    hostname: `warm-up-${node}`,
    is_virtual: node % 3 === 0,
    os: { family: 'Debian', name: 'Debian', release: { full: `12.${node % 4}`, major: '12', minor: `${node % 4}` } },
    processors: {
      count: 1 << (node % 4),
      models: Array.from({ length: 1 << (node % 4) }, () => 'A processor at 2.40 GHz'),
    },
    trusted: {
      authenticated: 'remote',
      certname: certnameOf(of),
      extensions: { pp_role: `role ${node % ROLES}` },
      external: {},
    },
    uptime_seconds: stateOf(of) * 3600,
    load: { '1m': (stateOf(of) % 100) / 100, '5m': 0.25 },
  };
  for (let i = 0; i < FACTS; i++) values[`${MODULES[i % MODULES.length]}_${i}`] = factValue(i, of);
  const packages = Array.from({ length: PACKAGES }, (_, i) => [
    `package-${i}`,
    `${i % 7}.${i === of.node ? stateOf(of) : 0}-1`,
    'apt',
  ]);
  return { ...headerOf(of), values, package_inventory: packages };
}

/** One in nine is the node's own, one in twenty changes; the others are the role's. */
function factValue(i: number, of: Run): unknown {
  const owner = i % 9 === 0 ? of.node : of.node % ROLES;
  const text = word(12 + (i % 40), i, owner, i % 20 === 0 ? stateOf(of) : 0);
  switch (i % 6) {
    case 0:
      return {
        device: `/dev/${text}`,
        size: i * 1024 + owner,
        options: ['rw', 'relatime'],
        used: '12 GiB',
        capacity: i / 7,
      };
    case 1:
      return i * 1000 + owner;
    case 2:
      return i % 4 === 0;
    default:
      return text;
  }
}

function catalog(of: Run): object {
  const resources: object[] = [];
  const edges: object[] = [];
  const add = (type: string, title: string, tags: readonly string[], parameters: object, exported = false): void => {
    const line = 1 + (title.length % 90);
    resources.push({
      type,
      title,
      tags,
      exported,
      file: `/etc/puppetlabs/code/${tags[1] ?? 'site'}/init.pp`,
      line,
      parameters,
    });
    if (resources.length > 1) edges.push(edge('Class', 'Main', 'contains', type, title));
  };
  add('Class', 'Main', ['class', 'main'], {});
  for (const module of MODULES)
    add('Class', `Profile::${capital(module)}`, ['class', `profile::${module}`, 'profile', module], {});
  for (let i = 0; i < SHARED_RESOURCES + OWN_RESOURCES; i++) {
    const isOwn = i >= SHARED_RESOURCES;
    const owner = isOwn ? of.node : of.node % ROLES;
    const module = MODULES[i % MODULES.length]!;
    const type = TYPES[i % TYPES.length]!;
    const title = type === 'File' ? `/etc/${module}/${owner}-${i}.conf` : `${module}-${owner}-${i}`;
    const tags = [type.toLowerCase(), 'class', `profile::${module}`, 'profile', module];
    add(type, title, isOwn && i % 2 === 0 ? [...tags, certnameOf(of)] : tags, parametersOf(i, owner, of));
    if (i % 3 === 0) edges.push(edge('Class', 'Profile::Base', 'before', type, title));
  }
  add(
    'Sshkey',
    certnameOf(of),
    ['sshkey', 'class', 'profile::ssh'],
    { key: word(60, of.node), type: 'ssh-ed25519' },
    true,
  );
  const id = uuidOf(of, 9);
  return {
    ...headerOf(of),
    version: `${Math.floor(of.time / 1000)}`,
    transaction_uuid: id,
    catalog_uuid: id,
    code_id: null,
    job_id: null,
    edges,
    resources,
  };
}

/** One resource in fifteen changes now and then. */
function parametersOf(i: number, owner: number, of: Run): object {
  const text = word(40 + (i % 60), i, owner, i % 15 === 0 ? stateOf(of) : 0);
  const common = { loglevel: 'notice', require: `Class[Profile::${capital(MODULES[(i + 1) % MODULES.length]!)}]` };
  switch (i % TYPES.length) {
    case 0:
      return {
        ensure: 'file',
        owner: 'root',
        group: 'root',
        mode: '0644',
        content: `# managed\nkey = "${text}"\n${text}${text}\n`,
        backup: false,
        ...common,
      };
    case 1:
      return { ensure: `1.${i % 9}`, provider: 'apt', install_options: ['--no-install-recommends'], ...common };
    case 2:
      return { ensure: 'running', enable: true, hasrestart: i % 4 === 0, ...common };
    case 3:
      return {
        command: `/usr/local/bin/apply ${text}`,
        path: ['/bin', '/usr/bin'],
        timeout: 300,
        refreshonly: true,
        ...common,
      };
    case 4:
      return {
        ensure: 'present',
        uid: 1000 + i,
        home: `/home/${text}`,
        shell: '/bin/bash',
        managehome: true,
        ...common,
      };
    default:
      return {
        command: text,
        hour: [i % 24],
        minute: i % 60,
        user: 'root',
        notify: ['Service[cron]', `Exec[${text}]`],
        ...common,
      };
  }
}

const capital = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);

const edge = (type: string, title: string, relationship: string, toType: string, toTitle: string): object => ({
  source: { type, title },
  target: { type: toType, title: toTitle },
  relationship,
});

function report(of: Run): object {
  const at = (ms: number): string => new Date(of.time + ms).toISOString();
  const changed = (of.node + of.run) % 3 === 0 ? 8 : 0;
  const logs: object[] = [];
  const log = (i: number, level: string, source: string, message: string): void => {
    const tags = [level, 'file', 'profile::base', 'class'];
    logs.push({
      file: i % 2 === 0 ? null : '/etc/puppetlabs/code/site.pp',
      line: i % 2 === 0 ? null : i,
      level,
      message,
      source,
      tags,
      time: at(i),
    });
  };
  const resources = Array.from({ length: REPORTED }, (_, i) => {
    const type = TYPES[i % TYPES.length]!;
    const title = `/etc/warm-up/${of.node % ROLES}/${i}.conf`;
    const events = i < changed ? [eventOf(i, of, at(i))] : [];
    if (i < changed)
      log(i, 'notice', `/Stage[main]/${type}[${title}]/content`, `content changed to {sha256}${word(64, i, of.run)}`);
    return {
      skipped: false,
      timestamp: at(i),
      resource_type: type,
      resource_title: title,
      file: '/etc/puppetlabs/code/site.pp',
      line: 10 + i,
      containment_path: ['Stage[main]', `Profile::${capital(MODULES[i % MODULES.length]!)}`, `${type}[${title}]`],
      corrective_change: false,
      events,
    };
  });
  for (let i = 0; i < 10; i++) log(100 + i, 'info', 'Puppet', `Applied in ${(of.run % 40) + i / 8} seconds`);
  const metric = (category: string, name: string, value: number): object => ({ category, name, value });
  const metrics = [
    ...['changed', 'failed', 'total', 'skipped', 'out_of_sync'].map((name) =>
      metric('resources', name, name === 'total' ? REPORTED : changed),
    ),
    ...TYPES.map((type, i) => metric('time', type.toLowerCase(), (of.run + i) / 1024)),
    metric('changes', 'total', changed),
    metric('events', 'success', changed),
  ];
  const id = uuidOf(of, 9);
  return {
    ...headerOf(of),
    puppet_version: '8.10.0',
    report_format: 12,
    configuration_version: `${Math.floor(of.time / 1000)}`,
    start_time: at(0),
    end_time: at(20_000),
    status: changed > 0 ? 'changed' : 'unchanged',
    noop: false,
    noop_pending: false,
    corrective_change: false,
    transaction_uuid: id,
    catalog_uuid: id,
    code_id: null,
    cached_catalog_status: 'not_used',
    resources,
    metrics,
    logs,
  };
}

const eventOf = (i: number, of: Run, timestamp: string): object => ({
  status: i === 0 && of.node % 7 === 0 ? 'failure' : 'success',
  timestamp,
  property: i % 2 === 0 ? 'content' : 'ensure',
  name: 'content_changed',
  new_value: `{sha256}${word(64, i, of.run)}`,
  old_value: i % 3 === 0 ? 'absent' : `{sha256}${word(64, i, of.run - 1)}`,
  message: `content changed '{sha256}${word(64, i, of.run - 1)}' to '{sha256}${word(64, i, of.run)}'`,
  corrective_change: false,
});
