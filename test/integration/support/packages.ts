// Debian packages that a test needs. Missing ones are installed where that is possible and small; where it is not, the
// reason becomes the text with which the test is skipped. MUSTER_INTEGRATION decides: 0 skips all of these tests, 1
// allows large packages (and their services) and long tests as well.

import { existsSync, mkdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type Ended, run } from '../../support/programs.ts';

export interface PackageOptions {
  /** Hundreds of megabytes, services, or a test of minutes: only with MUSTER_INTEGRATION=1. */
  readonly large?: boolean;
  /** What to install instead of the packages themselves, should one be missing: those and what keeps them quiet. */
  readonly install?: readonly string[];
}

/** Node runs test files side by side; apt does not. */
const lockFile = join(fileURLToPath(new URL('../../../dist', import.meta.url)), 'apt.lock');
const listsFolder = '/var/lib/apt/lists/partial';
const listsMaxAgeMs = 24 * 3_600_000;
const updateMaxMs = 40_000;
const downloadMaxMs = { small: 60_000, large: 300_000 };
/** Unpacking and configuring, which is better not interrupted. */
const unpackMaxMs = 300_000;
const lockMaxSeconds = 120;

/** Makes sure that the packages are there. The answer is node:test's `skip`: false, or why the test cannot run. */
export async function packagesMissing(
  packages: readonly string[],
  options: PackageOptions = {},
): Promise<string | false> {
  const { large = false, install: wanted = null } = options;
  const wish = process.env['MUSTER_INTEGRATION'];
  if (wish === '0') return 'MUSTER_INTEGRATION=0';
  if (large && wish !== '1') return 'takes minutes and large packages: runs with MUSTER_INTEGRATION=1';
  const missing = await notInstalled(packages);
  if (missing.length === 0) return false;
  const why = cannotInstall() ?? (await install(wanted ?? missing, downloadMaxMs[large ? 'large' : 'small']));
  return why === null ? false : `${missing.join(', ')} not installed: ${why}`;
}

async function notInstalled(packages: readonly string[]): Promise<string[]> {
  const missing: string[] = [];
  // Without dpkg nothing is installed.
  for (const name of packages) {
    // biome-ignore lint/suspicious/noTemplateCurlyInString: the format is dpkg's
    const asked = await run('dpkg-query', ['-W', '-f=${db:Status-Status}', name], { maxMs: 10_000 }).catch(() => null);
    if (asked?.out !== 'installed') missing.push(name);
  }
  return missing;
}

function cannotInstall(): string | null {
  if (process.platform !== 'linux') return `this is ${process.platform}, not Debian`;
  if (!existsSync('/usr/bin/apt-get') || !/^ID(_LIKE)?=.*debian/m.test(releaseText())) return 'this is not Debian';
  if (process.getuid?.() !== 0) return 'only root can install packages';
  return null;
}

function releaseText(): string {
  try {
    return readFileSync('/etc/os-release', 'utf8');
  } catch {
    return '';
  }
}

/** null: they are there now. */
async function install(packages: readonly string[], maxMs: number): Promise<string | null> {
  const wanted = ['install', '-y', '--no-install-recommends', ...packages];
  const steps: readonly (readonly [what: string, args: readonly string[], maxMs: number])[] = [
    ...(listsAreOld() ? [['update', ['update'], updateMaxMs] as const] : []),
    ['download', [...wanted, '--download-only'], maxMs],
    ['install', wanted, unpackMaxMs],
  ];
  for (const [what, args, stepMaxMs] of steps) {
    const ended = await aptGet(args, stepMaxMs);
    if (ended.status !== 0) return failure(what, ended);
  }
  return null;
}

function listsAreOld(): boolean {
  const changed = existsSync(listsFolder) ? statSync(listsFolder).mtimeMs : 0;
  return Date.now() - changed > listsMaxAgeMs;
}

function aptGet(args: readonly string[], maxMs: number): Promise<Ended> {
  const settings = [
    '-q',
    '-o',
    'Acquire::Retries=1',
    '-o',
    'Acquire::http::Timeout=15',
    '-o',
    'DPkg::Lock::Timeout=60',
  ];
  const env = { ...(process.env as Record<string, string>), DEBIAN_FRONTEND: 'noninteractive', LC_ALL: 'C.UTF-8' };
  mkdirSync(join(lockFile, '..'), { recursive: true });
  const command = ['-w', String(lockMaxSeconds), lockFile, 'apt-get', ...settings, ...args];
  return run('flock', command, { maxMs: maxMs + lockMaxSeconds * 1000, env });
}

function failure(what: string, ended: Ended): string {
  if (ended.timedOut) return `apt-get ${what} did not end`;
  const lines = ended.err.split('\n').filter((line) => line.startsWith('E:'));
  return `apt-get ${what} failed: ${lines.join(' ') || ended.err.trim().slice(-300) || `status ${ended.status}`}`;
}
