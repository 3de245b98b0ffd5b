#!/usr/bin/env node
// Replays recorded requests against a PuppetDB-compatible server and compares
// the answers. Node 20 or later, no dependencies. See README.md.
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import http from 'node:http';
import https from 'node:https';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';

// ---------------------------------------------------------------- lossless JSON
// Integers beyond 2^53 and fractions keep their spelling: 5.0 is sent as 5.0.

export class Num {
  constructor(text) {
    this.text = text;
  }
  toJSON() {
    return Number(this.text);
  }
}

export function parseJSON(text) {
  let i = 0;
  const fail = (what) => {
    throw new SyntaxError(`JSON: ${what} at ${i}`);
  };
  const space = () => {
    while (i < text.length && ' \t\r\n'.includes(text[i])) i++;
  };
  const word = (w, v) => {
    if (!text.startsWith(w, i)) fail('unexpected token');
    i += w.length;
    return v;
  };
  const string = () => {
    const start = i++;
    while (text[i] !== '"') {
      if (i >= text.length) fail('unterminated string');
      i += text[i] === '\\' ? 2 : 1;
    }
    i++;
    return JSON.parse(text.slice(start, i));
  };
  const number = () => {
    const m = /-?\d+(\.\d+)?([eE][-+]?\d+)?/y;
    m.lastIndex = i;
    const found = m.exec(text);
    if (!found) fail('unexpected character');
    i += found[0].length;
    const n = Number(found[0]);
    return found[1] === undefined && found[2] === undefined && Number.isSafeInteger(n) && !Object.is(n, -0)
      ? n
      : new Num(found[0]);
  };
  const value = () => {
    space();
    switch (text[i]) {
      case '{': {
        const object = {};
        i++;
        space();
        if (text[i] === '}') {
          i++;
          return object;
        }
        for (;;) {
          space();
          if (text[i] !== '"') fail('expected a key');
          const key = string();
          space();
          if (text[i++] !== ':') fail('expected a colon');
          const v = value();
          Object.defineProperty(object, key, { value: v, enumerable: true, writable: true, configurable: true });
          space();
          const c = text[i++];
          if (c === '}') return object;
          if (c !== ',') fail('expected a comma');
        }
      }
      case '[': {
        const array = [];
        i++;
        space();
        if (text[i] === ']') {
          i++;
          return array;
        }
        for (;;) {
          array.push(value());
          space();
          const c = text[i++];
          if (c === ']') return array;
          if (c !== ',') fail('expected a comma');
        }
      }
      case '"':
        return string();
      case 't':
        return word('true', true);
      case 'f':
        return word('false', false);
      case 'n':
        return word('null', null);
      default:
        return number();
    }
  };
  const result = value();
  space();
  if (i !== text.length) fail('trailing text');
  return result;
}

export function stringifyJSON(v) {
  if (v instanceof Num) return v.text;
  if (Array.isArray(v)) return `[${v.map((x) => stringifyJSON(x === undefined ? null : x)).join(',')}]`;
  if (v !== null && typeof v === 'object') {
    return `{${Object.entries(v)
      .filter(([, x]) => x !== undefined)
      .map(([k, x]) => `${JSON.stringify(k)}:${stringifyJSON(x)}`)
      .join(',')}}`;
  }
  return JSON.stringify(v);
}

// ---------------------------------------------------------------- comparing

const isNumber = (v) => typeof v === 'number' || v instanceof Num;
const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;

function numbersEqual(a, b) {
  const x = a instanceof Num ? a.text : String(a);
  const y = b instanceof Num ? b.text : String(b);
  if (/^-?\d+$/.test(x) && /^-?\d+$/.test(y)) return BigInt(x) === BigInt(y);
  const p = Number(x);
  const q = Number(y);
  return p === q || Math.abs(p - q) <= 1e-12 * Math.max(Math.abs(p), Math.abs(q));
}

// Arrays whose order PuppetDB leaves open: tag lists, and the rows of expanded
// fields ({"data": [...], "href": "..."}).
const unordered = (key, parent) => key === 'tags' || (key === 'data' && parent && 'href' in parent);

// {"$regex": "..."} stands for any string that the pattern matches somewhere.
const isPattern = (v) =>
  v !== null && typeof v === 'object' && typeof v.$regex === 'string' && Object.keys(v).length === 1;
