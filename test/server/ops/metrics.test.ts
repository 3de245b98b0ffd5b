import assert from 'node:assert/strict';
import { test } from 'node:test';
import { BeanServer } from '../../../server/ops/metrics/bean-server.ts';
import { createCatalogue } from '../../../server/ops/metrics/catalogue.ts';
import { createMetricsMounts } from '../../../server/ops/metrics/mounts.ts';
import { ProcessBeans } from '../../../server/ops/metrics/process-beans.ts';
import { ProcessFigures } from '../../../server/ops/metrics/process-figures.ts';
import { RegistryBeans } from '../../../server/ops/metrics/registry-beans.ts';
import { MetricsRegistry } from '../../../workers/metrics.ts';
import { type Asked, request } from './support.ts';

const now = Date.parse('2026-11-21T10:00:00Z');

function gateway(settings = { metrics: true, metricsV1: true }, registry = new MetricsRegistry()) {
  createCatalogue(registry);
  const figures = new ProcessFigures(5000);
  const sources = [new RegistryBeans(registry), new ProcessBeans(figures)];
  const clock = (): number => now;
  const mounts = createMetricsMounts({
    beans: new BeanServer(sources, clock),
    registry,
    figures,
    clock,
    settings,
    state: async () => ({ version: '1.2.3', health: { readable: true, writable: false }, freeBytes: 4096 }),
    version: { agent: 'x', protocol: '7.2', config: {}, info: {} },
  });
  const json = async (url: string, asked?: Asked) => JSON.parse((await request(mounts, url, asked)).text);
  return {
    registry,
    mounts,
    json,
    post: (body: unknown, url = '/metrics/v2') => json(url, { body: JSON.stringify(body) }),
  };
}

const read = (mbean: string, more = '') => `/metrics/v2/read/${encodeURIComponent(mbean)}${more}`;
const failed = (className: string, text: string, status: number, echo?: unknown) => ({
  ...(echo !== undefined && { request: echo }),
  error_type: className,
  error: `${className} : ${text}`,
  status,
});
const illegal = (text: string, echo?: unknown) => failed('java.lang.IllegalArgumentException', text, 400, echo);

test('metrics: reading a bean gives all of its attributes, the envelope and no-cache headers', async () => {
  const { registry, mounts } = gateway();
  registry.counter('mq', 'global.depth').set(3);
  const { status, type, headers, text } = await request(mounts, read('puppetlabs.puppetdb.mq:name=global.depth'));
  assert.equal(status, 200);
  assert.equal(type, 'application/json;charset=utf-8');
  assert.equal(headers.get('cache-control'), 'no-cache');
  assert.equal(headers.get('pragma'), 'no-cache');
  assert.equal(headers.get('expires'), 'Sat, 21 Nov 2026 09:00:00 GMT');
  assert.deepEqual(JSON.parse(text), {
    request: { mbean: 'puppetlabs.puppetdb.mq:name=global.depth', type: 'read' },
    value: { Count: 3 },
    timestamp: now / 1000,
    status: 200,
  });
});

test('metrics: every kind has the attributes that clients know', async () => {
  const { json } = gateway();
  const attributes = async (mbean: string) => Object.keys((await json(read(mbean))).value).sort();
  const meter = ['Count', 'FifteenMinuteRate', 'FiveMinuteRate', 'MeanRate', 'OneMinuteRate', 'RateUnit'];
  const spread = ['50thPercentile', '75thPercentile', '95thPercentile', '98thPercentile', '999thPercentile'];
  const histogram = [...spread, '99thPercentile', 'Max', 'Mean', 'Min', 'StdDev'];
  assert.deepEqual(await attributes('puppetlabs.puppetdb.mq:name=global.processed'), meter);
  assert.deepEqual(
    await attributes('puppetlabs.puppetdb.mq:name=global.size'),
    [...histogram, 'Count', 'SnapshotSize'].sort(),
  );
  assert.deepEqual(
    await attributes('puppetlabs.puppetdb.storage:name=gc-time'),
    [...histogram, ...meter, 'DurationUnit'].sort(),
  );
});

