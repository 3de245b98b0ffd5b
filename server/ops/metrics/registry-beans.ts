// The metrics registry as beans: `mq`, `global.depth` becomes `puppetlabs.puppetdb.mq:name=global.depth`, and the same under
// the neutral domain `cm.db.mq`. Attribute sets by kind are spec/operations.md 8.1.
//
// The neutral names are there for whoever asks for them. A pattern whose domain begins with a wildcard finds every metric
// once, under its usual name.

import {
  Counter,
  type Gauge,
  Histogram,
  type HistogramSnapshot,
  Meter,
  type Metric,
  type MetricsRegistry,
  type NamedMetric,
  type Rates,
  Timer,
  type TimerSnapshot,
} from '../../../workers/metrics.ts';
import type { Distribution } from '../../../workers/reservoir.ts';
import type { Json } from '../../json.ts';
import {
  type AttributeRow,
  type Bean,
  type BeanKind,
  type BeanSource,
  createBean,
  type OperationInfo,
} from './bean-server.ts';
import { type ObjectName, PUPPETDB_DOMAIN, parseObjectName } from './object-name.ts';

const PRIMARY_PREFIX = `${PUPPETDB_DOMAIN}.`;
const NEUTRAL_PREFIX = 'cm.db.';

/** By domain: what the names of metrics begin with, and what they may begin with instead. */
const otherBeginnings: ReadonlyMap<string, readonly (readonly [begin: string, other: string])[]> = new Map([
  // PuppetDB repeats the domain in the names of dead-letter metrics; dashboards know either spelling.
  ['dlo', [['', `${PRIMARY_PREFIX}dlo.`]]],
  // Names from before there was one for each URL (spec/interface.md "Metrics endpoint").
  [
    'http',
    [
      ['/pdb/cmd/v1.', 'commands.'],
      ['/pdb/query/v4/facts.', 'facts.'],
      ['/pdb/query/v4/resources.', 'resources.'],
      ['/metrics/v2.', 'metrics.'],
    ],
  ],
]);

const EXPOSED = 'Attribute exposed for management';
const SHOWN = 'Operation exposed for management';
const objectName: OperationInfo = { name: 'objectName', returns: 'javax.management.ObjectName', description: SHOWN };
const values: OperationInfo = { name: 'values', returns: '[J', description: SHOWN };

function row<T>(name: string, type: string, read: (figures: T) => Json | Promise<Json>): AttributeRow<T> {
  return { name, type, description: EXPOSED, read };
}

const count = (type: string): AttributeRow<{ readonly count: number }> =>
  row('Count', type, (figures) => figures.count);

const rates: readonly AttributeRow<Rates>[] = [
  row('MeanRate', 'double', (figures) => figures.meanRate),
  row('OneMinuteRate', 'double', (figures) => figures.oneMinuteRate),
  row('FiveMinuteRate', 'double', (figures) => figures.fiveMinuteRate),
  row('FifteenMinuteRate', 'double', (figures) => figures.fifteenMinuteRate),
  row('RateUnit', 'java.lang.String', () => 'events/second'),
];

const spread = (bounds: 'long' | 'double'): readonly AttributeRow<Distribution>[] => [
  row('Min', bounds, (figures) => (bounds === 'long' ? Math.round(figures.min) : figures.min)),
  row('Max', bounds, (figures) => (bounds === 'long' ? Math.round(figures.max) : figures.max)),
  row('Mean', 'double', (figures) => figures.mean),
  row('StdDev', 'double', (figures) => figures.stdDev),
  row('50thPercentile', 'double', (figures) => figures.p50),
  row('75thPercentile', 'double', (figures) => figures.p75),
  row('95thPercentile', 'double', (figures) => figures.p95),
  row('98thPercentile', 'double', (figures) => figures.p98),
  row('99thPercentile', 'double', (figures) => figures.p99),
  row('999thPercentile', 'double', (figures) => figures.p999),
];

function kind<T>(
  className: string,
  attributes: readonly AttributeRow<T>[],
  operations: readonly OperationInfo[],
): BeanKind<T> {
  return {
    className: `com.codahale.metrics.JmxReporter$${className}`,
    description: 'Information on the management interface of the MBean',
    attributes,
    operations,
  };
}