const patternMatches = (pattern, actual) => typeof actual === 'string' && new RegExp(pattern.$regex, 'us').test(actual);

export function equal(expected, actual, asSet = false) {
  if (expected === '<any>') return actual !== undefined;
  if (isPattern(expected)) return patternMatches(expected, actual);
  if (expected === '<time>') return typeof actual === 'string' && TIME.test(actual);
  if (isNumber(expected)) return isNumber(actual) && numbersEqual(expected, actual);
  if (expected === null || typeof expected !== 'object') return expected === actual;
  if (Array.isArray(expected)) {
    if (!Array.isArray(actual) || actual.length !== expected.length) return false;
    if (asSet) {
      const d = setDifference(expected, actual);
      return d.missing.length === 0;
    }
    return expected.every((x, i) => equal(x, actual[i]));
  }
  if (actual === null || typeof actual !== 'object' || Array.isArray(actual) || isNumber(actual)) return false;
  const keys = Object.keys(expected);
  if (keys.length !== Object.keys(actual).length) return false;
  return keys.every((k) => Object.hasOwn(actual, k) && equal(expected[k], actual[k], unordered(k, expected)));
}

function setDifference(expected, actual) {
  const rest = actual.slice();
  const missing = [];
  expected.forEach((row, i) => {
    // The row at the same place is the likely one.
    const hit =
      i < rest.length && rest[i] !== USED && equal(row, rest[i])
        ? i
        : rest.findIndex((other) => other !== USED && equal(row, other));
    if (hit < 0) missing.push(row);
    else rest[hit] = USED;
  });
  return { missing, extra: rest.filter((r) => r !== USED) };
}
const USED = Symbol('used');

const short = (v, max = 300) => {
  const s = v === undefined ? '(missing)' : typeof v === 'symbol' ? '' : stringifyJSON(v);
  return s.length > max ? `${s.slice(0, max)}… (${s.length} characters)` : s;
};

// Differences as lines "path: expected X, got Y".
export function differences(expected, actual, { asSet = false, path = '$', out = [], max = 12 } = {}) {
  if (out.length >= max || equal(expected, actual, asSet)) return out;
  const both = (test) => test(expected) && test(actual);
  const plainObject = (v) => v !== null && typeof v === 'object' && !Array.isArray(v) && !(v instanceof Num);
  if (both(Array.isArray)) {
    if (expected.length !== actual.length) out.push(`${path}: expected ${expected.length} rows, got ${actual.length}`);
    if (asSet) {
      const { missing, extra } = setDifference(expected, actual);
      if (missing.length === 1 && extra.length === 1)
        return differences(missing[0], extra[0], { path: `${path}[*]`, out, max });
      for (const row of missing) if (out.length < max) out.push(`${path}: missing row ${short(row)}`);
      for (const row of extra) if (out.length < max) out.push(`${path}: unexpected row ${short(row)}`);
      return out;
    }
    for (let i = 0; i < Math.max(expected.length, actual.length); i++) {
      differences(expected[i], actual[i], { path: `${path}[${i}]`, out, max });
    }
    return out;
  }
  if (both(plainObject)) {
    for (const k of new Set([...Object.keys(expected), ...Object.keys(actual)])) {
      if (!Object.hasOwn(expected, k)) {
        if (out.length < max) out.push(`${path}.${k}: unexpected, got ${short(actual[k])}`);
      } else {
        differences(expected[k], actual[k], { asSet: unordered(k, expected), path: `${path}.${k}`, out, max });
      }
    }
    return out;
  }
  out.push(`${path}: expected ${short(expected)}, got ${short(actual)}`);
  return out;
}

