// A fleet that looks like one: nodes with roles, sites and operating systems; factsets of 47 KB with 300 packages, catalogs of
// 170-660 KB with 200-800 resources, reports of 10-70 KB. Nodes of a role share most of their catalog. From run to run the fraction
// `change` of a catalog's resources, of the facts and of the packages takes new values; the rest stays equal to the byte. What
// nodes of a role share takes the same value on all of them, as when its code changes; a node's own, its facts and packages do not.

import {
  changedFile,
  edge,
  log,
  MODULES,
  makeResource,
  mountpoints,
  type Node,
  networking,
  osFact,
  ROLES,
  reportMetrics,
  resource,
  SITES,
  SYSTEMS,
  sshKeys,
} from './fleet-parts.ts';
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

/** Milliseconds from a run to the next one. */
export const RUN_EVERY_MS = 30 * 60 * 1000;
/** Facts that change, and those that never do beside the usual ones. */
const VOLATILE_FACTS = 40;
const SITE_FACTS = 120;
/** Which stream of randomness is for what. */
const FOR = { node: 1, facts: 2, catalog: 3, report: 4, change: 5, role: 6 } as const;

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
      const title = `/etc/app/${node.role}/conf.d/${i}.conf`;
      const status = failed && i === 0 ? 'failure' : 'success';
      resources.push(
        changedFile({ title, line: 10 + i, status, resourceTime: at(100 + i), eventTime: at(101 + i) }, random),
      );
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
    const metrics = reportMetrics({ resources: node.resources, changed, failed }, random);
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
