// `muster query`: asks a running server. A table on a terminal, the server's own JSON in a pipe.

import type { IncomingMessage } from 'node:http';
import { pipeline } from 'node:stream/promises';
import { JSON_LIMITS, parseJsonDocument } from '../../engine/json/parse.ts';
import { isArray, isObject, type JsonValue } from '../../engine/json/value.ts';
import { brokenOff, chunksOf, clientOf, clientOptions, readText } from './client.ts';
import { type CliCommand, CliFailure, exitStatus, type Terminal } from './command.ts';
import { type Row, rowLines, wantsTable } from './table.ts';

/** More than this is not read into a table. */
const TABLE_BYTES_MAX = 67_108_864;
/** Values that nest as deeply as a command may, within what stands around them in an answer. */
const answerLimits = { ...JSON_LIMITS, depth: 2 * JSON_LIMITS.depth };

export const command: CliCommand = {
  name: 'query',
  usage: '[OPTIONS] QUERY',
  options: {
    json: { type: 'switch', excludes: 'table', doc: 'JSON, also on a terminal.' },
    table: { type: 'switch', doc: 'A table, also in a pipe.' },
    explain: {
      type: 'switch',
      excludes: 'ast',
      doc: 'The plan and what each step of it took, instead of the result.',
    },
    ast: { type: 'switch', doc: 'The query as a tree, instead of the result.' },
    timeout: { type: 'text', value: 'SECONDS', doc: 'Time the query may take. 0: as long as the server lets it.' },
    ...clientOptions,
  },
  positionals: { min: 1, max: 1 },
  details:
    'Sends a query to a running server. The query is PQL text or a JSON tree; `-` reads it from standard input. ' +
    'A PQL query names an entity, the fields to show (all, without brackets) and a filter in braces.\n\n' +
    'Entities are nodes, facts, factsets, fact_contents, inventory, resources, edges, catalogs, reports, events and others. ' +
    'Put the query in single quotes, so that the shell leaves it alone.',
  examples: [
    ["muster query 'nodes { }'", 'All active nodes.'],
    ['muster query \'nodes[certname] { latest_report_status = "failed" }\'', 'Nodes whose last run failed.'],
    ['muster query \'facts[certname, value] { name = "os" and certname ~ "^web" }\'', 'A fact of some nodes.'],
    ['muster query \'["from", "nodes", ["extract", [["function", "count"]]]]\'', 'A tree instead of text.'],
    ["muster query 'inventory { facts.os.family = \"Debian\" }' | jq -r '.[].certname'", 'In a pipe: JSON.'],
  ],
  run: async (args, terminal) => {
    const [given = ''] = args.positionals;
    const query = given === '-' ? await readText(terminal.inStream) : given;
    const { explain, ast, timeout, table } = args.options;
    const client = clientOf(args, terminal);
    const answer = await client.ask({
      method: 'POST',
      path: '/pdb/query/v4',
      headers: { 'content-type': 'application/json' },
      body: bodyOf(query, {
        ...(explain === 'true' ? { explain: 'analyze' } : {}),
        ...(ast === 'true' ? { ast_only: true } : {}),
        ...(timeout === undefined ? {} : { timeout: secondsOf(timeout) }),
      }),
    });
    const isTree = explain === 'true' || ast === 'true';
    if (isTree ? table === 'true' : wantsTable(args, terminal)) await printTable(answer, terminal);
    else await passOn(answer, terminal);
    return exitStatus.ok;
  },
};

/** As the parameter takes it: no limit is the text `0` there, the number is no time at all. */
function secondsOf(timeout: string): number | string {
  const seconds = timeout.trim() === '' ? Number.NaN : Number(timeout);
  if (Number.isFinite(seconds) && seconds >= 0) return seconds === 0 ? '0' : seconds;
  throw new CliFailure(exitStatus.usage, `--timeout: \`${timeout}\` is no number of seconds`);
}

function bodyOf(query: string, others: Readonly<Record<string, unknown>>): string {
  const members = Object.entries(others).map(([name, value]) => `,"${name}":${JSON.stringify(value)}`);
  return `{"query":${queryText(query)}${members.join('')}}`;
}

/** As JSON. A tree goes as it was written: read and written again, long numbers would be others. */
function queryText(text: string): string {
  if (text.trim() === '') throw new CliFailure(exitStatus.usage, 'the query is empty');
  if (!text.trimStart().startsWith('[')) return JSON.stringify(text);
  try {
    JSON.parse(text);
    return text;
  } catch (error) {
    throw new CliFailure(exitStatus.usage, `the query begins like a tree and is no JSON: ${(error as Error).message}`);
  }
}

/** The bytes as they come, so that a result of any size passes. */
async function passOn(answer: IncomingMessage, terminal: Terminal): Promise<void> {
  try {
    await pipeline(answer, terminal.outStream, { end: false });
    terminal.out('\n');
  } catch (error) {
    // Of output that cannot be written the terminal tells (command.ts).
    if ((error as NodeJS.ErrnoException).syscall === 'write') return;
    throw brokenOff(error);
  }
}

async function printTable(answer: IncomingMessage, terminal: Terminal): Promise<void> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of chunksOf(answer)) {
    chunks.push(chunk);
    size += chunk.length;
    if (size <= TABLE_BYTES_MAX) continue;
    throw new CliFailure(exitStatus.failed, 'the result is too large for a table; give a limit, or --json');
  }
  const rows = rowsOf(Buffer.concat(chunks).toString('utf8'));
  for (const line of rowLines(rows, terminal.columns)) terminal.out(`${line}\n`);
  terminal.err(`${rows.length} ${rows.length === 1 ? 'row' : 'rows'}\n`);
}

function rowsOf(text: string): Row[] {
  let value: JsonValue;
  try {
    // Numbers keep their digits.
    value = parseJsonDocument(text, answerLimits);
  } catch {
    throw new CliFailure(exitStatus.failed, 'the answer is no whole JSON');
  }
  return (isArray(value) ? value : [value]).map((item) => (isObject(item) ? item : { value: item }));
}
