// `muster start`: the server in the foreground, until a signal ends it.

import { isBackup } from '../../engine/backup/manifest.ts';
import { reasonOf } from '../../engine/reason.ts';
import { readStoreInfo } from '../../engine/store/file/store-info.ts';
import { type AccessLog, createAccessLog } from '../access-log.ts';
import { logLevelsOf } from '../config/check.ts';
import type { Configuration } from '../config/load.ts';
import { isSet } from '../config/sources.ts';
import { createLogs, type Logger, type Logs } from '../log.ts';
import { ownVersion } from '../ops/own-version.ts';
import type { Server } from '../start.ts';
import { checkAddresses, checkOpenFiles, type FileUsers } from '../system-limits.ts';
import { beginThreads } from '../threads-ahead.ts';
import type { ParsedArguments } from './arguments.ts';
import { type CliCommand, CliFailure, type ExitStatus, exitStatus, type Terminal } from './command.ts';
import { endProcess } from './end-process.ts';
import { configurationOf, settingOptions } from './setting-options.ts';

export const command: CliCommand = {
  name: 'start',
  usage: '[--data DIR] [--http HOST:PORT] [--config PATH] [OPTIONS]',
  options: settingOptions(),
  positionals: { min: 0, max: 0 },
  details:
    'Runs the server until SIGTERM or SIGINT. It then (after --stop-delay, where one is set) takes no new connections, lets running requests finish and exits ' +
    'with status 0; a second signal ends it at once. SIGHUP reads log levels, certificates, the allowlist and ' +
    'the rules of auth.conf again and opens log files anew, without dropping connections.\n\n' +
    'Once ready, one line on standard output tells the address. The log goes to standard error.\n\n' +
    'Every setting can be given as a flag, as an environment variable (--node-ttl is MUSTER_NODE_TTL) or in a file; ' +
    '`muster config` shows what comes out of it. An existing /etc/puppetdb/conf.d works as it is.',
  examples: [
    ['muster start --data ./data', 'On http://localhost:8080, for this machine only.'],
    ['muster start --config /etc/puppetdb/conf.d', "With PuppetDB's own configuration."],
    ['muster start --data ./data --http 127.0.0.1:0 --port-file port', 'On a free port, which is written to a file.'],
    [
      'muster start --data /var/lib/muster --https :8081 --ssl-cert cert.pem --ssl-key key.pem --ssl-ca-cert ca.pem',
      'HTTPS with client certificates beside the local cleartext port.',
    ],
  ],
  run,
};

/** Milliseconds that a stop may take beyond the time that requests get: queries, batches and threads have to end. */
const STOP_MARGIN_MS = 45_000;
/** Milliseconds that the process gets, when everything has stopped, to end by itself. */
const LEFT_MS = 500;

async function run(args: ParsedArguments, terminal: Terminal): Promise<ExitStatus> {
  // Whatever is created from here on is nobody else's to read.
  process.umask(0o077);
  const signals = new Signals();
  const configuration = configurationOf(args, terminal);
  const { settings } = configuration;
  const partitions = knownStoreInfo(settings.data)?.partitions ?? settings.partitions;
  if (isBackup(settings.data)) {
    const advice = `started on, it would be one no more; put it back with \`muster restore --data DIR ${settings.data}\``;
    throw new CliFailure(exitStatus.usage, `${settings.data} is a backup: ${advice}`);
  }
  requireLimits({ ...settings, partitions });
  const logs = openLogs(configuration);
  const log = logs.area('main');
  const accessLog = openAccessLog(configuration, log);
  log.info(`Muster version ${ownVersion()}`);
  process.on('uncaughtException', (error) => {
    log.fatal({ err: error }, 'an error that nobody expected; the process ends');
    void logs.end().then(() => endProcess(exitStatus.failed));
  });
  // Whoever reads the ready line may be gone by then; that is no failure of the server.
  process.stdout.removeAllListeners('error').on('error', () => {});
  tellNotices(configuration, log);

  const threads = beginThreads(settings, logs);
  const { startServer } = await import('../start.ts');
  let server: Server;
  try {
    server = await startServer(configuration, logs, accessLog, threads);
  } catch (error) {
    await logs.end();
    throw new CliFailure(exitStatus.failed, (error as Error).message);
  }
  const urls = [server.httpUrl, server.httpsUrl].filter((url) => url !== null).join(' and ');
  terminal.out(`muster: ready on ${urls} (data in ${settings.data}, process ${process.pid})\n`);
  tellPartitions(configuration, partitions, logs);

  await signals.untilStop(
    () => reload(server, args, terminal, logs),
    () => server.tellStatus(),
  );
  const overdue = setTimeout(
    () => {
      log.fatal('the server does not come to its end; the process is killed. What was acknowledged is safe');
      void logs.end().then(() => process.kill(process.pid, 'SIGKILL'));
    },
    settings.stopDelay + settings.stopTimeout + STOP_MARGIN_MS,
  );
  await server.stop();
  clearTimeout(overdue);
  signals.close();
  // The process ends by itself, unless a write hangs: that of a log whose reader has stopped.
  setTimeout(() => endProcess(exitStatus.ok), LEFT_MS).unref();
  return exitStatus.ok;
}

