// A fleet that looks like one: nodes with roles, sites and operating systems; factsets of 47 KB with 300 packages, catalogs of
// 170-660 KB with 200-800 resources, reports of 10-70 KB. Nodes of a role share most of their catalog. From run to run the fraction
// `change` of a catalog's resources, of the facts and of the packages takes new values; the rest stays equal to the byte. What
// nodes of a role share takes the same value on all of them, as when its code changes; a node's own, its facts and packages do not.

import { Random } from './random.ts';

export interface FleetOptions {
  readonly seed: number;
  /** Fraction of resources, facts and packages that differ from one run to the next. */
  readonly change: number;
  /** Fraction of a catalog's resources that are the node's own. */
  readonly unique: number;
  /** Resources per catalog, smallest and largest role. */
  readonly resourcesMin: number;
  readonly resourcesMax: number;
  /** Epoch ms of run 0; runs are half an hour apart. */
  readonly start: number;
}

export const FLEET_DEFAULTS: FleetOptions = {
  seed: 1,
  change: 0.05,
  unique: 0.1,
  resourcesMin: 200,
  resourcesMax: 800,
  start: Date.UTC(2026, 10, 1),
};

export type Kind = 'facts' | 'catalog' | 'report';
export interface Command {
  readonly kind: Kind;
  readonly command: string;
  readonly version: number;
  readonly certname: string;
  readonly producerTimestamp: string;
  /** JSON text of the payload. */
  readonly payload: string;
}

const ROLES = ['web', 'db', 'cache', 'mail', 'build', 'proxy', 'monitor', 'storage'] as const;
const SITES = ['ams1', 'fra2', 'iad3', 'nrt1', 'syd1'] as const;
const SYSTEMS = [
  { family: 'Debian', name: 'Debian', release: '12.8', kernel: '6.1.0-26-amd64' },
  { family: 'Debian', name: 'Ubuntu', release: '24.04', kernel: '6.8.0-48-generic' },
  { family: 'RedHat', name: 'Rocky', release: '9.4', kernel: '5.14.0-427.el9.x86_64' },
  { family: 'RedHat', name: 'AlmaLinux', release: '8.10', kernel: '4.18.0-553.el8_10.x86_64' },
] as const;
const MODULES = [
  'profile::base',
  'ssh',
  'ntp',
  'sudo',
  'logging',
  'firewall',
  'backup',
  'monitoring',
  'users',
  'apt',
] as const;
/** Milliseconds from a run to the next one. */
export const RUN_EVERY_MS = 30 * 60 * 1000;
/** Facts that change, and those that never do beside the usual ones. */
const VOLATILE_FACTS = 40;
const SITE_FACTS = 120;
/** Which stream of randomness is for what. */
const FOR = { node: 1, facts: 2, catalog: 3, report: 4, change: 5, role: 6 } as const;

interface Node {
  readonly index: number;
  readonly certname: string;
  readonly role: (typeof ROLES)[number];
  readonly roleIndex: number;
  readonly site: (typeof SITES)[number];
  readonly system: (typeof SYSTEMS)[number];
  readonly environment: string;
  readonly resources: number;
  readonly ip: string;
}

/** Every fleet's nodes have these names. */
export const certnameOf = (index: number): string => `node-${String(index).padStart(5, '0')}.example.com`;

export class Fleet {
  readonly options: FleetOptions;

  constructor(options: Partial<FleetOptions> = {}) {
    this.options = { ...FLEET_DEFAULTS, ...options };
  }

  /** What an agent run submits, in the order a compile server submits it. */
  *run(index: number, run: number): Generator<Command> {
    const node = this.#node(index);
    const time = this.options.start + run * RUN_EVERY_MS + (index % 1800) * 1000;
    const uuid = new Random(this.options.seed, FOR.report, index, run).uuid();
    yield this.#command('facts', node, time, this.#facts(node, run, time));
    yield this.#command('catalog', node, time + 2000, this.#catalog(node, run, time + 2000, uuid));
    yield this.#command('report', node, time + 30_000, this.#report(node, run, time + 3000, uuid));
  }