test('metrics: one attribute gives its value, several a map, an inner path a part', async () => {
  const { registry, json, post } = gateway();
  registry.meter('mq', 'global.seen').mark(2);
  const mbean = 'puppetlabs.puppetdb.mq:name=global.seen';
  assert.equal((await json(read(mbean, '/Count'))).value, 2);
  const two = await json(read(mbean, '/Count,RateUnit'));
  assert.deepEqual(two.value, { Count: 2, RateUnit: 'events/second' });
  assert.deepEqual(two.request, { mbean, attribute: ['Count', 'RateUnit'], type: 'read' });
  const one = await post({ type: 'read', mbean, attribute: ['Count'] });
  assert.deepEqual([one.value, one.request.attribute], [{ Count: 2 }, 'Count']);
  const used = await json('/metrics/v2/read/java.lang:type=Memory/HeapMemoryUsage/used');
  assert.ok(used.value > 1_000_000);
  assert.equal(used.request.path, 'used');
  assert.equal((await json('/metrics/v2/read/java.lang:type=Memory/HeapMemoryUsage/nothing')).value, null);
});

test('metrics: slashes in names are escaped in paths, plain in bodies and in the p parameter', async () => {
  const { json, post } = gateway();
  const mbean = 'puppetlabs.puppetdb.http:name=/pdb/cmd/v1.service-time';
  const escaped = 'read/puppetlabs.puppetdb.http:name=!/pdb!/cmd!/v1.service-time/Count';
  for (const answer of [
    await json(`/metrics/v2/${escaped}`),
    await json(`/metrics/v2/?p=${encodeURIComponent(escaped)}`),
    await post({ type: 'read', mbean, attribute: 'Count' }, '/metrics/v2/read'),
  ]) {
    assert.deepEqual([answer.value, answer.request], [0, { mbean, attribute: 'Count', type: 'read' }]);
  }
});

test('metrics: everything is readable under the neutral domain too, and patterns over all domains find it once', async () => {
  const { json } = gateway();
  assert.deepEqual((await json(read('cm.db.mq:name=global.depth'))).value, { Count: 0 });
  assert.deepEqual((await json('/metrics/v2/search/cm.db.mq:name=global.dep*')).value, ['cm.db.mq:name=global.depth']);
  assert.deepEqual((await json('/metrics/v2/search/*:name=global.depth')).value, [
    'puppetlabs.puppetdb.mq:name=global.depth',
  ]);
});

test('metrics: figures of four paths have names from before there was one for each URL, too', async () => {
  const { registry, json } = gateway();
  const paths = { commands: '/pdb/cmd/v1', facts: '/pdb/query/v4/facts', resources: '/pdb/query/v4/resources' };
  for (const [name, path] of Object.entries({ ...paths, metrics: '/metrics/v2' })) {
    registry.timer('http', `${path}.service-time`).update(5);
    registry.meter('http', `${path}.200`).mark();
    for (const domain of ['puppetlabs.puppetdb.http', 'cm.db.http']) {
      for (const figure of ['service-time', '200']) {
        const bean = `${domain}:name=${name}.${figure}`;
        assert.equal((await json(read(bean, '/Count'))).value, 1, bean);
      }
    }
  }
  assert.equal((await json(read('cm.db.http:name=commands.404'))).status, 404);
  assert.equal((await json(read('cm.db.constructor:name=x'))).status, 404);
  assert.deepEqual((await json('/metrics/v2/search/cm.db.http:name=facts.*')).value, [
    'cm.db.http:name=facts.service-time',
    'cm.db.http:name=facts.200',
  ]);
});

