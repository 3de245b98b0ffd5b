// Hosts on which the real Puppet runs, configured for PuppetDB the way its documentation has it: puppetdb.conf, routes.yaml,
// storeconfigs, reports, a certificate of the common authority. Each has its own directories; nothing of the machine's own
// Puppet is read or written.

import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Certificates } from '../../server/tls/certificates.ts';
import { type Ended, run } from '../../support/programs.ts';

export const puppetPackages = ['puppet-agent', 'puppet-terminus-puppetdb'];

const environments = fileURLToPath(new URL('../puppet/environments', import.meta.url));
const manifest = join(environments, 'production/manifests/site.pp');
const runMaxMs = 90_000;

export interface PuppetHostOptions {
  /** Folder for everything that the host has; made if missing. */
  readonly folder: string;
  readonly certname: string;
  readonly certificates: Certificates;
  /** Name of the host's certificate among the certificates. */
  readonly certificate: string;
  /** `server_urls` of puppetdb.conf. */
  readonly serverUrls: readonly string[];
}

export class PuppetHost {
  readonly certname: string;
  /** What the manifests manage. */
  readonly target: string;
  readonly #folder: string;

  constructor(options: PuppetHostOptions) {
    const { folder, certname, certificates, certificate, serverUrls } = options;
    this.certname = certname;
    this.target = join(folder, 'target');
    this.#folder = folder;
    const at = (...parts: string[]) => join(folder, ...parts);
    for (const part of ['conf', 'ssl/certs', 'ssl/private_keys', 'home']) mkdirSync(at(part), { recursive: true });
    copyFileSync(certificates.ca, at('ssl/certs/ca.pem'));
    copyFileSync(certificates.crl, at('ssl/crl.pem'));
    copyFileSync(certificates.path(certificate, 'pem'), at(`ssl/certs/${certname}.pem`));
    copyFileSync(certificates.path(certificate, 'key'), at(`ssl/private_keys/${certname}.pem`));
    writeFileSync(at('conf/puppet.conf'), puppetConf(folder, certname));
    writeFileSync(at('conf/puppetdb.conf'), `[main]\nserver_urls = ${serverUrls.join(', ')}\n`);
    writeFileSync(at('conf/routes.yaml'), routes);
  }

  /** A run of the agent's work without a compile server: facts, compilation, application, report. */
  apply(args: readonly string[] = [], env: Readonly<Record<string, string>> = {}): Promise<Ended> {
    return this.puppet(['apply', '--detailed-exitcodes', ...args, manifest], env);
  }

  /** `puppet SUBCOMMAND ...`. */
  async puppet(args: readonly string[], env: Readonly<Record<string, string>> = {}): Promise<Ended> {
    const own = ['--confdir', join(this.#folder, 'conf'), '--vardir', join(this.#folder, 'var'), '--color=false'];
    const ended = await run('puppet', [...args, ...own], {
      maxMs: runMaxMs,
      cwd: this.#folder,
      env: {
        PATH: process.env['PATH'] ?? '/usr/bin:/bin',
        HOME: join(this.#folder, 'home'),
        LC_ALL: 'C.UTF-8',
        MUSTER_TARGET: this.target,
        ...env,
      },
    });
    // What facts cannot be found in a container is not of interest here.
    const err = ended.err.replace(/^.*\bFacter: .*\n/gm, '');
    return { ...ended, err };
  }

  /** Text of a managed file. */
  file(name: string): string {
    return readFileSync(join(this.target, name), 'utf8');
  }
}

function puppetConf(folder: string, certname: string): string {
  const settings = {
    certname,
    ssldir: join(folder, 'ssl'),
    logdir: join(folder, 'log'),
    rundir: join(folder, 'run'),
    codedir: join(folder, 'code'),
    publicdir: join(folder, 'public'),
    environmentpath: environments,
    storeconfigs: true,
    storeconfigs_backend: 'puppetdb',
    report: true,
    reports: 'puppetdb',
  };
  return `[main]\n${Object.entries(settings)
    .map(([name, value]) => `${name} = ${value}\n`)
    .join('')}`;
}

// The collectors' searches have no cache to go through: their terminus itself is PuppetDB.
const routes = `---
apply:
  catalog:
    terminus: compiler
    cache: puppetdb
  resource:
    terminus: puppetdb
  facts:
    terminus: facter
    cache: puppetdb_apply
`;
