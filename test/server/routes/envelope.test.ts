import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseForm } from '../../../engine/form.ts';
import { ENVELOPE_SIZE_MAX, encodeRecordHead } from '../../../engine/inbox/record.ts';
import {
  EnvelopeError,
  envelopeOfBody,
  envelopeOfParameters,
  isParameterForm,
  type SentEnvelope,
} from '../../../server/routes/envelope.ts';
import { collect } from '../../support/collect.ts';
import { processorTime } from '../../support/processor-time.ts';

const parameters = (query: string) => envelopeOfParameters(parseForm(query));
const refused = (query: string): string => messageOf(() => parameters(query));
const refusedBody = (text: string): string => messageOf(() => readBody(text));

/** The envelope of a body, without the turns of others. */
function readBody(text: string): { envelope: SentEnvelope; payload: string } {
  const reading = envelopeOfBody(text);
  for (;;) {
    const { done, value } = reading.next();
    if (done) return value;
  }
}

function messageOf(fn: () => unknown): string {
  try {
    fn();
  } catch (error) {
    assert.ok(error instanceof EnvelopeError);
    return error.message;
  }
  throw new Error('accepted');
}

test('envelope: parameters become an envelope', () => {
  assert.deepEqual(
    parameters('command=replace_catalog_inputs&version=%2B01&certname=a&checksum=abc&secondsToWaitForCompletion=1e1'),
    {
      command: 'replace catalog inputs',
      version: 1,
      certname: 'a',
      producerTimestamp: null,
      checksum: 'abc',
      waitMs: 10_000,
    },
  );
  assert.equal(isParameterForm(parseForm('version=5&certname=a')), false);
  assert.equal(isParameterForm(parseForm('command')), false);
  assert.equal(isParameterForm(parseForm('command=')), true);
  assert.equal(isParameterForm(parseForm('command&version=5')), true);
});

test('envelope: the producer timestamp counts when it is a time with a zone, else it is absent', () => {
  const stamped = (text: string): number | null =>
    parameters(`command=store_report&version=8&certname=a&producer-timestamp=${text}`).producerTimestamp;
  assert.equal(stamped('2036-01-10T12:05:00.000Z'), Date.UTC(2036, 0, 10, 12, 5));
  assert.equal(stamped('2036-01-10T12:05:00%2B01:00'), Date.UTC(2036, 0, 10, 11, 5));
  assert.equal(stamped('2036-01-10T12:05:00+01:00'), null);
  assert.equal(stamped('yesterday'), null);
  assert.equal(stamped(''), null);
  assert.match(
    refused('command=store_report&version=8&certname=a&producer-timestamp=x&producer-timestamp=y'),
    /producer-timestamp must be a text\.$/,
  );
  const inBody = (value: string): string =>
    `{"command":"store report","version":8,"producer-timestamp":${value},"payload":{"certname":"a"}}`;
  for (const none of ['null', 'false', '"x"']) assert.equal(readBody(inBody(none)).envelope.producerTimestamp, null);
  for (const wrong of ['5', '1.5', 'true', '[]', '{}'])
    assert.match(refusedBody(inBody(wrong)), /producer-timestamp must be a text\.$/);
});

test('envelope: the first thing wrong is told, in a fixed order', () => {
  const prefix = (command: string, certname: string): string =>
    `Command ${command} for certname ${certname} is invalid. `;
  assert.equal(
    refused('command=nonsense&version=x&foo=1'),
    `${prefix('"nonsense"', 'nil')}Command is missing required parameters: certname.`,
  );
  assert.equal(
    refused('command=nonsense&version=x&certname=&foo=1&received=2'),
    `${prefix('"nonsense"', '""')}Command has invalid parameters: foo, received.`,
  );
  assert.equal(
    refused('command=deactivate_node&version=3&certname=a&foo'),
    `${prefix('"deactivate node"', '"a"')}Command has invalid parameters: foo.`,
  );
  assert.equal(
    refused('command=nonsense&version=x&certname=%20'),
    `${prefix('"nonsense"', '" "')}Certname must be a non-empty string.`,
  );
  assert.equal(
    refused('command=Replace_Facts&version=x&certname=c'),
    `${prefix('"Replace Facts"', '"c"')}Command must be one of: configure expiration, deactivate node, replace catalog, ` +
      'replace catalog inputs, replace facts, store report.',
  );
  assert.equal(
    refused('command=replace_facts&version=x&certname=c'),
    `${prefix('"replace facts"', '"c"')}Version must be a valid integer.`,
  );
  assert.equal(
    refused('command=replace_facts&version=3&certname=c'),
    `${prefix('"replace facts"', '"c"')}Version 3 of command "replace facts" is retired. ` +
      'The minimum supported version is 4.',
  );
});