test('metrics: a pattern gives a map of beans and leaves out those without the attribute', async () => {
  const { json } = gateway();
  const found = await json('/metrics/v2/read/puppetlabs.puppetdb.dlo:*/Count,Nope');
  assert.deepEqual(found.value['puppetlabs.puppetdb.dlo:name=global.messages'], { Count: 0 });
  assert.ok('puppetlabs.puppetdb.dlo:name=puppetlabs.puppetdb.dlo.global.filesize' in found.value);
  const none = await json('/metrics/v2/read/java.lang:type=Mem*y/Nope');
  assert.deepEqual(
    [none.status, none.error],
    [400, 'java.lang.IllegalArgumentException : No matching attributes [Nope] found on MBeans [java.lang:type=Memory]'],
  );
  const inner = await json('/metrics/v2/read/java.lang:type=Memory/HeapMemoryUsage,NonHeapMemoryUsage/*/used');
  assert.deepEqual(Object.keys(inner.value), ['HeapMemoryUsage', 'NonHeapMemoryUsage']);
  assert.equal(typeof inner.value.HeapMemoryUsage, 'number');
});

test('metrics: the order of properties does not matter and answers have them sorted', async () => {
  const { json } = gateway();
  const answer = await json('/metrics/v2/read/java.nio:type=BufferPool,name=direct/Name');
  assert.deepEqual([answer.value, answer.request.mbean], ['direct', 'java.nio:name=direct,type=BufferPool']);
});

test('metrics: failures have the class, text and status that clients know', async () => {
  const { json, post } = gateway();
  const missing = (name: string) =>
    failed('javax.management.InstanceNotFoundException', name, 404, { mbean: name, type: 'read' });
  assert.deepEqual(await json(read('no.such:x=y')), missing('no.such:x=y'));
  assert.deepEqual(
    await json(read('puppetlabs.puppetdb.mq:name=global.depth', '/Nope')),
    failed('javax.management.AttributeNotFoundException', 'No such attribute: Nope', 404, {
      mbean: 'puppetlabs.puppetdb.mq:name=global.depth',
      attribute: 'Nope',
      type: 'read',
    }),
  );
  assert.deepEqual(
    await json('/metrics/v2/read/no.such.domain:*'),
    failed(
      'javax.management.InstanceNotFoundException',
      'No MBean with pattern no.such.domain:* found for reading attributes',
      404,
      { mbean: 'no.such.domain:*', type: 'read' },
    ),
  );
  assert.deepEqual(await json('/metrics/v2/bogus'), illegal("No type with name 'bogus' exists"));
  assert.deepEqual(await json('/metrics/v2/read'), illegal('Invalid arguments in pathinfo /read for command READ'));
  const nonsense = illegal('Invalid object name. Key properties cannot be empty');
  assert.deepEqual(await json('/metrics/v2/read/nonsense'), nonsense);
  assert.deepEqual(await post({ mbean: 'a:b=c' }), illegal('No type given'));
  assert.deepEqual(await post({ type: 'read' }), illegal('Objectname can not be null'));
  assert.deepEqual(await post('text'), illegal('Invalid JSON Request text'));
  const notMap = 'Not a request within the list of requests [1]. Expected map, but found: 1';
  assert.deepEqual(await post([1]), illegal(notMap));
  for (const body of ['{', '\ufeff{"type":"version"}']) {
    const malformed = await json('/metrics/v2', { body });
    assert.match(
      malformed.error,
      /^java\.lang\.IllegalArgumentException : Invalid JSON request java\.io\.InputStreamReader@/,
    );
  }
  const limit = await json(`${read('puppetlabs.puppetdb.mq:name=global.depth')}?maxDepth=x`);
  assert.equal(limit.error, 'java.lang.NumberFormatException : For input string: "x"');
  assert.deepEqual(
    await json('/metrics/v2/version?maxObjects=x'),
    failed('java.lang.NumberFormatException', 'For input string: "x"', 400, { type: 'version' }),
  );
});

