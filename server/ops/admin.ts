// POST /pdb/admin/v1/cmd: `clean` and `delete`, carried out before the answer (spec/operations.md 2.1). The texts of refusals
// are PuppetDB's, the constant `nil` where a reason would be included.

import { sentText } from '../../engine/bytes.ts';
import { printClojure } from '../../engine/clojure.ts';
import { parseJson } from '../../engine/json/parse.ts';
import { isArray, isInteger, isObject, type JsonObject, type JsonValue } from '../../engine/json/value.ts';
import { messageOf } from '../../engine/reason.ts';
import { MaintenanceStopped, MaintenanceUnavailable } from '../../workers/types.ts';
import type { Exchange, Reply } from '../http/exchange.ts';
import { errorReply, prettyReply } from '../http/replies.ts';
import type { MaintenanceScheduler } from './maintenance.ts';
import { CLEAN_TOKENS, type CleanRequest, type CleanToken, FAILED_HEADER } from './maintenance-steps.ts';

type AdminCommand =
  | { readonly kind: 'clean'; readonly request: CleanRequest }
  | { readonly kind: 'delete'; readonly certname: string };

const BODY_MAX = 1024 * 1024;
/** When trying again makes sense after a failure of the disk. */
const RETRY_SECONDS = 5;

export async function answerAdminCommand(exchange: Exchange, maintenance: MaintenanceScheduler): Promise<void> {
  const body = await exchange.body(BODY_MAX);
  // A form body has been consumed by the form parser before PuppetDB looks at it: the command is empty.
  const isForm = /^application\/x-www-form-urlencoded\b/i.test(exchange.header('content-type'));
  const text = isForm ? '' : sentText(body);
  const command = parseAdminCommand(text);
  if ('refused' in command) return exchange.reply(errorReply(400, command.refused));
  try {
    exchange.reply(await carriedOut(command, maintenance));
  } catch (error) {
    const refusal = refusalOf(error);
    if (refusal === null) throw error;
    exchange.reply(refusal);
  }
}

/** The answer to an expected failure, null for any other. */
function refusalOf(error: unknown): Reply | null {
  if (error instanceof MaintenanceStopped) {
    return errorReply(503, 'the service is shutting down; what was done so far stays done');
  }
  if (!(error instanceof MaintenanceUnavailable)) return null;
  return { ...errorReply(503, error.message), headers: [['Retry-After', String(RETRY_SECONDS)]] };
}

async function carriedOut(command: AdminCommand, maintenance: MaintenanceScheduler): Promise<Reply> {
  if (command.kind === 'delete') {
    await maintenance.delete(command.certname);
    return prettyReply(200, { deleted: command.certname });
  }
  const failed = await maintenance.clean(command.request);
  if (failed === null) {
    const msg = 'Another cleanup is already in progress';
    return prettyReply(409, { kind: 'conflict', msg, details: null });
  }
  // PuppetDB's answer does not tell; who asks for it can see what failed.
  const headers: [string, string][] = failed.length === 0 ? [] : [[FAILED_HEADER, failed.join(',')]];
  return { ...prettyReply(200, { ok: true }), headers };
}

/** The checked command, or the text of its refusal. */
function parseAdminCommand(text: string): AdminCommand | { readonly refused: string } {
  let body: JsonValue;
  try {
    // An empty body is no command rather than no JSON.
    body = text.trim() === '' ? null : parseJson(text);
  } catch (error) {
    return refused(text, messageOf(error));
  }
  const members: JsonObject = isObject(body) ? body : {};
  if (members['command'] === 'clean') return cleanCommand(members) ?? refused(text, 'nil');
  if (members['command'] === 'delete') return deleteCommand(members) ?? refused(text, 'nil');
  return refused(text, "Valid commands types are: 'clean' and 'delete'");
}

function cleanCommand(members: JsonObject): AdminCommand | null {
  if (!isVersionOne(members)) return null;
  const payload = members['payload'] ?? [];
  if (!isArray(payload)) return null;
  const tokens = new Set<CleanToken>();
  let batchLimit: number | null = null;
  for (const item of payload) {
    const limit = batchLimitOf(item);
    if (limit !== null) tokens.add('purge_nodes');
    else if (isToken(item)) tokens.add(item);
    else return null;
    // The last mention of purge_nodes decides, a plain one lifts the limit.
    if (limit !== null || item === 'purge_nodes') batchLimit = limit;
  }
  return {
    kind: 'clean',
    request: { tokens: payload.length === 0 ? new Set(CLEAN_TOKENS) : tokens, batchLimit },
  };
}

function deleteCommand(members: JsonObject): AdminCommand | null {
  const payload = members['payload'] ?? null;
  if (!isVersionOne(members) || !isObject(payload)) return null;
  const certname = payload['certname'];
  if (typeof certname !== 'string' || Object.keys(payload).length !== 1) return null;
  return { kind: 'delete', certname };
}

/** Exactly command, version 1 (which 1.0 is not) and payload; a payload of null is there. */
function isVersionOne(members: JsonObject): boolean {
  return members['version'] === 1 && Object.hasOwn(members, 'payload') && Object.keys(members).length === 3;
}

/** N of `["purge_nodes", {"batch_limit": N}]`; null for anything else. */
function batchLimitOf(item: JsonValue): number | null {
  if (!isArray(item) || item.length !== 2 || item[0] !== 'purge_nodes') return null;
  const options = item[1] ?? null;
  if (!isObject(options) || Object.keys(options).length !== 1) return null;
  const limit = options['batch_limit'];
  return limit !== undefined && isInteger(limit) ? Number(limit) : null;
}

const isToken = (item: JsonValue): item is CleanToken => (CLEAN_TOKENS as readonly JsonValue[]).includes(item);

function refused(text: string, reason: string): { readonly refused: string } {
  return { refused: `Invalid command ${printClojure(text)}: ${reason}` };
}