test('envelope: a certname that no envelope has room for is refused, the longest other one is taken', () => {
  const room = ENVELOPE_SIZE_MAX - 4096;
  const ask = (certname: string): string => `command=replace_facts&version=5&certname=${certname}`;
  const tooLong = (length: number): string =>
    `Command "replace facts" for certname nil is invalid. The certname of ${length} characters is too long.`;
  assert.equal(parameters(ask('a'.repeat(room))).certname.length, room);
  assert.equal(refused(ask('a'.repeat(room + 1))), tooLong(room + 1));
  const escaped = Math.floor(room / 6);
  assert.equal(parameters(ask('%01'.repeat(escaped))).certname.length, escaped);
  assert.equal(refused(ask('%01'.repeat(escaped + 1))), tooLong(escaped + 1));
  const { certname, command, version, producerTimestamp } = parameters(ask('a'.repeat(room)));
  const uuid = '0'.repeat(36);
  const envelope = {
    uuid,
    command,
    version,
    certname,
    producerTimestamp,
    received: 2 ** 43,
    gzip: true,
    size: 2 ** 31,
  };
  assert.ok(encodeRecordHead(envelope, 2 ** 31).length <= ENVELOPE_SIZE_MAX);
});

test('envelope: a version is an integer as Java reads it', () => {
  for (const text of ['5', '%2B5', `${'0'.repeat(400)}5`, encodeURIComponent('٠٥'), encodeURIComponent('５')]) {
    assert.equal(parameters(`command=replace_facts&version=${text}&certname=c`).version, 5, text);
  }
});

test('envelope: a missing version of the parameter form is an invalid one', () => {
  for (const version of [
    '',
    '&version=',
    '&version=5.0',
    `&version=${'9'.repeat(400)}`,
    '&version=2147483648',
    '&version=-',
    '&version=5a',
    '&version',
  ]) {
    assert.match(refused(`command=replace_facts&certname=c${version}`), /Version must be a valid integer\.$/, version);
  }
  assert.match(refused('command=replace_facts&version=5&version=5&certname=c'), /Version must be a valid integer\.$/);
});

test('envelope: repeated parameters are shown as a list', () => {
  assert.equal(
    refused('command=replace_facts&version=5&certname=a&certname=b'),
    'Command "replace facts" for certname ["a" "b"] is invalid. Certname must be a non-empty string.',
  );
  assert.match(
    refused('command=store_report&command=replace_facts&version=5&certname=a'),
    /^Command "\[\\"store report\\" \\"replace facts\\"\]" for certname "a" is invalid\. Command must be one of: /,
  );
  assert.equal(parameters('command=%zz&command=replace_facts&version=5&certname=a').command, 'replace facts');
});

test('envelope: a certname is blank when Java calls all of it white space', () => {
  const ask = (certname: string): string => `command=replace_facts&version=5&certname=${encodeURIComponent(certname)}`;
  for (const certname of ['', '\t\n\v\f\r', '\u001c\u001f', '\u2003\u2028\u3000']) {
    assert.match(refused(ask(certname)), /Certname must be a non-empty string\.$/, JSON.stringify(certname));
  }
  for (const certname of ['\u00a0', '\u2007', '\u202f', '\ufeff', '\u0085', '\u200b', ' \u00a0 ']) {
    assert.equal(parameters(ask(certname)).certname, certname);
  }
  const bodyOf = (certname: string) => `{"command":"replace facts","version":5,"payload":{"certname":"${certname}"}}`;
  const blanks = ' '.repeat(1 << 23);
  assert.match(refusedBody(bodyOf(blanks)), /Certname must be a non-empty string\.$/);
  assert.match(refusedBody(bodyOf(`${blanks}x`)), / is too long\.$/);
});

test('envelope: names of inherited properties are no commands', () => {
  assert.match(refused('command=toString&version=5&certname=a'), /Command must be one of/);
  assert.match(refused('command=__proto__&version=5&certname=a'), /Command must be one of/);
});