test('metrics: writing and executing are refused whatever the bean', async () => {
  const { json, post } = gateway();
  assert.deepEqual(
    await json('/metrics/v2/write/java.lang:type=Memory/Verbose/true'),
    failed('java.lang.Exception', 'Writing attribute Verbose forbidden for MBean java.lang:type=Memory', 403, {
      mbean: 'java.lang:type=Memory',
      attribute: 'Verbose',
      type: 'write',
      value: 'true',
    }),
  );
  assert.deepEqual(
    await post({ type: 'exec', mbean: 'java.lang:type=Memory', operation: 'gc', arguments: [1] }),
    failed('java.lang.Exception', 'Operation gc forbidden for MBean java.lang:type=Memory', 403, {
      mbean: 'java.lang:type=Memory',
      arguments: [1],
      type: 'exec',
      operation: 'gc',
    }),
  );
});

test('metrics: members of a bulk request fail on their own', async () => {
  const { post } = gateway();
  const answers = await post([
    { type: 'read', mbean: 'puppetlabs.puppetdb.mq:name=global.depth', attribute: 'Count' },
    { type: 'read', mbean: 'no.such:x=y' },
    { type: 'version' },
  ]);
  assert.deepEqual(
    answers.map((answer: { status: number }) => answer.status),
    [200, 404, 200],
  );
  assert.equal(answers[2].value.protocol, '7.2');
});

test('metrics: what one bulk request may ask for is bounded', async () => {
  const { post } = gateway();
  const many = await post(Array.from({ length: 1001 }, () => ({ type: 'version' })));
  assert.deepEqual([many.status, many.error_type], [400, 'java.lang.IllegalArgumentException']);
  assert.match(many.error, /1000 requests at most/);
  const lists = await post(Array.from({ length: 1000 }, () => ({ type: 'list' })));
  const statuses = lists.map((answer: { status: number }) => answer.status) as number[];
  assert.ok(statuses.indexOf(400) > 20, `${statuses.indexOf(400)} lists are answered`);
  assert.match(lists[999].error, /looks at more than 5000 MBeans/);
});

test('metrics: what one request may name is bounded', async () => {
  const { json, post } = gateway();
  const mbean = 'puppetlabs.puppetdb.mq:name=global.depth';
  const named = (count: number): string[] => Array<string>(count).fill('Count');
  for (const attribute of [named(100), named(100).join(',')]) {
    assert.equal((await post({ type: 'read', mbean, attribute })).status, 200);
  }
  const refused = [
    await post({ type: 'read', mbean, attribute: named(101) }),
    await post({ type: 'read', mbean: '*:*', attribute: named(101).join(',') }),
    await json(`/metrics/v2/read/*:*/${named(101).join(',')}`),
  ];
  const steps = await post({ type: 'list', path: 'a/'.repeat(1001) });
  assert.deepEqual([steps.status, steps.error.endsWith('may name 1000 steps in its path at most')], [400, true]);
  for (const { status, error } of refused) {
    assert.deepEqual([status, error.endsWith('may name 100 attributes at most')], [400, true], error);
  }
  for (const long of [`${'='.repeat(8192)}:`, `${'*'.repeat(8192)}:*`]) {
    for (const request of [
      { type: 'read', mbean: long },
      { type: 'search', mbean: long },
    ]) {
      const { status, error } = await post(request);
      assert.deepEqual([status, error.endsWith('A name may have 8192 characters at most')], [400, true], error);
    }
  }
});

test('metrics: a list may have many patterns for a few beans each', async () => {
  const { post } = gateway();
  const reads = Array.from({ length: 60 }, () => ({
    type: 'read',
    mbean: 'java.lang:type=*',
    attribute: 'ObjectName',
  }));
  const searches = Array.from({ length: 60 }, () => ({ type: 'search', mbean: 'puppetlabs.puppetdb.population:*' }));
  for (const list of [reads, searches]) {
    const answers = await post(list);
    assert.ok(
      answers.every((answer: { status: number }) => answer.status === 200),
      JSON.stringify(answers.at(-1)),
    );
  }
});

