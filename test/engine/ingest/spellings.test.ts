// Neither what came before nor how a payload is spelled may matter. Most of what comes is recognised by its text, without being
// parsed; with a blank before each colon the same payload is parsed as a whole. Two partitions that get the same history, one in either
// way, must take and refuse the same commands, for the same reasons (but for damaged texts, whose places differ), and hold the same.

import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import fc from 'fast-check';
import type { ApplyOutcome } from '../../../engine/ingest/command/types.ts';
import { openRequest } from '../../../engine/query/request/run.ts';
import { openPartition, type Partition } from '../../../engine/store/partition.ts';
import { applyBatch } from '../../support/apply.ts';
import { querySettings } from '../../support/query-settings.ts';
import { testNumber, testSeed } from '../../support/random.ts';
import { stateOf } from './state.ts';
import { at, RECEIVED, SETTINGS, submit } from './support.ts';

const seed = testSeed('spellings');
const runs = testNumber('MUSTER_RUNS', 40);

const dir = mkdtempSync(join(tmpdir(), 'spellings-'));
after(() => rmSync(dir, { recursive: true }));

/** The same JSON, in a spelling that nothing is recognised in; what is in strings stays. */
const spaced = (text: string): string => text.replace(/"(?:[^"\\]|\\.)*"?|:/gs, (part) => (part === ':' ? ' :' : part));

const few = <T>(item: fc.Arbitrary<T>, maxLength = 4): fc.Arbitrary<T[]> => fc.array(item, { maxLength });
const list = (items: readonly string[]): string => `[${items.join(',')}]`;
const object = (members: readonly string[]): string => `{${members.join(',')}}`;

const CERTNAMES = ['a', 'b.example.com', 'a$$b', 'é', 'x"y'];
const certname = fc.constantFrom(...CERTNAMES);
/** Texts of JSON strings: such as name things, and others that mean the same. */
const name = fc.constantFrom(
  '"/a"',
  '"/b"',
  '"\\/b"',
  '"\\u002fb"',
  '"é"',
  '"\\u00e9"',
  '"$&"',
  '"a$$b"',
  '"a"',
  '"x\\"y"',
);
const string = fc.oneof(
  name,
  fc.constantFrom('""', '"\\n"', '"\\ud83d\\ude00"', '"😀"', '"present"', `"${'x'.repeat(300)}"`),
);
const scalar = fc.oneof(
  string,
  fc.constantFrom(
    '1',
    '1.0',
    '1e0',
    '10e-1',
    '-0',
    '0',
    '-0.0',
    '9007199254740993',
    '12345678901234567890',
    '1.50',
    '0.1',
  ),
  fc.constantFrom('true', 'false', 'null', '[]', '{}'),
);
const { value } = fc.letrec<{ value: string }>((tie) => ({
  value: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    scalar,
    few(tie('value')).map(list),
    few(fc.tuple(name, tie('value')).map(([key, member]) => `${key}:${member}`)).map(object),
  ),
}));
/** Far longer than what is read of a payload at a time. */
const long = fc.constant(`"${'long '.repeat(30_000)}"`);
const parameters = few(
  fc
    .tuple(name, fc.oneof({ weight: 200, arbitrary: value }, { weight: 1, arbitrary: long }))
    .map((pair) => pair.join(':')),
).map(object);

const mistake = <T>(good: fc.Arbitrary<T>, bad: fc.Arbitrary<T>, weight = 40): fc.Arbitrary<T> =>
  fc.oneof({ weight, arbitrary: good }, { weight: 1, arbitrary: bad });

const types = ['"File"', '"Class"', '"Foo::Bar"'];
const resource = fc
  .record({
    type: fc.constantFrom(...types),
    title: name,
    exported: mistake(fc.constantFrom('false', 'true'), fc.constant('null')),
    tags: mistake(
      few(fc.constantFrom<string[]>('"file"', '"a"', '"b.example.com"', '"é"', '"foo::bar"')),
      fc.constant<string[]>(['"Bad Tag"']),
    ),
    file: fc.constantFrom('null', '"/site.pp"'),
    line: mistake(fc.constantFrom('null', '3', '4', '3.0'), fc.constant('"x"')),
    parameters,
  })
  .map((fields) =>
    object(Object.entries({ ...fields, tags: list(fields.tags) }).map(([key, text]) => `"${key}":${text}`)),
  );