test('envelope: a version that is too new is accepted', () => {
  assert.equal(parameters('command=replace_facts&version=99&certname=a').version, 99);
});

test('envelope: how long to wait is a floating-point text', () => {
  const wait = (text: string): number =>
    parameters(`command=replace_facts&version=5&certname=a&secondsToWaitForCompletion=${text}`).waitMs;
  assert.deepEqual(
    ['0', '-3', '0.5', '2e1', '.25', '1.', '1e300', '5d', '+7', '1e-9'].map((text) => wait(encodeURIComponent(text))),
    [0, 0, 500, 20_000, 250, 1000, 2 ** 31 - 1, 5000, 7000, 1],
  );
  for (const text of ['abc', '', '1,5', 'NaN']) assert.throws(() => wait(text), EnvelopeError, text);
});

test('envelope: a very long time to wait is read as quickly as a short one', () => {
  const form = (seconds: string) =>
    parseForm(`command=replace_facts&version=5&certname=a&secondsToWaitForCompletion=${seconds}`);
  const spent = processorTime();
  assert.throws(() => envelopeOfParameters(form(`${'1'.repeat(200_000)}x`)), /must be a number in text form/);
  assert.equal(envelopeOfParameters(form('1'.repeat(200_000))).waitMs, 2 ** 31 - 1);
  assert.ok(spent() < 2000);
});

test('envelope: the one-body form takes its parts from the body, the payload as it was sent', () => {
  const payload = '{ "certname":"n",  "values":{"a":1.0,"b":1e2,"c":12345678901234567890, "payload": {}} }';
  const { envelope, payload: sent } = readBody(
    `{"version":5, "payload" : ${payload},"command":"replace facts","certname":"ignored","checksum":"x","secondsToWaitForCompletion":"30"} junk`,
  );
  assert.equal(sent, payload);
  assert.deepEqual(envelope, {
    command: 'replace facts',
    version: 5,
    certname: 'n',
    producerTimestamp: null,
    checksum: 'x',
    waitMs: 30_000,
  });
  assert.equal(
    readBody('{"command":"replace facts","version":5,"payload":{"a":1},"payload":{"certname":"b"}}').payload,
    '{"certname":"b"}',
  );
});

test('envelope: of a large one-body form nothing is made', () => {
  const values = `[${Array(500_000).fill('{"a":1.0}').join(',')}]`;
  const text = `{"payload":{"certname":"x","values":${values}},"version":5,"command":"replace facts","nothing":null}`;
  const spent = processorTime();
  const { envelope, payload } = readBody(text);
  assert.ok(spent() < 2000);
  assert.equal(envelope.certname, 'x');
  assert.equal(payload, `{"certname":"x","values":${values}}`);
  // The last of equal keys counts, in the payload too.
  const twice =
    '{"payload":{"certname":"a"},"version":5,"command":"replace facts","payload":{"certname":1,"certname":"b"}}';
  assert.equal(readBody(twice).envelope.certname, 'b');
});

test('envelope: of a member that is large where none should be no more is made, and a message shows its beginning', () => {
  const list = `[${'[],'.repeat(300_000)}[]]`;
  const long = `"${'x'.repeat(1_000_000)}"`;
  const payload = '"payload":{"certname":"c"}';
  const bodies: readonly (readonly [body: string, message: RegExp])[] = [
    [
      `{"command":${list},"version":5,${payload}}`,
      /^Command \[\] for certname "c" is invalid\. Command must be one of/,
    ],
    [`{"command":"x","version":${list},${payload}}`, /^Command "x" for certname "c" is invalid\. Command must be/],
    [
      `{"command":"x","version":5,"payload":{"certname":${list}}}`,
      /^Command "x" for certname \[\] .* Certname must be/,
    ],
    [`{"command":"x","version":5,"payload":${list}}`, /The payload value must be a JSON map/],
    [`{"command":${long},"version":5,${payload}}`, /^Command "x{65536}" for certname "c" is invalid\. Command must be/],
    [`{"command":"x","version":5,${long}:1,${payload}}`, /Command has invalid parameters: x{65536}\.$/],
    [`{"command":"x","payload":{"certname":${long}}}`, /^Command "x" for certname "x{65536}" is invalid\. Command was/],
  ];
  for (const [body, message] of bodies) assert.match(refusedBody(body), message);
  let longest = 0;
  const reading = envelopeOfBody(bodies[0]![0]);
  for (let turns = 0; ; turns++) {
    const spent = processorTime();
    try {
      assert.equal(reading.next().done, false);
    } catch (error) {
      assert.match((error as Error).message, /Command must be one of/);
      assert.ok(turns > 5, `${turns} turns`);
      break;
    } finally {
      longest = Math.max(longest, spent());
    }
  }
  assert.ok(longest < 500, `${longest} ms in one turn`);
});

