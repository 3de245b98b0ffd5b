// Checks that concern several settings or the file system. Like the reading of single values they find everything that
// is wrong at once. Texts that PuppetDB has are kept, since people search for them.

import { accessSync, constants, readFileSync, statSync } from 'node:fs';
import { isAbsolute } from 'node:path';
import { createSecureContext } from 'node:tls';
import { isDirectory } from '../../engine/directories.ts';
import { javaPattern } from '../../engine/java-pattern.ts';
import { reasonOf } from '../../engine/reason.ts';
import type { SettingKey, SettingRow, Settings } from '../../schemas/config.ts';
import { flagOf, settingRows } from '../../schemas/config.ts';
import { isName, readNames } from '../access/allowlist.ts';
import { LOG_AREAS, type LogArea, type LogLevel, type LogLevels } from '../log.ts';
import { expiryNotices } from '../tls/expiry.ts';
import { OLD_TLS_VERSIONS, secureContextOptions, TLS_VERSIONS } from '../tls/options.ts';
import { isSet, type Notice, type Sources, sourceText } from './sources.ts';
import { suggestion } from './suggest.ts';
import type { Problem } from './tree.ts';
import { printSetting } from './values.ts';

/** Whether there is to be an HTTPS listener. */
export function wantsTls(settings: Settings): boolean {
  return settings.sslCert !== null || settings.sslKey !== null || settings.sslCaCert !== null;
}

export function checkSettings(settings: Settings, sources: Sources): Problem[] {
  const problems: Problem[] = [];
  const report = (key: SettingKey, message: string) => {
    const row: SettingRow = settingRows[key];
    const source = sources[key];
    const where = isSet(source) ? sourceText(source) : flagOf(row);
    problems.push({ where, message });
  };
  checkRetention(settings, report);
  checkVardir(settings, sources, report);
  checkReadyFiles(settings, report);
  checkTls(settings, sources, report);
  checkPatterns(settings, report);
  readLogLevels(settings, (message) => report('logLevels', message));
  return problems;
}

/** What can be used, and may not be meant. `now`: epoch milliseconds. */
export function noticesOf(settings: Settings, now: number): Notice[] {
  const messages = [
    openListener(settings),
    oldProtocols(settings),
    oddFactNames(settings),
    ...(wantsTls(settings) ? expiryNotices(settings, now) : []),
  ];
  return messages.filter((message) => message !== null).map((message) => ({ level: 'warn', message }));
}

const LOOPBACK = /^(localhost|127\..*|::1)$/;

function openListener({ http, httpHost }: Settings): string | null {
  if (!http || LOOPBACK.test(httpHost)) return null;
  return `http: ${httpHost} is reached from other machines, and whoever reaches it reads and changes everything without a certificate`;
}

function oldProtocols({ sslProtocols }: Settings): string | null {
  const old = sslProtocols.filter((protocol) => OLD_TLS_VERSIONS.includes(protocol));
  return old.length === 0 ? null : `ssl-protocols: ${old.join(' and ')} ${old.length === 1 ? 'is' : 'are'} not offered`;
}