test('metrics: while a list of requests is carried out, others have their turns', async () => {
  const { mounts, post } = gateway();
  const name = 'puppetlabs.puppetdb.storage:name=gc-time';
  const lists: readonly (() => Promise<unknown>)[] = [
    () => post(Array.from({ length: 30 }, () => ({ type: 'read', mbean: '*:*' }))),
    () => post(Array.from({ length: 30 }, () => ({ type: 'list' }))),
    () => post(Array.from({ length: 1000 }, () => ({ type: 'read', mbean: name }))),
    () => request(mounts, '/metrics/v1/mbeans', { body: JSON.stringify(Array(1000).fill(name)) }),
    () => request(mounts, '/metrics/v1/mbeans', { body: JSON.stringify({ ...Array(1000).fill(name) }) }),
  ];
  for (const [index, list] of lists.entries()) {
    let turns = 0;
    let next = setImmediate(function count() {
      turns += 1;
      next = setImmediate(count);
    });
    await list();
    clearImmediate(next);
    assert.ok(turns >= 19, `list ${index}: ${turns} turns`);
  }
});

test('metrics: list walks from domains to attributes', async () => {
  const { json } = gateway();
  const list = async (path: string) => (await json(`/metrics/v2/list${path}`)).value;
  const bean = { rw: false, type: 'long', desc: 'Attribute exposed for management' };
  assert.deepEqual((await list('/puppetlabs.puppetdb.mq/name=global.depth')).attr, { Count: bean });
  assert.deepEqual(await list('/puppetlabs.puppetdb.mq/name=global.depth/attr/Count'), bean);
  assert.equal(
    await list('/puppetlabs.puppetdb.mq/name=global.depth/class'),
    'com.codahale.metrics.JmxReporter$JmxCounter',
  );
  assert.deepEqual(await list('/no.such.domain'), {});
  assert.ok('type=Memory' in (await list('/java.lang')));
  assert.equal((await list('?maxDepth=1'))['java.lang'], '1');
  const unknown = await json('/metrics/v2/list/java.lang/type=Nothing');
  assert.equal(unknown.error, "java.lang.IllegalArgumentException : No MBean 'java.lang:type=Nothing' found");
});

test('metrics: list since a time is not repeated while no bean came', async () => {
  const { registry, json } = gateway();
  await json('/metrics/v2/search/a:*?ifModifiedSince=1');
  const url = `/metrics/v2/list?ifModifiedSince=${now / 1000 + 10}`;
  assert.equal((await json(url)).status, 304);
  registry.counter('mq', 'replace facts.5.ignored');
  assert.equal((await json(`/metrics/v2/list?ifModifiedSince=${now / 1000}`)).status, 200);
});

test('metrics: slashes and odd characters are escaped in the text, a callback wraps it, mimeType changes its type', async () => {
  const { mounts } = gateway();
  const plain = await request(mounts, '/metrics/v2/read/no.such:name=!/a?mimeType=text/plain');
  assert.match(plain.text, /"mbean":"no\.such:name=\\\/a"/);
  assert.equal(plain.type, 'text/plain;charset=utf-8');
  const wrapped = await request(mounts, '/metrics/v2/version?callback=f');
  assert.equal(wrapped.type, 'text/javascript;charset=utf-8');
  assert.match(wrapped.text, /^f\(\{.*\}\);$/);
});

test('metrics: a gauge that fails is a failure of its attribute, or a text when errors are ignored', async () => {
  const { registry, json } = gateway();
  registry.gauge('population', 'broken', () => {
    throw new Error('no figures');
  });
  registry.gauge('population', 'later', async () => 7);
  assert.equal((await json(read('puppetlabs.puppetdb.population:name=later', '/Value'))).value, 7);
  const broken = read('puppetlabs.puppetdb.population:name=broken');
  assert.deepEqual(
    [(await json(broken)).status, (await json(`${broken}?ignoreErrors=true`)).value.Value],
    [500, 'ERROR: no figures (class java.lang.RuntimeException)'],
  );
});