test('envelope: what is wrong with the one-body form', () => {
  const old = 'Command was submitted without query parameters (old format).';
  const required = `${old} The request body must be a JSON map with required keys: command, version, payload.`;
  for (const text of ['', 'null', '5', '[]', '[{"command":"replace facts"}]', '{"command":"replace facts"', '{}']) {
    assert.equal(refusedBody(text), `Command nil for certname nil is invalid. ${required}`, text);
  }
  assert.equal(
    refusedBody('{"version":5,"payload":{"certname":"c"}}'),
    `Command nil for certname "c" is invalid. ${required}`,
  );
  assert.equal(
    refusedBody('{"command":"replace facts","version":5,"certname":"c"}'),
    `Command "replace facts" for certname nil is invalid. ${required}`,
  );
  assert.equal(
    refusedBody('{"command":"replace facts","version":5,"payload":"{}"}'),
    `Command "replace facts" for certname nil is invalid. ${old} The payload value must be a JSON map.`,
  );
  const one = (members: string): string => refusedBody(`{"payload":{"certname":"c"},${members}}`);
  assert.match(one('"command":"replace_facts","version":5'), /^Command "replace_facts" .* Command must be one of/);
  assert.match(one('"command":"replace facts","version":"5"'), /Version must be a valid integer\.$/);
  assert.match(one('"command":"replace facts","version":5.0'), /Version must be a valid integer\.$/);
  assert.match(one('"command":5,"version":5'), /^Command 5 for certname "c" is invalid. Command must be one of/);
  assert.match(one('"command":"replace facts","version":5,"foo":1'), /Command has invalid parameters: foo\.$/);
  assert.match(one('"command":"replace facts","version":5,"secondsToWaitForCompletion":5'), /secondsToWait/);
  assert.match(
    refusedBody('{"command":{"a":1},"version":5,"payload":{"certname":["b",{"c":null}]}}'),
    /^Command \{"a" 1\} for certname \["b" \{"c" nil\}\] is invalid\. Certname must be/,
  );
  for (const members of [
    '"payload":{}',
    '"payload":{},"certname":"c"',
    '"payload":{"certname":null}',
    '"payload":{"certname":"c"},"payload":{}',
  ]) {
    assert.equal(
      refusedBody(`{"command":"replace facts","version":5,${members}}`),
      'Command "replace facts" for certname nil is invalid. Command is missing required parameters: certname.',
      members,
    );
  }
  for (const missing of [
    '"command":false,"version":5',
    '"command":"replace facts","version":false',
    '"command":"replace facts","version":5,"payload":false',
    '"command":"replace facts","version":5,"payload":null',
  ])
    assert.ok(one(missing).endsWith(required), missing);
  const many = Array.from({ length: 150 }, (_, i) => `"m${i}":1`).join();
  const named = one(`"command":"replace facts","version":5,${many}`).match(/m\d+/g) ?? [];
  assert.ok(named.length > 50 && named.length <= 100, `${named.length} of many are named`);
});

test('envelope: one that was made of a large body does not keep the body', () => {
  const large = 'x'.repeat(1 << 20);
  const envelopes: SentEnvelope[] = [];
  const read = (n: number): void => {
    const payload = { certname: `web${n}.example.com`, large };
    envelopes.push(readBody(JSON.stringify({ command: 'replace catalog', version: 9, payload })).envelope);
  };
  read(0);
  collect();
  const before = process.memoryUsage().heapUsed;
  for (let n = 1; n <= 40; n++) read(n);
  collect();
  const kept = process.memoryUsage().heapUsed - before;
  assert.ok(kept < 5 << 20, `${kept} bytes`);
  assert.equal(envelopes.at(-1)?.certname, 'web40.example.com');
});