const end = fc.tuple(fc.constantFrom(...types), name).map(([type, title]) => `{"type":${type},"title":${title}}`);
const edge = fc
  .tuple(end, end, fc.constantFrom('contains', 'before', 'required-by'))
  .map(([source, target, kind]) => `{"source":${source},"target":${target},"relationship":"${kind}"}`);

const fact = fc
  .tuple(fc.oneof(name, fc.constantFrom('"os"', '"kernel"', '"b"', '"networking"')), value)
  .map(([key, text]) => `${key}:${text}`);
const packages = fc.option(
  few(fc.tuple(fc.constantFrom('"x"', '"y"', '"é"'), fc.constantFrom('"1"', '"2"'), fc.constant('"apt"')).map(list)),
);

const event = fc
  .record({
    old_value: value,
    new_value: value,
    message: fc.oneof(string, fc.constant('null')),
    property: fc.constantFrom('null', '"ensure"'),
  })
  .map((fields) =>
    object([
      '"status":"success"',
      `"timestamp":"${at(1)}"`,
      ...Object.entries(fields).map((pair) => `"${pair[0]}":${pair[1]}`),
    ]),
  );
const reported = fc
  .record({
    title: name,
    skipped: fc.constantFrom('true', 'false'),
    events: few(event, 2),
    file: fc.constantFrom('null', '"/site.pp"'),
  })
  .map(({ title, skipped, events, file }) =>
    object([
      `"skipped":${skipped},"timestamp":"${at(1)}","resource_type":"File","resource_title":${title}`,
      `"file":${file},"line":null,"containment_path":["Stage[main]",${title}],"events":${list(events)}`,
    ]),
  );
const log = string.map(
  (text) =>
    `{"file":null,"line":null,"level":"notice","message":${text},"source":"Puppet","tags":["notice"],"time":"${at(1)}"}`,
);

/** What a node sends the next time is what it sent before, in part. */
interface Sent {
  readonly command: string;
  readonly version: number;
  readonly members: readonly string[];
}

const catalog = fc
  .record({
    resources: fc.uniqueArray(resource, { maxLength: 6, selector: (text) => text.split(',"exported"')[0] }),
    edges: fc.oneof({ weight: 3, arbitrary: fc.constant([]) }, { weight: 1, arbitrary: few(edge, 3) }),
    first: fc.boolean(),
  })
  .map(({ resources, edges, first }): Sent => {
    const lists = [`"resources":${list(resources)}`, `"edges":${list(edges)}`];
    const others =
      '"version":"1","environment":"production","transaction_uuid":null,"catalog_uuid":null,"code_id":null,"producer":null,"job_id":null';
    return { command: 'replace catalog', version: 9, members: first ? [...lists, others] : [others, ...lists] };
  });
const facts = fc.record({ values: few(fact, 8), packages, twice: mistake(fc.constant(null), few(fact), 20) }).map(
  ({ values, packages, twice }): Sent => ({
    command: 'replace facts',
    version: 5,
    members: [
      '"environment":"production","producer":null',
      ...(packages === null ? [] : [`"package_inventory":${list(packages)}`]),
      // Of two the last one counts.
      ...(twice === null ? [] : [`"values":${object(twice)}`]),
      `"values":${object(values)}`,
    ],
  }),
);
const report = fc
  .record({ resources: few(reported), logs: few(log), noop: fc.constantFrom('true', 'false', 'null') })
  .map(
    ({ resources, logs, noop }): Sent => ({
      command: 'store report',
      version: 8,
      members: [
        `"puppet_version":"8.0.0","report_format":12,"configuration_version":"1","start_time":"${at(0)}","end_time":"${at(1)}"`,
        `"producer":null,"environment":"production","status":"changed","noop":${noop},"noop_pending":null,"corrective_change":null`,
        '"transaction_uuid":null,"catalog_uuid":null,"code_id":null,"cached_catalog_status":null,"job_id":null',
        `"resources":${list(resources)},"logs":${list(logs)},"metrics":[{"category":"time","name":"total","value":1.50}]`,
      ],
    }),
  );