  #command(kind: Kind, node: Node, time: number, payload: object): Command {
    const { command, version } = COMMANDS[kind];
    const producerTimestamp = new Date(time).toISOString();
    return { kind, command, version, certname: node.certname, producerTimestamp, payload: JSON.stringify(payload) };
  }

  #node(index: number): Node {
    const random = new Random(this.options.seed, FOR.node, index);
    const roleIndex = random.below(ROLES.length);
    const { resourcesMin, resourcesMax } = this.options;
    const step = (resourcesMax - resourcesMin) / (ROLES.length - 1);
    return {
      index,
      certname: certnameOf(index),
      role: ROLES[roleIndex]!,
      roleIndex,
      site: random.pick(SITES),
      system: random.pick(SYSTEMS),
      environment: random.unit() < 0.85 ? 'production' : 'staging',
      resources: Math.round(resourcesMin + step * roleIndex),
      ip: `10.${(index >> 16) & 255}.${(index >> 8) & 255}.${index & 255}`,
    };
  }

  /** The last run up to this one in which the item changed; 0 for none since the beginning. */
  #version(stream: number, node: number, item: number, run: number, change = this.options.change): number {
    for (let r = run; r > 0; r--) {
      if (new Random(this.options.seed, FOR.change, stream, node, item, r).unit() < change) return r;
    }
    return 0;
  }

  #facts(node: Node, run: number, time: number): object {
    const { seed } = this.options;
    const values: Record<string, unknown> = {
      kernel: 'Linux',
      kernelrelease: node.system.kernel,
      os: osFact(node.system),
      hostname: node.certname.split('.')[0],
      fqdn: node.certname,
      ipaddress: node.ip,
      role: node.role,
      datacenter: node.site,
      is_virtual: node.index % 3 !== 0,
      processors: {
        count: 2 << (node.index % 5),
        models: Array(2 << (node.index % 5)).fill('Intel(R) Xeon(R) Gold 6338 CPU @ 2.00GHz'),
      },
      networking: networking(node),
      trusted: {
        authenticated: 'remote',
        certname: node.certname,
        domain: 'example.com',
        hostname: node.certname.split('.')[0],
        extensions: { pp_role: node.role, pp_datacenter: node.site, pp_environment: node.environment },
      },
      ssh: sshKeys(new Random(seed, FOR.facts, node.index)),
    };
    const count = Object.keys(values).length + VOLATILE_FACTS + SITE_FACTS;
    const change = (this.options.change * count) / VOLATILE_FACTS;
    for (let i = 0; i < VOLATILE_FACTS; i++) {
      const version = this.#version(FOR.facts, node.index, i, run, change);
      const random = new Random(seed, FOR.facts, node.index, i, version);
      values[`metric_${i}`] = {
        value: random.below(1_000_000),
        ratio: random.below(10_000) / 10_000,
        checked: version,
      };
    }
    for (let i = 0; i < SITE_FACTS; i++) {
      const random = new Random(seed, FOR.facts, i, i % 7 === 0 ? node.index : node.roleIndex);
      values[`site_${MODULES[i % MODULES.length]!.replace(/::/g, '_')}_${i}`] =
        i % 5 === 0 ? mountpoints(random) : random.hex(24 + random.below(60));
    }
    const packages = [];
    for (let i = 0; i < 300; i++) {
      const bumped = this.#version(FOR.facts + 10, node.index, i, run) > 0 ? 1 : 0;
      packages.push([
        `pkg-${node.system.family.toLowerCase()}-${i}`,
        `1.${i % 10}.${bumped}`,
        node.system.family === 'Debian' ? 'apt' : 'yum',
      ]);
    }
    return {
      certname: node.certname,
      environment: node.environment,
      producer: `compile-${node.site}.example.com`,
      producer_timestamp: new Date(time).toISOString(),
      values,
      package_inventory: packages,
    };
  }

  #catalog(node: Node, run: number, time: number, uuid: string): object {
    const resources: object[] = [
      resource('Stage', 'main', {}, null, ['stage']),
      resource('Class', 'main', {}, null, ['class', 'main']),
    ];
    const edges: object[] = [edge('Stage', 'main', 'contains', 'Class', 'main')];
    // A small node has few classes.
    const modules = MODULES.slice(0, Math.max(1, Math.floor(node.resources / 4)));
    for (const module of modules) {
      const title = module
        .split('::')
        .map((p) => p[0]!.toUpperCase() + p.slice(1))
        .join('::');
      resources.push(
        resource('Class', title, {}, `/etc/puppetlabs/code/modules/${module.split('::')[0]}/manifests/init.pp`, [
          'class',
          module,
        ]),
      );
      edges.push(edge('Class', 'main', 'contains', 'Class', title));
    }
    // Stage and classes stay what they are.
    const change = (this.options.change * node.resources) / (node.resources - resources.length);
    for (let i = resources.length; i < node.resources; i++) {
      const own = new Random(this.options.seed, FOR.catalog, node.index, i).unit() < this.options.unique;
      const version = this.#version(FOR.catalog, own ? node.index : 0, i, run, change);
      const random = new Random(this.options.seed, FOR.catalog, i, own ? node.index : node.roleIndex, version);
      const made = makeResource(i, random, own ? node : null);
      resources.push(made.resource);
      const container = modules[i % modules.length]!.split('::')
        .map((p) => p[0]!.toUpperCase() + p.slice(1))
        .join('::');
      edges.push(edge('Class', container, 'contains', made.type, made.title));
      if (i % 3 === 0) edges.push(edge('Class', 'Profile::Base', 'before', made.type, made.title));
    }
    resources.push(
      resource(
        'Sshkey',
        node.certname,
        { type: 'ssh-ed25519', key: new Random(FOR.node, node.index).hex(68) },
        '/etc/puppetlabs/code/modules/ssh/manifests/key.pp',
        ['sshkey', 'ssh'],
        true,
      ),
    );
    return {
      certname: node.certname,
      version: String(Math.floor(time / 1000)),
      environment: node.environment,
      transaction_uuid: uuid,
      catalog_uuid: uuid,
      code_id: new Random(this.options.seed, FOR.role, node.roleIndex).hex(40),
      job_id: null,
      producer: `compile-${node.site}.example.com`,
      producer_timestamp: new Date(time).toISOString(),
      edges,
      resources,
    };
  }

  #report(node: Node, run: number, time: number, uuid: string): object {
    const random = new Random(this.options.seed, FOR.report, node.index, run, 1);
    const at = (ms: number): string => new Date(time + ms).toISOString();
    const changed = run === 0 ? random.between(20, 60) : random.unit() < 0.8 ? 0 : random.between(1, 12);
    const failed = random.unit() < 0.02;
    const resources = [];
    const logs = [log(at(0), 'info', 'Puppet', 'Applying configuration version', ['info'])];
    for (let i = 0; i < changed; i++) {
      const status = failed && i === 0 ? 'failure' : 'success';
      const title = `/etc/app/${node.role}/conf.d/${i}.conf`;
      resources.push({
        skipped: false,
        timestamp: at(100 + i),
        resource_type: 'File',
        resource_title: title,
        file: '/etc/puppetlabs/code/modules/app/manifests/config.pp',
        line: 10 + i,
        containment_path: ['Stage[main]', 'App::Config', `File[${title}]`],
        corrective_change: false,
        events: [
          {
            status,
            timestamp: at(101 + i),
            property: 'content',
            name: 'content_changed',
            new_value: `{sha256}${random.hex(64)}`,
            old_value: `{sha256}${random.hex(64)}`,
            message: `content changed '{sha256}${random.hex(64)}' to '{sha256}${random.hex(64)}'`,
            corrective_change: false,
          },
        ],
      });
      logs.push(
        log(
          at(101 + i),
          status === 'success' ? 'notice' : 'err',
          `/Stage[main]/App::Config/File[${title}]/content`,
          `content changed to {sha256}${random.hex(64)}`,
          ['notice', 'file', 'app::config', 'class', node.role],
        ),
      );
    }
    for (let i = logs.length; i < 40; i++) {
      logs.push(log(at(200 + i), 'info', 'Puppet', `Loading facts from ${random.hex(30)}`, ['info']));
    }
    const metrics = [
      ...['changed', 'failed', 'total', 'skipped', 'restarted', 'out_of_sync'].map((name) => ({
        category: 'resources',
        name,
        value: name === 'total' ? node.resources : changed,
      })),
      ...Array.from({ length: 30 }, (_, i) => ({
        category: 'time',
        name: `type_${i}`,
        value: random.below(1_000_000) / 1_000_000,
      })),
      { category: 'changes', name: 'total', value: changed },
      { category: 'events', name: 'success', value: failed ? changed - 1 : changed },
      { category: 'events', name: 'failure', value: failed ? 1 : 0 },
    ];
    return {
      certname: node.certname,
      puppet_version: '8.10.0',
      report_format: 12,
      configuration_version: String(Math.floor(time / 1000)),
      start_time: at(0),
      end_time: at(20_000 + random.below(20_000)),
      producer: `compile-${node.site}.example.com`,
      producer_timestamp: at(27_000),
      environment: node.environment,
      status: failed && changed > 0 ? 'failed' : changed > 0 ? 'changed' : 'unchanged',
      noop: false,
      noop_pending: false,
      corrective_change: false,
      transaction_uuid: uuid,
      catalog_uuid: uuid,
      code_id: null,
      cached_catalog_status: 'not_used',
      resources,
      metrics,
      logs,
    };
  }
}

