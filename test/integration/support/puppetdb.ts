// A real PuppetDB with a PostgreSQL of its own, both from Debian's packages, on free loopback ports, below one folder.

import { chmodSync, chownSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Endings } from '../../support/endings.ts';
import { freePort, outputOf, Service, type User } from '../../support/programs.ts';

/** dbconfig-no-thanks: PuppetDB's package would set up a database of the machine's PostgreSQL otherwise. */
export const puppetdbPackages = ['puppetdb', 'dbconfig-no-thanks', 'postgresql'];
/** With a configured database instead, the package is as good. */
export const puppetdbPackagesUsed = ['puppetdb', 'postgresql'];

const jar = '/usr/share/puppetdb/puppetdb.jar';
const bootstrap = '/etc/puppetdb/bootstrap.cfg';
const databaseRole = 'puppetdb';
const databasePassword = 'only-here';
const postgresMaxMs = 60_000;
/** Debian's PuppetDB is source text that the JVM compiles at each start. */
const puppetdbMaxMs = 300_000;

export interface PuppetDb {
  readonly url: string;
  /** The end of its log. */
  log(): string;
}

type Settings = Readonly<Record<string, string | number>>;

/**
 * Starts both in a folder of their own; resolves when PuppetDB answers. They end, and the folder goes, at `endings`. `retention`: further
 * settings of its database section.
 */
export async function startPuppetDb(endings: Endings, retention: Settings = {}): Promise<PuppetDb> {
  const folder = mkdtempSync(join(tmpdir(), 'muster-puppetdb-'));
  endings.after(() => rmSync(folder, { recursive: true, force: true }));
  // PostgreSQL runs as somebody else.
  chmodSync(folder, 0o755);
  const postgres = await startPostgres(folder);
  try {
    const puppetdb = await startServer(folder, postgres.port, retention);
    endings.after(() => postgres.service.stop('SIGINT', 30_000));
    endings.after(() => puppetdb.service.stop('SIGTERM', 30_000));
    return { url: puppetdb.url, log: () => puppetdb.service.output };
  } catch (error) {
    await postgres.service.stop('SIGINT', 30_000);
    throw error;
  }
}

interface Running {
  readonly service: Service;
  readonly port: number;
}

async function startPostgres(folder: string): Promise<Running> {
  const user = await postgresUser();
  const [data, sockets] = [join(folder, 'pg'), join(folder, 'run')];
  for (const dir of [data, sockets]) {
    mkdirSync(dir, { mode: 0o700 });
    if (user !== null) chownSync(dir, user.uid, user.gid);
  }
  const program = (name: string) => join(postgresPrograms(), name);
  const options = { user, cwd: data, env: { PATH: '/usr/bin:/bin', LC_ALL: 'C.UTF-8' } };
  const access = ['--auth-local=peer', '--auth-host=scram-sha-256'];
  const init = ['-D', data, '-E', 'UTF8', '--locale=C.UTF-8', '--no-sync', ...access];
  await outputOf(program('initdb'), init, { ...options, maxMs: postgresMaxMs });

  const port = await freePort();
  const settings = {
    listen_addresses: '127.0.0.1',
    port,
    unix_socket_directories: sockets,
    // What is stored here does not outlive the test.
    fsync: 'off',
  };
  const args = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
  const service = new Service(program('postgres'), ['-D', data, ...args], options);
  try {
    const psql = (database: string, sql: string) =>
      outputOf(program('psql'), ['-X', '-q', '-h', sockets, '-p', String(port), '-d', database, '-c', sql], {
        ...options,
        maxMs: postgresMaxMs,
      });
    const answers = () =>
      psql('postgres', 'SELECT 1').then(
        () => true,
        () => false,
      );
    await service.until(answers, postgresMaxMs);
    await psql('postgres', `CREATE ROLE ${databaseRole} LOGIN PASSWORD '${databasePassword}'`);
    await psql('postgres', `CREATE DATABASE puppetdb OWNER ${databaseRole}`);
    await psql('puppetdb', 'CREATE EXTENSION pg_trgm');
    await psql('puppetdb', `GRANT CREATE ON SCHEMA public TO ${databaseRole}`);
    return { service, port };
  } catch (error) {
    await service.stop('SIGINT', 30_000);
    throw error;
  }
}

/** PostgreSQL refuses to run as root. */
async function postgresUser(): Promise<User | null> {
  if (process.getuid?.() !== 0) return null;
  const number = async (flag: string) => Number(await outputOf('id', [flag, 'postgres'], { maxMs: 10_000 }));
  return { uid: await number('-u'), gid: await number('-g') };
}

function postgresPrograms(): string {
  const versions = readdirSync('/usr/lib/postgresql').map(Number);
  return `/usr/lib/postgresql/${Math.max(...versions)}/bin`;
}

async function startServer(
  folder: string,
  postgresPort: number,
  retention: Settings,
): Promise<{ service: Service; url: string }> {
  const [config, data] = [join(folder, 'conf.d'), join(folder, 'vardir')];
  for (const dir of [config, data]) mkdirSync(dir);
  const port = await freePort();
  const sections: Readonly<Record<string, Settings>> = {
    global: { vardir: data },
    puppetdb: { 'disable-update-checking': 'true' },
    database: {
      subname: `//127.0.0.1:${postgresPort}/puppetdb`,
      username: databaseRole,
      password: databasePassword,
      // The fleet's runs took place at times of their own.
      'node-ttl': '0d',
      'report-ttl': '3650d',
      ...retention,
    },
    // Several threads get in each other's way now and then, and PuppetDB then waits for minutes before it tries again.
    'command-processing': { threads: 1 },
    jetty: { host: '127.0.0.1', port },
  };
  for (const [section, settings] of Object.entries(sections)) {
    const lines = Object.entries(settings).map(([name, value]) => `${name} = ${value}\n`);
    writeFileSync(join(config, `${section}.ini`), `[${section}]\n${lines.join('')}`);
  }
  // Metrics, which tell the depth of the queue, need a certificate otherwise.
  const rule = { 'match-request': { path: '/', type: 'path' }, 'allow-unauthenticated': true };
  const rules = [{ ...rule, 'sort-order': 1, name: 'all' }];
  writeFileSync(join(config, 'auth.conf'), JSON.stringify({ authorization: { version: 1, rules } }));

  const main = ['-m', 'puppetlabs.puppetdb.core', 'services', '--config', config, '--bootstrap-config', bootstrap];
  const service = new Service('java', ['-Xmx1g', '-cp', jar, 'clojure.main', ...main], { cwd: folder });
  const url = `http://127.0.0.1:${port}`;
  const isRunning = async () => {
    const answer = await fetch(`${url}/status/v1/simple`).catch(() => null);
    return answer !== null && (await answer.text()) === 'running';
  };
  try {
    await service.until(isRunning, puppetdbMaxMs);
    return { service, url };
  } catch (error) {
    await service.stop('SIGTERM', 10_000);
    throw error;
  }
}