/** What patterns have, and lists of other formats than INI, but no names of facts. */
const NO_FACT_NAME = /[[\](){}^$*+?|\\"']/;

/** Who meant a pattern or a list would find out by facts that are stored. */
function oddFactNames({ factsBlocklist, factsBlocklistType }: Settings): string | null {
  const odd = factsBlocklistType === 'literal' ? factsBlocklist.filter((name) => NO_FACT_NAME.test(name)) : [];
  if (odd.length === 0) return null;
  const names = odd.map((name) => `\`${name}\``).join(', ');
  return `facts-blocklist: ${names}: taken literally; patterns need facts-blocklist-type = regex, and a list has commas, but no brackets and quotes`;
}

type Report = (key: SettingKey, message: string) => void;

function checkRetention(settings: Settings, report: Report): void {
  if (settings.resourceEventsTtl > settings.reportTtl) {
    const text = 'The "database" resource-events-ttl must not be longer than report-ttl';
    const row: SettingRow = settingRows.reportTtl;
    report('resourceEventsTtl', `${text} (which is ${printSetting(row, settings.reportTtl)})`);
  }
}

function checkVardir(settings: Settings, sources: Sources, report: Report): void {
  const { vardir } = settings;
  if (vardir === null || sources.data.kind !== 'derived') return;
  const message = vardirProblem(vardir);
  if (message !== null) report('vardir', message);
}

function vardirProblem(vardir: string): string | null {
  if (!isAbsolute(vardir)) return `Vardir ${vardir} must be an absolute path.`;
  const stat = statSync(vardir, { throwIfNoEntry: false });
  if (stat === undefined) return `Vardir ${vardir} does not exist. Please create it and ensure it is writable.`;
  if (!stat.isDirectory()) return `Vardir ${vardir} is not a directory.`;
  try {
    accessSync(vardir, constants.W_OK);
    return null;
  } catch {
    return `Vardir ${vardir} is not writable.`;
  }
}

/** A device or a pipe may be written to; what else may keep them from being written may change, and is told when they are. */
function checkReadyFiles(settings: Settings, report: Report): void {
  for (const key of ['portFile', 'restartFile'] as const) {
    const path = settings[key];
    if (path !== null && isDirectory(path)) report(key, `${settingRows[key].name}: ${path} is a directory`);
  }
}

/** The files without which there is no HTTPS. */
const TLS_FILES = ['sslCert', 'sslKey', 'sslCaCert'] as const;

function checkTls(settings: Settings, sources: Sources, report: Report): void {
  const missing = TLS_FILES.filter((key) => settings[key] === null);
  checkListeners(settings, sources, missing, report);
  const isReadable = checkFiles(settings, report);
  for (const name of settings.allowedNames) {
    if (!isName(name)) report('allowedNames', `${settingRows.allowedNames.name}: "${name}" is no certificate name`);
  }
  for (const protocol of settings.sslProtocols) {
    if (OLD_TLS_VERSIONS.includes(protocol) || TLS_VERSIONS.includes(protocol)) continue;
    const text = `ssl-protocols: "${protocol}" is none of ${TLS_VERSIONS.join(', ')}${suggestion(protocol, TLS_VERSIONS)}`;
    report('sslProtocols', text);
  }
  if (settings.sslProtocols.length === 0) report('sslProtocols', 'ssl-protocols: no TLS version is left');
  if (missing.length === 0 && isReadable) checkCertificates(settings, report);
}

/** Whether there is a listener, and HTTPS has what it needs where something asks for it. */
function checkListeners(
  settings: Settings,
  sources: Sources,
  missing: readonly (typeof TLS_FILES)[number][],
  report: Report,
): void {
  if (!settings.http && !wantsTls(settings)) {
    report('http', 'there is no listener: neither a cleartext one nor ssl-cert, ssl-key and ssl-ca-cert');
  }
  const asksForTls = (['httpsHost', 'httpsPort', 'sslCrl', 'sslCertChain'] as const).find((key) => isSet(sources[key]));
  const given = TLS_FILES.find((key) => settings[key] !== null) ?? asksForTls;
  if (missing.length === 0 || given === undefined) return;
  const names = missing.map((key) => settingRows[key].name).join(' and ');
  const are = missing.length > 1 ? 'are' : 'is';
  report(given, `HTTPS needs ssl-cert, ssl-key and ssl-ca-cert; ${names} ${are} missing`);
}

/** Whether all files about certificates that are given can be read. */
function checkFiles(settings: Settings, report: Report): boolean {
  let isReadable = true;
  for (const key of [...TLS_FILES, 'sslCertChain', 'sslCrl', 'allowlist'] as const) {
    const path = settings[key];
    if (path === null) continue;
    try {
      // A device may have no end.
      if (!statSync(path).isFile()) throw new Error('it is no regular file');
      readFileSync(path);
    } catch (error) {
      isReadable = false;
      report(key, `${settingRows[key].name}: ${path} cannot be read: ${reasonOf(error)}`);
      continue;
    }
    if (key === 'allowlist') checkAllowlist(path, report);
  }
  return isReadable;
}

function checkAllowlist(path: string, report: Report): void {
  try {
    readNames(path);
  } catch (error) {
    report('allowlist', `${settingRows.allowlist.name}: ${(error as Error).message}`);
  }
}

/** What only OpenSSL can tell: files that are no certificates, a key that is encrypted or another's, unknown ciphers. */
function checkCertificates(settings: Settings, report: Report): void {
  try {
    createSecureContext(secureContextOptions(settings));
  } catch (error) {
    const { message } = error as Error;
    const key = TLS_KEYS.find((one) => message.startsWith(settingRows[one].name));
    if (key !== undefined) report(key, message);
    else report('sslCert', `ssl-cert, ssl-key, ssl-ca-cert and what belongs to them cannot be used: ${message}`);
  }
}

/** The settings that texts of `secureContextOptions` begin with; a name goes before those that begin like it. */
const TLS_KEYS = ['cipherSuites', 'sslCertChain', 'sslCert', 'sslKey', 'sslCaCert', 'sslCrl', 'sslProtocols'] as const;

function checkPatterns(settings: Settings, report: Report): void {
  if (settings.factsBlocklistType !== 'regex') return;
  const bad: string[] = [];
  for (const pattern of settings.factsBlocklist) {
    try {
      javaPattern(pattern);
    } catch (error) {
      bad.push((error as Error).message);
    }
  }
  if (bad.length > 0) report('factsBlocklist', `Unable to parse facts-blocklist patterns: ${bad.join('; ')}`);
}

/** The levels that `log-level` and `log-levels` ask for, of settings that have been checked. */
export const logLevelsOf = (settings: Settings): LogLevels => readLogLevels(settings, () => {});

/** What is no area with its level is told, and left out. */
function readLogLevels(settings: Settings, tell: (message: string) => void): LogLevels {
  const areas: Partial<Record<LogArea, LogLevel>> = {};
  for (const item of settings.logLevels) {
    const [area = '', level = ''] = item.split('=').map((part) => part.trim());
    if (!(LOG_AREAS as readonly string[]).includes(area)) {
      tell(`log-levels: "${area}" is none of ${LOG_AREAS.join(', ')}${suggestion(area, LOG_AREAS)}`);
    } else if (!(settingRows.logLevel.choices as readonly string[]).includes(level)) {
      tell(`log-levels: "${item}" needs a level (${settingRows.logLevel.choices.join(', ')}): ${area}=debug`);
    } else areas[area as LogArea] = level as LogLevel;
  }
  return { level: settings.logLevel, areas };
}