/** What a document of each kind is sent as. */
export const COMMANDS: Readonly<Record<Kind, { readonly command: string; readonly version: number }>> = {
  facts: { command: 'replace_facts', version: 5 },
  catalog: { command: 'replace_catalog', version: 9 },
  report: { command: 'store_report', version: 8 },
};

function osFact(system: Node['system']): object {
  const [major, minor] = system.release.split('.');
  return {
    family: system.family,
    name: system.name,
    architecture: 'x86_64',
    hardware: 'x86_64',
    release: { full: system.release, major, minor },
    selinux: { enabled: system.family === 'RedHat' },
  };
}

function networking(node: Node): object {
  const interfaces: Record<string, object> = {};
  for (let i = 0; i < 6; i++) {
    const ip = `10.${100 + i}.${(node.index >> 8) & 255}.${node.index & 255}`;
    const mac = `02:${i.toString(16).padStart(2, '0')}:${(node.index >> 8).toString(16).padStart(2, '0')}:${(node.index & 255).toString(16).padStart(2, '0')}:00:01`;
    interfaces[`eth${i}`] = {
      ip,
      mac,
      mtu: 1500,
      netmask: '255.255.0.0',
      network: `10.${100 + i}.0.0`,
      bindings: [{ address: ip, netmask: '255.255.0.0', network: `10.${100 + i}.0.0` }],
    };
  }
  return {
    fqdn: node.certname,
    hostname: node.certname.split('.')[0],
    domain: 'example.com',
    ip: node.ip,
    primary: 'eth0',
    interfaces,
  };
}