test('metrics: gateways that are switched off are not mounted', () => {
  const { mounts } = gateway({ metrics: false, metricsV1: false });
  assert.deepEqual(
    mounts.map(({ prefix }) => prefix),
    ['/metrics/prometheus'],
  );
});

test('metrics: the old form answers bare attribute maps in the shape of the question', async () => {
  const { mounts, json } = gateway();
  const name = 'puppetlabs.puppetdb.mq:name=global.depth';
  assert.equal((await json('/metrics/v1/mbeans'))[name], `/mbeans/${encodeURIComponent(name)}`);
  assert.deepEqual(await json(`/metrics/v1/mbeans/${encodeURIComponent(name)}`), { Count: 0 });
  assert.deepEqual(await json('/metrics/v1/mbeans', { body: JSON.stringify([name, 'no:x=y']) }), [{ Count: 0 }, null]);
  const many = await request(mounts, '/metrics/v1/mbeans', { body: JSON.stringify(Array(1001).fill(name)) });
  assert.deepEqual([many.status, many.text], [400, 'metrics request must name 1000 mbeans at most']);
  const unknown = await request(mounts, '/metrics/v1/mbeans/x');
  assert.deepEqual([unknown.status, unknown.text], [404, "No mbean 'x' found"]);
});

test('metrics: the Prometheus form makes labels of what varies', async () => {
  const { registry, mounts } = gateway();
  registry.meter('mq', 'replace facts.5.processed').mark(4);
  registry.timer('mq', 'global.processing-time').update(250);
  registry.meter('http', '/pdb/query/v4.200').mark();
  registry.meter('http', '/pdb/cmd/v1').mark(2);
  registry.gauge('population', 'num-nodes', async () => 9);
  const { text, type } = await request(mounts, '/metrics/prometheus');
  assert.match(text, /^muster_info\{version="1\.2\.3"\} 1\n/m);
  for (const row of ['muster_store_readable 1', 'muster_store_writable 0', 'muster_data_free_bytes 4096'])
    assert.ok(text.includes(`\n${row}\n`), row);
  assert.equal(type, 'text/plain; version=0.0.4; charset=utf-8');
  const lines = text.split('\n');
  for (const line of [
    '# TYPE muster_mq_command_processed_total counter',
    '# HELP muster_mq_command_processed_total By command and version: Commands that were applied.',
    '# HELP muster_mq_depth Commands taken and not applied.',
    'muster_mq_command_processed_total{command="replace facts",version="5"} 4',
    'muster_mq_processing_time_seconds{quantile="0.5"} 0.25',
    'muster_mq_processing_time_seconds_sum 0.25',
    'muster_mq_processing_time_seconds_count 1',
    'muster_http_responses_total{path="/pdb/query/v4",status="200"} 1',
    '# TYPE muster_http_unanswered_total counter',
    'muster_http_unanswered_total{path="/pdb/cmd/v1"} 2',
    // Alerts on these are of use only when they are there before the first one.
    'muster_http_responses_total{path="/pdb/query/v4",status="500"} 0',
    'muster_http_responses_total{path="/pdb/cmd/v1",status="503"} 0',
    'muster_population_num_nodes 9',
    'muster_mq_depth 0',
    '# TYPE process_resident_memory_bytes gauge',
  ]) {
    assert.ok(lines.includes(line), line);
  }
  const types = lines.filter((line) => line.startsWith('# TYPE')).map((line) => line.split(' ')[2]);
  assert.equal(new Set(types).size, types.length);
});