// "<any>" inside an expected text stands for any run of characters.
function textMatches(expected, actual) {
  if (isPattern(expected)) return patternMatches(expected, actual);
  if (typeof expected !== 'string' || !expected.includes('<any>')) return expected === actual;
  const pattern = expected
    .split('<any>')
    .map((s) => s.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'))
    .join('[^]*');
  return new RegExp(`^${pattern}$`).test(actual);
}

const mediaType = (v) => (v ?? '').split(';')[0].trim().toLowerCase();

// Compares one answer {status, headers, text} with the recorded one.
export function check(expected, compare, answer) {
  const out = [];
  const statuses = [].concat(expected.status);
  if (!statuses.includes(answer.status)) {
    out.push(
      `status: expected ${statuses.join(' or ')}, got ${answer.status}${answer.text ? ` (${answer.text.slice(0, 200)})` : ''}`,
    );
    return out;
  }
  if (
    expected.type &&
    !(statuses.length > 1 && answer.status !== statuses[0]) &&
    mediaType(expected.type) !== mediaType(answer.headers['content-type'])
  ) {
    out.push(`content type: expected ${expected.type}, got ${answer.headers['content-type'] ?? '(none)'}`);
  }
  for (const [name, value] of Object.entries(expected.headers ?? {})) {
    const got = answer.headers[name.toLowerCase()];
    if (
      value === null
        ? got !== undefined
        : got === undefined ||
          (value !== '<any>' && !(isPattern(value) ? patternMatches(value, got) : String(value) === got))
    ) {
      out.push(`header ${name}: expected ${value}, got ${got ?? '(none)'}`);
    }
  }
  if (compare === 'status' || expected.body === undefined) return out;
  if (compare === 'text') {
    if (!textMatches(expected.body, answer.text))
      out.push(`text: expected ${short(expected.body, 700)}`, `text: got      ${short(answer.text, 700)}`);
    return out;
  }
  let body;
  try {
    body = parseJSON(answer.text);
  } catch (error) {
    out.push(`body: not JSON (${error.message}): ${answer.text.slice(0, 200)}`);
    return out;
  }
  return differences(expected.body, blockingReply(expected.body, body), { asSet: compare === 'set', out });
}

// The reference lets a waiting client run into the time-out when its command was refused. Saying at once what was wrong
// is better and counts as the same answer; and a failure may say `exception` beside the recorded keys.
function blockingReply(expected, actual) {
  const isReply = (v) => v !== null && typeof v === 'object' && 'uuid' in v && 'processed' in v;
  if (!isReply(expected) || !isReply(actual)) return actual;
  const refusedAtOnce =
    expected.timed_out === true &&
    actual.timed_out === false &&
    actual.processed === true &&
    typeof actual.error === 'string' &&
    actual.error !== '';
  if (refusedAtOnce) return { ...expected, uuid: actual.uuid };
  const { exception: _exception, ...rest } = actual;
  return 'exception' in expected ? actual : rest;
}

// ---------------------------------------------------------------- HTTP

export class Client {
  constructor(base, { concurrency = 8, timeout = 120000 } = {}) {
    this.base = new URL(base);
    this.module = this.base.protocol === 'https:' ? https : http;
    this.agent = new this.module.Agent({ keepAlive: true, maxSockets: concurrency });
    this.timeout = timeout;
  }

  // request: {method, path, params, headers, body, gzip}
  async send(request, attempt = 1) {
    try {
      return await this.sendOnce(request);
    } catch (error) {
      // A kept connection that the server has just closed: ask again.
      const harmless = error.reused || request.path.startsWith('/pdb/query/');
      if (harmless && attempt < 4 && /hang up|cut off|ECONNRESET|EPIPE/.test(`${error.message} ${error.code}`))
        return this.send(request, attempt + 1);
      throw error;
    }
  }

  sendOnce(request) {
    const params = Object.entries(request.params ?? {}).map(
      ([k, v]) => `${encodeURIComponent(k)}=${encodeURIComponent(typeof v === 'string' ? v : stringifyJSON(v))}`,
    );
    const join = request.path.includes('?') ? '&' : '?';
    const path = this.base.pathname.replace(/\/$/, '') + request.path + (params.length ? join + params.join('&') : '');
    const headers = { ...request.headers };
    const has = (name) => Object.keys(headers).some((k) => k.toLowerCase() === name);
    let body;
    if (request.body !== null && request.body !== undefined) {
      const { $gzip: zipped, $base64: bytes } = request.body;
      const plain = zipped === undefined ? request.body : zipped;
      if (bytes !== undefined) body = Buffer.from(bytes, 'base64');
      else body = Buffer.from(typeof plain === 'string' ? plain : stringifyJSON(plain));
      if (request.gzip || zipped !== undefined) {
        body = gzipSync(body);
        if (!has('content-encoding')) headers['Content-Encoding'] = 'gzip';
      }
      if (!has('content-type')) headers['Content-Type'] = 'application/json';
      headers['Content-Length'] = body.length;
    } else if (request.method !== 'GET' && request.method !== 'HEAD') headers['Content-Length'] = 0;
    for (const k of Object.keys(headers)) if (headers[k] === null) delete headers[k];
    return new Promise((resolve, reject) => {
      const req = this.module.request(
        {
          agent: this.agent,
          method: request.method ?? 'GET',
          path,
          headers,
          host: this.base.hostname,
          port: this.base.port || undefined,
          timeout: this.timeout,
        },
        (res) => {
          const chunks = [];
          res.on('data', (c) => chunks.push(c));
          res.on('error', reject);
          res.on('aborted', () => reject(new Error('answer cut off')));
          res.on('end', () =>
            resolve({ status: res.statusCode, headers: res.headers, text: Buffer.concat(chunks).toString('utf8') }),
          );
        },
      );
      req.on('timeout', () => req.destroy(new Error(`no answer within ${this.timeout} ms`)));
      req.on('error', (error) => {
        error.reused = req.reusedSocket;
        reject(error);
      });
      req.end(body);
    });
  }

  close() {
    this.agent.destroy();
  }
}

const sleep = (ms) =>
  new Promise((resolve) => {
    setTimeout(resolve, ms);
  });

export async function queueDepth(client, prefix) {
  const answer = await client.send({
    method: 'GET',
    path: `/metrics/v2/read/${encodeURIComponent(`${prefix}.mq:name=global.depth`)}`,
  });
  if (answer.status !== 200) return undefined;
  const value = JSON.parse(answer.text).value;
  return typeof value === 'number' ? value : value?.Count;
}

let warned = false;
export async function settle(client, prefix, { seconds = 60, floor = 0 } = {}) {
  const end = Date.now() + seconds * 1000;
  let zeros = 0;
  while (Date.now() < end) {
    let depth;
    try {
      depth = await queueDepth(client, prefix);
    } catch {
      depth = undefined;
    }
    if (depth === undefined) {
      if (!warned) console.error('settle: the queue depth cannot be read from the metrics; waiting 2 s instead');
      warned = true;
      await sleep(2000);
      return;
    }
    zeros = depth <= floor ? zeros + 1 : 0;
    if (zeros >= 2) return;
    await sleep(zeros ? 20 : 50);
  }
  console.error(`settle: the queue did not drain within ${seconds} s`);
}

// Waits until the server answers (it may still be starting).
export async function ready(client, seconds = 120) {
  const end = Date.now() + seconds * 1000;
  let last = '';
  while (Date.now() < end) {
    try {
      const answer = await client.send({ path: '/pdb/meta/v1/version' });
      if (answer.status !== 503) return;
      last = answer.text;
    } catch (error) {
      last = error.message;
    }
    await sleep(250);
  }
  throw new Error(`${client.base} is not answering: ${last}`);
}

// Runs worker over items, `width` at a time.
export async function pool(items, width, worker) {
  let next = 0;
  await Promise.all(
    Array.from({ length: Math.min(width, items.length) }, async () => {
      while (next < items.length) {
        const i = next++;
        await worker(items[i], i);
      }
    }),
  );
}

export const readLines = (file) =>
  readFileSync(file, 'utf8')
    .split('\n')
    .filter((l) => l.trim() !== '')
    .map(parseJSON);

// ---------------------------------------------------------------- loading

const postOf = (c, wait) => ({
  method: 'POST',
  path: '/pdb/cmd/v1',
  params: {
    command: c.command.replaceAll(' ', '_'),
    version: String(c.version),
    certname: c.certname,
    ...(wait ? { secondsToWaitForCompletion: String(wait) } : {}),
  },
  body: c.payload,
});

export async function load(client, commands, prefix, width = 6) {
  const failures = [];
  const queues = new Map();
  for (const [i, c] of commands.entries()) {
    if (!queues.has(c.certname)) queues.set(c.certname, []);
    queues.get(c.certname).push({ ...c, line: i + 1 });
  }
  const report = (c, what) => {
    failures.push(`corpus line ${c.line} (${c.command} v${c.version}, ${c.certname}): ${what}`);
  };
  let waits = true;
  await pool([...queues.values()], width, async (list) => {
    for (const c of list) {
      const answer = await client.send(postOf(c, waits ? 60 : 0));
      if (answer.status !== 200) {
        report(c, `${answer.status} ${answer.text.slice(0, 300)}`);
        continue;
      }
      let reply;
      try {
        reply = JSON.parse(answer.text);
      } catch {
        report(c, `not JSON: ${answer.text.slice(0, 300)}`);
        continue;
      }
      if (reply.processed === undefined) {
        waits = false;
        await settle(client, prefix);
      } // no blocking submission there
      else if (!reply.processed || reply.error) report(c, answer.text.slice(0, 300));
    }
  });
  await settle(client, prefix);
  return failures;
}

// ---------------------------------------------------------------- main

function options(argv) {
  const here = dirname(fileURLToPath(import.meta.url));
  const o = { dir: here, show: 10, concurrency: 8, 'metrics-prefix': 'puppetlabs.puppetdb', area: [], only: [] };
  for (let i = 0; i < argv.length; i++) {
    const name = argv[i].replace(/^--/, '');
    const take = () => {
      if (++i >= argv.length) throw new Error(`--${name} needs a value`);
      return argv[i];
    };
    switch (name) {
      case 'load':
      case 'no-cases':
      case 'no-scenarios':
      case 'failed-ids':
        o[name] = true;
        break;
      case 'url':
      case 'dir':
      case 'out':
      case 'metrics-prefix':
        o[name] = take();
        break;
      case 'area':
      case 'only':
        o[name].push(...take().split(','));
        break;
      case 'show':
      case 'concurrency':
        o[name] = Number(take());
        break;
      default:
        throw new Error(`unknown option ${argv[i]}`);
    }
  }
  if (!o.url)
    throw new Error(
      'usage: replay.mjs --url URL [--load] [--area a,b] [--only text] [--show N] [--dir DIR] [--out FILE]\n' +
        '  [--metrics-prefix P] [--concurrency N] [--no-cases] [--no-scenarios] [--failed-ids]',
    );
  return o;
}

export function areas(dir, kind) {
  const folder = join(dir, kind);
  if (!existsSync(folder)) return [];
  return readdirSync(folder)
    .filter((f) => f.endsWith('.ndjson'))
    .sort()
    .map((f) => ({ area: f.replace(/\.ndjson$/, ''), file: join(folder, f) }));
}

// "${NAME}" in a later step stands for what "capture": {"NAME": "path.in.body"} found.
function fillIn(v, captured) {
  if (typeof v === 'string')
    return v.replace(/\$\{(\w+)\}/g, (whole, name) => (Object.hasOwn(captured, name) ? String(captured[name]) : whole));
  if (Array.isArray(v)) return v.map((x) => fillIn(x, captured));
  if (v !== null && typeof v === 'object' && !(v instanceof Num))
    return Object.fromEntries(Object.entries(v).map(([k, x]) => [k, fillIn(x, captured)]));
  return v;
}

function capture(names, answer, captured) {
  const body = parseJSON(answer.text);
  for (const [name, path] of Object.entries(names)) captured[name] = path.split('.').reduce((v, key) => v?.[key], body);
}

/**
 * Loads (when asked to), asks and compares. Options as `options` gives them. Returns what the loading complained about and
 * one result per case and scenario; `diff` is empty for those that passed.
 */
export async function replay(o) {
  const client = new Client(o.url, { concurrency: Math.max(o.concurrency, 8) });
  try {
    await ready(client);
    const loadFailures = o.load ? await loadCorpus(client, o) : [];
    const results = [...(await askCases(client, o)), ...(await playScenarios(client, o))];
    return { loadFailures, results };
  } finally {
    client.close();
  }
}

const isWanted = (o, area, id) =>
  (o.area.length === 0 || o.area.includes(area)) && (o.only.length === 0 || o.only.some((t) => id.includes(t)));

const entriesOf = (o, kind) =>
  areas(o.dir, kind).flatMap(({ area, file }) =>
    readLines(file)
      .filter((entry) => isWanted(o, area, entry.id))
      .map((entry) => ({ area, ...entry })),
  );

async function loadCorpus(client, o) {
  const started = Date.now();
  const commands = readLines(join(o.dir, 'corpus.ndjson'));
  const failures = await load(client, commands, o['metrics-prefix']);
  if (!o.quiet)
    console.log(
      `loaded ${commands.length - failures.length} of ${commands.length} commands in ${((Date.now() - started) / 1000).toFixed(1)} s`,
    );
  return failures;
}

async function askCases(client, o) {
  const results = [];
  await pool(o['no-cases'] ? [] : entriesOf(o, 'cases'), o.concurrency, async (c) => {
    let diff;
    try {
      diff = check(c.response, c.compare, await client.send(c.request));
    } catch (error) {
      diff = [`request failed: ${error.message}`];
    }
    results.push({ area: c.area, id: c.id, request: c.request, diff });
  });
  return results;
}

async function playScenarios(client, o) {
  const prefix = o['metrics-prefix'];
  const results = [];
  const scenarios = o['no-scenarios']
    ? []
    : entriesOf(o, 'scenarios').map((s) => ({ ...s, area: `scenarios/${s.area}` }));
  // What an earlier run left for a later retry stays in the depth.
  const floor = scenarios.length ? ((await queueDepth(client, prefix).catch(() => 0)) ?? 0) : 0;
  const play = async (s) => {
    const diff = [];
    const captured = {};
    let request = s.steps[0]?.request;
    for (const [i, step] of s.steps.entries()) {
      request = fillIn(step.request, captured);
      let found;
      try {
        const answer = await client.send(request);
        found = step.response ? check(fillIn(step.response, captured), step.compare, answer) : [];
        if (step.capture && found.length === 0) capture(step.capture, answer, captured);
      } catch (error) {
        found = [`request failed: ${error.message}`];
      }
      diff.push(...found.map((d) => `step ${i + 1}: ${d}`));
      if (found.length) break; // later steps rest on this one
      if (step.settle) await settle(client, prefix, { floor });
    }
    results.push({ area: s.area, id: s.id, request, diff });
  };
  // "exclusive" ones touch the whole server and run alone; "zz-" areas leave
  // failed commands in the queue and come last.
  const last = (s) => s.area.startsWith('scenarios/zz-');
  await pool(
    scenarios.filter((s) => !s.exclusive && !last(s)),
    Math.min(o.concurrency, 4),
    play,
  );
  await pool(
    scenarios.filter((s) => s.exclusive && !last(s)),
    1,
    play,
  );
  await pool(scenarios.filter(last), Math.min(o.concurrency, 4), play);
  return results;
}

/** Passed and total per area, sorted by name. */
export function tallyOf(results) {
  const tally = new Map();
  for (const r of results) {
    const t = tally.get(r.area) ?? { passed: 0, total: 0 };
    t.total++;
    if (r.diff.length === 0) t.passed++;
    tally.set(r.area, t);
  }
  return new Map([...tally].sort());
}

/** A failure as text: id, request, differences. */
export function describe(r) {
  const { method, path, params, body } = r.request ?? {};
  const request = `${method} ${path}${params && Object.keys(params).length ? ` ${short(params, 600)}` : ''}${body ? ` body ${short(body, 400)}` : ''}`;
  return [`FAIL ${r.id}`, `  ${request}`, ...r.diff.map((line) => `  ${line}`)].join('\n');
}

async function main() {
  let o;
  try {
    o = options(process.argv.slice(2));
  } catch (error) {
    console.error(error.message);
    process.exit(2);
  }
  let outcome;
  try {
    outcome = await replay(o);
  } catch (error) {
    console.error(error.message);
    process.exit(2);
  }
  const { loadFailures, results } = outcome;
  for (const line of loadFailures.slice(0, o.show)) console.log(`LOAD ${line}`);
  const tally = tallyOf(results);
  const failed = results.filter((r) => r.diff.length > 0).sort((a, b) => (a.id < b.id ? -1 : 1));
  for (const r of failed.slice(0, o.show)) console.log(`\n${describe(r)}`);
  if (failed.length > o.show) console.log(`\n… and ${failed.length - o.show} more failures`);
  if (o['failed-ids']) for (const r of failed) console.log(`failed: ${r.id}`);
  console.log('');
  for (const [area, t] of tally) console.log(`${area.padEnd(32)} ${t.passed}/${t.total}`);
  if (o.out)
    writeFileSync(
      o.out,
      `${JSON.stringify({ url: o.url, loadFailures, areas: Object.fromEntries(tally), failed }, null, 1)}\n`,
    );
  console.log(`${results.length - failed.length} passed, ${failed.length} failed`);
  process.exitCode = failed.length || loadFailures.length ? 1 : 0;
}

if (process.argv[1] && fileURLToPath(import.meta.url) === process.argv[1]) await main();