const counterKind = kind<Counter>('JmxCounter', [count('long')], [objectName]);
const gaugeKind = kind<Gauge>(
  'JmxGauge',
  [row('Value', 'java.lang.Object', async (gauge) => ((await gauge.value) ?? null) as Json)],
  [objectName],
);
const meterKind = kind<Rates>('JmxMeter', [count('long'), ...rates], [objectName]);
const histogramKind = kind<HistogramSnapshot>(
  'JmxHistogram',
  [count('long'), ...spread('long'), row('SnapshotSize', 'long', (figures: HistogramSnapshot) => figures.size)],
  [values, objectName],
);
const timerKind = kind<TimerSnapshot>(
  'JmxTimer',
  [count('long'), ...rates, ...spread('double'), row('DurationUnit', 'java.lang.String', () => 'milliseconds')],
  [values, objectName],
);

export class RegistryBeans implements BeanSource {
  readonly #registry: MetricsRegistry;
  /** Names are parsed once: they live as long as their metric. */
  readonly #names = new Map<string, ObjectName>();

  constructor(registry: MetricsRegistry) {
    this.#registry = registry;
  }

  find(name: ObjectName): Bean | undefined {
    const prefix = prefixOf(name.domain);
    const property = name.properties[0];
    if (prefix === null || name.properties.length !== 1 || property?.key !== 'name') return undefined;
    const domain = name.domain.slice(prefix.length);
    const shown = unquote(property.value);
    const metric = this.#registry.get(domain, usualName(domain, shown));
    return metric && this.#bean(prefix, { domain, name: shown, metric });
  }

  *beans(): IterableIterator<Bean> {
    for (const prefix of [PRIMARY_PREFIX, NEUTRAL_PREFIX]) {
      for (const entry of this.#registry.entries()) {
        yield this.#bean(prefix, entry);
        for (const name of otherNames(entry)) yield this.#bean(prefix, { ...entry, name });
      }
    }
  }

  #bean(prefix: string, { domain, name, metric }: NamedMetric): Bean {
    const text = `${prefix}${domain}:name=${quote(name)}`;
    let parsed = this.#names.get(text);
    if (parsed === undefined) this.#names.set(text, (parsed = parseObjectName(text)));
    return beanOf(parsed, metric, prefix === NEUTRAL_PREFIX);
  }
}

function beanOf(name: ObjectName, metric: Metric, alias: boolean): Bean {
  if (metric instanceof Counter) return createBean(name, counterKind, () => metric, alias);
  if (metric instanceof Meter) return createBean(name, meterKind, () => metric.rates(), alias);
  if (metric instanceof Timer) return createBean(name, timerKind, () => metric.snapshot(), alias);
  if (metric instanceof Histogram) return createBean(name, histogramKind, () => metric.snapshot(), alias);
  return createBean(name, gaugeKind, () => metric, alias);
}

/** Under which name the registry has it. */
function usualName(domain: string, shown: string): string {
  const found = otherBeginnings.get(domain)?.find(([, other]) => shown.startsWith(other));
  return found === undefined ? shown : found[0] + shown.slice(found[1].length);
}

function otherNames({ domain, name }: NamedMetric): readonly string[] {
  const beginnings = otherBeginnings.get(domain)?.filter(([begin]) => name.startsWith(begin)) ?? [];
  return beginnings.map(([begin, other]) => other + name.slice(begin.length));
}

function prefixOf(domain: string): string | null {
  if (domain.startsWith(PRIMARY_PREFIX)) return PRIMARY_PREFIX;
  return domain.startsWith(NEUTRAL_PREFIX) ? NEUTRAL_PREFIX : null;
}

/** Names with characters that a plain property value cannot hold are written in quotes. */
function quote(name: string): string {
  return /[,=:"*?\n]/.test(name) ? `"${name.replace(/[\\"*?]/g, '\\$&').replaceAll('\n', '\\n')}"` : name;
}

function unquote(value: string): string {
  if (!value.startsWith('"')) return value;
  return value.slice(1, -1).replace(/\\(.)/gs, (_, char: string) => (char === 'n' ? '\n' : char));
}
