// What the payloads of a generated fleet are put together from: names that its nodes share, facts, resources, and the parts of a report. How
// much of it changes from run to run, and what nodes have in common, fleet.ts decides by the randomness that it gives.

import type { Random } from './random.ts';

export const ROLES = ['web', 'db', 'cache', 'mail', 'build', 'proxy', 'monitor', 'storage'] as const;
export const SITES = ['ams1', 'fra2', 'iad3', 'nrt1', 'syd1'] as const;
export const SYSTEMS = [
  { family: 'Debian', name: 'Debian', release: '12.8', kernel: '6.1.0-26-amd64' },
  { family: 'Debian', name: 'Ubuntu', release: '24.04', kernel: '6.8.0-48-generic' },
  { family: 'RedHat', name: 'Rocky', release: '9.4', kernel: '5.14.0-427.el9.x86_64' },
  { family: 'RedHat', name: 'AlmaLinux', release: '8.10', kernel: '4.18.0-553.el8_10.x86_64' },
] as const;
export const MODULES = [
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
export interface Node {
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

export function osFact(system: Node['system']): object {
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

export function networking(node: Node): object {
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

export function sshKeys(random: Random): object {
  const key = (type: string) => ({
    type,
    key: random.hex(68),
    fingerprints: { sha1: `SSHFP 1 1 ${random.hex(40)}`, sha256: `SSHFP 1 2 ${random.hex(64)}` },
  });
  return { rsa: key('ssh-rsa'), ecdsa: key('ecdsa-sha2-nistp256'), ed25519: key('ssh-ed25519') };
}

export function mountpoints(random: Random): object {
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

export function resource(
  type: string,
  title: string,
  parameters: object,
  file: string | null,
  tags: string[],
  exported = false,
): object {
  return { type, title, tags, exported, ...(file === null ? {} : { file, line: 1 + (title.length % 90) }), parameters };
}

export const edge = (
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

export const log = (time: string, level: string, source: string, message: string, tags: string[]): object => ({
  file: null,
  line: null,
  level,
  message,
  source,
  tags,
  time,
});

/** Resource number i of a role (or of one node when `own`). */
export function makeResource(
  i: number,
  random: Random,
  own: Node | null,
): { type: string; title: string; resource: object } {
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

/** A resource of a report whose content was changed, or could not be. */
export function changedFile(
  {
    title,
    line,
    status,
    resourceTime,
    eventTime,
  }: {
    readonly title: string;
    readonly line: number;
    readonly status: 'success' | 'failure';
    readonly resourceTime: string;
    readonly eventTime: string;
  },
  random: Random,
): object {
  return {
    skipped: false,
    timestamp: resourceTime,
    resource_type: 'File',
    resource_title: title,
    file: '/etc/puppetlabs/code/modules/app/manifests/config.pp',
    line,
    containment_path: ['Stage[main]', 'App::Config', `File[${title}]`],
    corrective_change: false,
    events: [
      {
        status,
        timestamp: eventTime,
        property: 'content',
        name: 'content_changed',
        new_value: `{sha256}${random.hex(64)}`,
        old_value: `{sha256}${random.hex(64)}`,
        message: `content changed '{sha256}${random.hex(64)}' to '{sha256}${random.hex(64)}'`,
        corrective_change: false,
      },
    ],
  };
}

/** The metrics of a report. */
export function reportMetrics(
  { resources, changed, failed }: { readonly resources: number; readonly changed: number; readonly failed: boolean },
  random: Random,
): object[] {
  return [
    ...['changed', 'failed', 'total', 'skipped', 'restarted', 'out_of_sync'].map((name) => ({
      category: 'resources',
      name,
      value: name === 'total' ? resources : changed,
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
}