test('metrics: quantiles of the Prometheus form are of the last five minutes, those of beans stay', async () => {
  let ms = 0;
  const { registry, mounts, json } = gateway(undefined, new MetricsRegistry({ clock: () => ms }));
  registry.timer('mq', 'global.message-persistence-time').update(900);
  const name = 'muster_mq_message_persistence_time_seconds';
  const told = async () => (await request(mounts, '/metrics/prometheus')).text.split('\n');
  ms = 300_000;
  assert.ok((await told()).includes(`${name}{quantile="0.99"} 0.9`));
  ms = 301_000;
  const lines = await told();
  for (const line of [`${name}{quantile="0.99"} NaN`, `${name}_sum 0.9`, `${name}_count 1`])
    assert.ok(lines.includes(line), line);
  const bean = 'puppetlabs.puppetdb.mq:name=global.message-persistence-time';
  assert.equal((await json(read(bean, '/99thPercentile'))).value, 900);
});

test('metrics: the stages are histograms for Prometheus, and no beans', async () => {
  const { registry, mounts, json } = gateway();
  const { apply, stream } = registry.stages;
  for (const ms of [0.7, 0.8, 40, 900_000]) apply.observe(ms);
  const { text } = await request(mounts, '/metrics/prometheus');
  const lines = text.split('\n').filter((line) => line.includes('muster_stage_seconds'));
  assert.equal(lines[0], '# TYPE muster_stage_seconds histogram');
  for (const line of [
    'muster_stage_seconds_bucket{stage="apply",le="0.0005"} 0',
    'muster_stage_seconds_bucket{stage="apply",le="0.001"} 2',
    'muster_stage_seconds_bucket{stage="apply",le="0.05"} 3',
    'muster_stage_seconds_bucket{stage="apply",le="300"} 3',
    'muster_stage_seconds_bucket{stage="apply",le="+Inf"} 4',
    'muster_stage_seconds_count{stage="apply"} 4',
    'muster_stage_seconds_count{stage="stream"} 0',
  ]) {
    assert.ok(lines.includes(line), line);
  }
  const sum = lines.find((line) => line.startsWith('muster_stage_seconds_sum{stage="apply"}'));
  assert.ok(Math.abs(Number(sum?.split(' ')[1]) - 900.0415) < 1e-9, sum);
  assert.equal(stream.count, 0);
  assert.doesNotMatch(JSON.stringify(await json('/metrics/v2/list')), /stage/);
});

test('metrics: a search is cut where the client says; what is neither read nor posted', async () => {
  const { mounts, json } = gateway();
  assert.equal((await json('/metrics/v2/search/java.lang:type=*?maxCollectionSize=1')).value.length, 1);
  assert.equal((await request(mounts, '/metrics/v2', { method: 'OPTIONS' })).status, 200);
  assert.equal((await request(mounts, '/metrics/v2', { method: 'DELETE' })).status, 405);
  assert.equal((await request(mounts, '/metrics/v2', { method: 'PATCH' })).status, 501);
});

test('metrics: a member of a POST of another type is told in the words of Java, with where it finds the classes', async () => {
  const { json } = gateway();
  const post = (body: object) => json('/metrics/v2', { method: 'POST', body: JSON.stringify(body) });
  const base = "in module java.base of loader 'bootstrap'";
  const cases: readonly [object, string][] = [
    [
      { type: 5 },
      `java.lang.Long cannot be cast to class java.lang.String (java.lang.Long and java.lang.String are ${base})`,
    ],
    [
      { type: 'list', path: [] },
      `org.json.simple.JSONArray cannot be cast to class java.lang.String (org.json.simple.JSONArray is in unnamed module of loader 'app'; java.lang.String is ${base})`,
    ],
    [
      { type: 'version', config: 5 },
      `java.lang.Long cannot be cast to class java.util.Map (java.lang.Long and java.util.Map are ${base})`,
    ],
  ];
  for (const [body, text] of cases) {
    const answer = await post(body);
    assert.deepEqual([answer.status, answer.error], [500, `java.lang.ClassCastException : class ${text}`]);
  }
  assert.equal((await post({ type: 'version', config: null })).status, 200);
});