/** What is worth telling of a configuration that can be used. */
function tellNotices({ notices }: Configuration, log: Logger): void {
  for (const { level, message } of notices) log[level](message);
}

/** How many there are was decided when the directory was made, whatever is set later. */
function tellPartitions({ settings, sources }: Configuration, partitions: number, logs: Logs): void {
  if (settings.partitions === partitions || !isSet(sources.partitions)) return;
  const message = `partitions: ${settings.partitions} has no effect, the data directory was made with ${partitions}`;
  logs.area('main').warn(message);
}

function requireLimits(users: FileUsers): void {
  try {
    checkOpenFiles(users);
    checkAddresses(users);
  } catch (error) {
    throw new CliFailure(exitStatus.failed, reasonOf(error));
  }
}

/** null: there is none yet, or it cannot be used, which the start tells later. */
function knownStoreInfo(dir: string): { readonly partitions: number } | null {
  try {
    return readStoreInfo(dir);
  } catch {
    return null;
  }
}

function openLogs({ settings }: Configuration): Logs {
  try {
    return createLogs({ ...logLevelsOf(settings), format: settings.logFormat, file: settings.logFile });
  } catch (error) {
    throw new CliFailure(exitStatus.usage, `the log ${settings.logFile ?? ''} cannot be opened: ${reasonOf(error)}`);
  }
}

function openAccessLog({ settings }: Configuration, log: Logger): AccessLog | null {
  if (settings.accessLog === null) return null;
  try {
    return createAccessLog(settings.accessLog, log);
  } catch (error) {
    throw new CliFailure(exitStatus.usage, reasonOf(error));
  }
}

function reload(server: Server, args: ParsedArguments, terminal: Terminal, logs: Logs): void {
  const log = logs.area('main');
  // First: whoever has renamed them waits for it, whatever the configuration is like.
  server.reopenLogs();
  log.info('SIGHUP: reading the configuration again');
  try {
    const configuration = configurationOf(args, terminal);
    tellNotices(configuration, log);
    server.reload(configuration);
  } catch (error) {
    log.error({ err: error }, 'the configuration is of no use; everything stays as it was');
  }
}

const ignore = (): void => {};

/** Signals that come within so many ms are one wish: `timeout`, for one, tells the process and then its group. */
const ONE_WISH_MS = 200;

/**
 * Signals are caught before the configuration is read: one that comes during the start is acted on once there is a server. Until the
 * program is loaded, bin/muster drops SIGHUP and SIGUSR1, and SIGTERM and SIGINT end the process, which has done nothing yet.
 */
class Signals {
  /** When the first one came, on the clock of `performance`. */
  #stopAsked: number | null = null;
  #hangUps = 0;
  #onStop: (() => void) | null = null;
  #onHangUp: (() => void) | null = null;
  #onQuit: (() => void) | null = null;
  readonly #stop = (): void => {
    const now = performance.now();
    this.#stopAsked ??= now;
    // Not process.exit: it would wait for the threads, which may be what hangs.
    if (now - this.#stopAsked > ONE_WISH_MS) process.kill(process.pid, 'SIGKILL');
    this.#onStop?.();
  };
  readonly #hangUp = (): void => {
    this.#hangUps += 1;
    this.#onHangUp?.();
  };

  readonly #quit = (): void => this.#onQuit?.();

  constructor() {
    process.on('SIGTERM', this.#stop);
    process.on('SIGINT', this.#stop);
    process.on('SIGHUP', this.#hangUp);
    // Left alone, Node opens a debugger, through which every user of the machine may run code as this one.
    process.on('SIGUSR1', ignore);
    // Nothing is meant by it.
    process.on('SIGUSR2', ignore);
    // To a Java program it means: say what you are doing. Whoever is used to that must not end the server.
    process.on('SIGQUIT', this.#quit);
  }

  untilStop(onHangUp: () => void, onQuit: () => void): Promise<void> {
    this.#onHangUp = onHangUp;
    this.#onQuit = onQuit;
    if (this.#hangUps > 0) onHangUp();
    return new Promise((resolve) => {
      this.#onStop = resolve;
      if (this.#stopAsked !== null) resolve();
    });
  }

  close(): void {
    process.off('SIGTERM', this.#stop);
    process.off('SIGINT', this.#stop);
    process.off('SIGHUP', this.#hangUp);
    process.off('SIGQUIT', this.#quit);
  }
}