interface Step {
  readonly certname: string;
  readonly sent: Sent;
  /** Where a character is missing, as a part of the text; null: it is whole. */
  readonly damage: number | null;
}

const step = (pool: readonly Sent[]): fc.Arbitrary<Step> =>
  fc.record({
    certname,
    sent: fc.constantFrom(...pool),
    damage: mistake(fc.constant(null), fc.double({ min: 0, max: 1, noNaN: true }), 30),
  });

/** The same things again and again, from several nodes: what comes once is not remembered. */
const history = fc
  .array(fc.oneof(catalog, facts, report), { minLength: 2, maxLength: 6 })
  .chain((pool) => fc.array(step(pool), { minLength: 5, maxLength: 40 }));

function textOf({ certname, sent, damage }: Step, minute: number): string {
  const head = `"certname":${JSON.stringify(certname)},"producer_timestamp":"${at(minute)}"`;
  // Titles and tags that are its own name.
  const text = object([head, ...sent.members]).replaceAll('"a"', () => JSON.stringify(certname));
  if (damage === null) return text;
  const place = Math.floor(damage * text.length);
  return text.slice(0, place) + text.slice(place + 1);
}

/** What the command came to, and for what reason. */
const toldOf = (outcome: ApplyOutcome): string =>
  JSON.stringify(outcome, (key, member: unknown) => {
    if (member instanceof Error) return member.message;
    return key === 'seq' ? undefined : member;
  });

function factsetsOf(partition: Partition): string {
  const request = {
    method: 'GET',
    path: '/factsets',
    api: 'query',
    queryString: 'query=["~","certname","."]',
    body: null,
  } as const;
  const settings = { ...querySettings, now: RECEIVED };
  const query = openRequest(request, { partitions: [partition], clock: Date.now }, settings);
  const parts: Uint8Array[] = [];
  while (!query.done) {
    const part = query.step();
    if (part !== null) parts.push(Uint8Array.from(part));
  }
  assert.equal(query.head?.status, 200);
  const body = query.head.body ?? Buffer.concat(parts).toString();
  return typeof body === 'string' ? body : Buffer.from(body).toString();
}

/** Nodes of which is remembered what their payloads looked like. */
const memosOf = (partition: Partition): number =>
  partition.write(
    (batch) =>
      CERTNAMES.filter((name) => (batch.memo('factset', name) ?? batch.memo('catalog', name)) !== undefined).length,
  );

let partitions = 0;

test('spellings: what is recognised by its text is stored and refused as what is parsed', async () => {
  let taken = 0;
  let refused = 0;
  let remembered = 0;
  let rememberedParsed = 0;
  await fc.assert(
    fc.asyncProperty(history, async (steps) => {
      const [known, parsed] = [0, 1].map(() => openPartition(join(dir, `p${partitions++}`))) as [Partition, Partition];
      try {
        for (const [minute, one] of steps.entries()) {
          const text = textOf(one, minute);
          const { command, version } = one.sent;
          const { certname } = one;
          const [ours, theirs] = [[known, text] as const, [parsed, spaced(text)] as const].map(
            ([partition, payload]) =>
              applyBatch(partition, [submit(command, payload, { certname, version })], SETTINGS)[0]!,
          );
          if (ours!.kind === 'processed') taken++;
          else refused++;
          if (one.damage === null) assert.equal(toldOf(ours!), toldOf(theirs!), text.slice(0, 3000));
          else assert.equal(ours!.kind, theirs!.kind, text.slice(0, 3000));
        }
        assert.deepEqual(stateOf(known), stateOf(parsed));
        assert.equal(factsetsOf(known), factsetsOf(parsed));
        remembered += memosOf(known);
        rememberedParsed += memosOf(parsed);
      } finally {
        for (const partition of [known, parsed]) {
          await partition.close();
          rmSync(partition.dir, { recursive: true });
        }
      }
    }),
    { seed, numRuns: runs },
  );
  assert.ok(taken > runs, `${taken} taken`);
  assert.ok(refused > 0 || runs < 20, 'some were refused');
  assert.deepEqual(
    [remembered > 0, rememberedParsed],
    [true, 0],
    'what is recognised is remembered, what is parsed is not',
  );
});