function sshKeys(random: Random): object {
  const key = (type: string) => ({
    type,
    key: random.hex(68),
    fingerprints: { sha1: `SSHFP 1 1 ${random.hex(40)}`, sha256: `SSHFP 1 2 ${random.hex(64)}` },
  });
  return { rsa: key('ssh-rsa'), ecdsa: key('ecdsa-sha2-nistp256'), ed25519: key('ssh-ed25519') };
}

function mountpoints(random: Random): object {
  const out: Record<string, object> = {};
  for (const path of ['/', '/boot', '/var', '/var/log', '/srv', '/tmp']) {
    out[path] = {
      device: `/dev/mapper/vg0-${random.hex(6)}`,
      filesystem: 'ext4',
      options: ['rw', 'relatime', 'errors=remount-ro'],
      size_bytes: random.below(0x7fffffff),
      used: `${random.below(100)} GiB`,
      capacity: `${random.below(10_000) / 100}%`,
    };
  }
  return out;
}

function resource(
  type: string,
  title: string,
  parameters: object,
  file: string | null,
  tags: string[],
  exported = false,
): object {
  return { type, title, tags, exported, ...(file === null ? {} : { file, line: 1 + (title.length % 90) }), parameters };
}

const edge = (
  sourceType: string,
  sourceTitle: string,
  relationship: string,
  targetType: string,
  targetTitle: string,
): object => ({
  source: { type: sourceType, title: sourceTitle },
  target: { type: targetType, title: targetTitle },
  relationship,
});

const log = (time: string, level: string, source: string, message: string, tags: string[]): object => ({
  file: null,
  line: null,
  level,
  message,
  source,
  tags,
  time,
});

/** Resource number i of a role (or of one node when `own`). */
function makeResource(i: number, random: Random, own: Node | null): { type: string; title: string; resource: object } {
  const module = MODULES[i % MODULES.length]!;
  const file = `/etc/puppetlabs/code/environments/production/modules/${module.split('::')[0]}/manifests/${own ? 'node' : 'config'}.pp`;
  const suffix = own ? `${own.index}-${i}` : String(i);
  const tags = ['class', ...new Set(module.split('::')), module];
  const common = { loglevel: 'notice', require: [`Class[${module}]`], notify: [`Service[svc-${i % 20}]`] };
  switch (i % 6) {
    case 0:
      return made('Package', `package-${suffix}`, {
        ensure: `1.${random.below(50)}.0`,
        provider: 'apt',
        install_options: ['--no-install-recommends'],
        ...common,
      });
    case 1:
      return made('Service', `service-${suffix}`, {
        ensure: 'running',
        enable: true,
        hasrestart: true,
        hasstatus: true,
        restart: `/usr/local/bin/restart --id ${random.hex(8)}`,
        ...common,
      });
    case 2:
      return made('User', `user${suffix}`, {
        ensure: 'present',
        uid: 1000 + i,
        gid: 1000 + i,
        home: `/home/user${suffix}`,
        shell: '/bin/bash',
        managehome: true,
        comment: random.hex(20),
        ...common,
      });
    case 3:
      return made('Exec', `exec-${suffix}`, {
        command: `/usr/local/bin/apply --id ${random.hex(16)} --target /srv/${suffix}`,
        path: ['/bin', '/usr/bin', '/usr/local/bin'],
        timeout: 300,
        refreshonly: true,
        logoutput: 'on_failure',
        ...common,
      });
    default:
      return made('File', `/etc/app/${module.replace(/::/g, '/')}/${suffix}.conf`, {
        ensure: 'file',
        owner: 'root',
        group: 'root',
        mode: '0644',
        content: `# managed\nkey=${random.hex(32)}\noption=${random.hex(400 + random.below(700))}\n`,
        backup: false,
        ...common,
      });
  }
  function made(type: string, title: string, parameters: object) {
    return { type, title, resource: resource(type, title, parameters, file, [type.toLowerCase(), ...tags]) };
  }
}
