// The registry in Prometheus' text form. Families are named after domain and metric; what varies (command and version,
// request path, status, pool) becomes a label, so that one family holds all of its series. Timers and histograms are
// summaries: quantiles of the last five minutes, sum and count. The stages of commands and queries are histograms with buckets, which
// can be added up. Durations are seconds, as the convention has it.

import {
  Counter,
  Gauge,
  Histogram,
  Meter,
  type Metric,
  type MetricsRegistry,
  Timer,
} from '../../../workers/metrics.ts';
import type { Distribution } from '../../../workers/reservoir.ts';
import { type Stages, stageBounds, stageNames } from '../../../workers/stages.ts';
import { helpText } from './help-texts.ts';
import type { ProcessFigures } from './process-figures.ts';

interface Family {
  readonly type: 'counter' | 'gauge' | 'summary' | 'histogram';
  readonly lines: string[];
}

type Labels = readonly (readonly [name: string, value: string])[];

interface Series {
  /** Snake case, without prefix and unit. */
  readonly name: string;
  readonly labels: Labels;
}

const PREFIX = 'muster';
const quantiles: readonly (readonly [string, keyof Distribution])[] = [
  ['0.5', 'p50'],
  ['0.75', 'p75'],
  ['0.95', 'p95'],
  ['0.98', 'p98'],
  ['0.99', 'p99'],
  ['0.999', 'p999'],
];

/** Seconds that quantiles are of. PuppetDB's own forms keep a value until newer ones push it out: an alert on them would never end. */
const QUANTILES_AGE_MAX = 300;

/** Which part of a name is a label. The first row whose pattern matches decides. */
const labelled: readonly {
  readonly domain: string;
  readonly pattern: RegExp;
  readonly series: (parts: readonly string[]) => Series;
}[] = [
  {
    domain: 'mq',
    pattern: /^([a-z_ ]+)\.(\d+)\.(.+)$/,
    series: ([command, version, item]) => ({
      name: `command_${item}`,
      labels: [
        ['command', command!],
        ['version', version!],
      ],
    }),
  },
  {
    domain: 'http',
    pattern: /^(.*)\.(\d{3})$/,
    series: ([path, status]) => ({
      name: 'responses',
      labels: [
        ['path', path!],
        ['status', status!],
      ],
    }),
  },
  {
    domain: 'http',
    pattern: /^(.*)\.service-time$/,
    series: ([path]) => ({ name: 'service_time', labels: [['path', path!]] }),
  },
  // The path alone: of requests that never got a status.
  { domain: 'http', pattern: /^(\/.*)$/, series: ([path]) => ({ name: 'unanswered', labels: [['path', path!]] }) },
  {
    domain: 'database',
    pattern: /^(.*)\.pool\.(.+)$/,
    series: ([pool, item]) => ({ name: item!, labels: [['pool', pool!]] }),
  },
  {
    domain: 'dlo',
    pattern: /^([a-z_ ]+)\.(messages|filesize)$/,
    series: ([command, item]) => ({ name: item!, labels: [['command', command!]] }),
  },
  { domain: 'mq', pattern: /^global\.(.+)$/, series: ([item]) => ({ name: item!, labels: [] }) },
];

/** Figures that every exporter gives under these names. */
const processFamilies: readonly (readonly [
  name: string,
  type: Family['type'],
  read: (figures: ProcessFigures) => number,
])[] = [
  ['process_cpu_seconds_total', 'counter', (figures) => figures.processorTime().total / 1e9],
  ['process_start_time_seconds', 'gauge', (figures) => figures.startTimeMs() / 1000],
  ['process_resident_memory_bytes', 'gauge', (figures) => figures.resident()],
  ['process_heap_bytes', 'gauge', (figures) => figures.heap().used],
  ['process_open_fds', 'gauge', (figures) => figures.descriptors().used],
  ['process_max_fds', 'gauge', (figures) => figures.descriptors().max],
  ['process_threads', 'gauge', (figures) => figures.threads().count],
];

/** What a scrape tells beside the figures of PuppetDB and of the process. */
export interface ServerState {
  /** Muster's own version. */
  readonly version: string;
  readonly health: { readonly readable: boolean; readonly writable: boolean };
  /** Bytes that the data directory may still take; null: not known. */
  readonly freeBytes: number | null;
}

/** The whole exposition, one family after the other. */
export async function exposition(
  registry: MetricsRegistry,
  figures: ProcessFigures,
  state: ServerState,
): Promise<string> {
  const families = new Map<string, Family>();
  const tell = (name: string, labels: Labels, value: number): void =>
    void families.set(`${PREFIX}_${name}`, { type: 'gauge', lines: [line(`${PREFIX}_${name}`, labels, value)] });
  tell('info', [['version', state.version]], 1);
  tell('store_readable', [], Number(state.health.readable));
  tell('store_writable', [], Number(state.health.writable));
  if (state.freeBytes !== null) tell('data_free_bytes', [], state.freeBytes);
  for (const [name, type, read] of processFamilies) {
    const value = read(figures);
    if (value >= 0) families.set(name, { type, lines: [line(name, [], value)] });
  }
  for (const { domain, name, metric } of registry.entries()) {
    const { name: base, labels } = seriesOf(domain, name);
    await addSeries(families, `${PREFIX}_${snake(domain)}_${snake(base)}`, labels, metric);
  }
  families.set(STAGE_FAMILY, { type: 'histogram', lines: stageLines(registry.stages) });
  const parts: string[] = [];
  for (const [name, { type, lines }] of families) parts.push(`# TYPE ${name} ${type}\n`, helpLine(name), ...lines);
  return parts.join('');
}

function helpLine(name: string): string {
  const text = helpText(name);
  return text === undefined ? '' : `# HELP ${name} ${text}\n`;
}

const STAGE_FAMILY = `${PREFIX}_stage_seconds`;

/** Each bucket holds what is in the smaller ones too. */
function stageLines(stages: Stages): string[] {
  const lines: string[] = [];
  for (const name of stageNames) {
    const { counts, sum, count } = stages[name];
    const labels: Labels = [['stage', name]];
    let total = 0;
    for (let bucket = 0; bucket < stageBounds.length; bucket++) {
      total += counts[bucket]!;
      lines.push(line(`${STAGE_FAMILY}_bucket`, [...labels, ['le', String(stageBounds[bucket]! / 1000)]], total));
    }
    lines.push(line(`${STAGE_FAMILY}_bucket`, [...labels, ['le', '+Inf']], count));
    lines.push(line(`${STAGE_FAMILY}_sum`, labels, sum / 1000), line(`${STAGE_FAMILY}_count`, labels, count));
  }
  return lines;
}

function seriesOf(domain: string, name: string): Series {
  for (const row of labelled) {
    if (row.domain !== domain) continue;
    const match = row.pattern.exec(name);
    if (match !== null) return row.series(match.slice(1));
  }
  return { name, labels: [] };
}

async function addSeries(families: Map<string, Family>, name: string, labels: Labels, metric: Metric): Promise<void> {
  if (metric instanceof Meter) {
    const total = `${name}_total`;
    familyOf(families, total, 'counter')?.lines.push(line(total, labels, metric.count));
  } else if (metric instanceof Counter) {
    // Counters of the registry also go down (queue depth), so they are gauges here.
    familyOf(families, name, 'gauge')?.lines.push(line(name, labels, metric.count));
  } else if (metric instanceof Gauge) {
    const value = await gaugeValue(metric);
    if (value !== null) familyOf(families, name, 'gauge')?.lines.push(line(name, labels, value));
  } else if (metric instanceof Timer || metric instanceof Histogram) {
    const isTimer = metric instanceof Timer;
    const summary = isTimer ? `${name}_seconds` : name;
    const family = familyOf(families, summary, 'summary');
    if (family === undefined) return;
    const figures = metric.distribution(QUANTILES_AGE_MAX);
    for (const [quantile, key] of quantiles) {
      const value = figures.size === 0 ? Number.NaN : figures[key] / (isTimer ? 1000 : 1);
      family.lines.push(line(summary, [...labels, ['quantile', quantile]], value));
    }
    family.lines.push(line(`${summary}_sum`, labels, metric.sum / (isTimer ? 1000 : 1)));
    family.lines.push(line(`${summary}_count`, labels, metric.count));
  }
}

/** undefined: the name is another kind's already, and a family cannot be both. */
function familyOf(families: Map<string, Family>, name: string, type: Family['type']): Family | undefined {
  let family = families.get(name);
  if (family === undefined) families.set(name, (family = { type, lines: [] }));
  return family.type === type ? family : undefined;
}

/** null: not a number, or not to be had now. */
async function gaugeValue(gauge: Gauge): Promise<number | null> {
  try {
    const value = await gauge.value;
    if (typeof value === 'boolean') return value ? 1 : 0;
    return typeof value === 'number' ? value : null;
  } catch {
    return null;
  }
}

function line(name: string, labels: Labels, value: number): string {
  const shown = labels.map(([label, text]) => `${label}="${escapeLabel(text)}"`).join(',');
  return `${name}${shown === '' ? '' : `{${shown}}`} ${numberText(value)}\n`;
}

function numberText(value: number): string {
  if (Number.isNaN(value)) return 'NaN';
  if (Number.isFinite(value)) return String(value);
  return value > 0 ? '+Inf' : '-Inf';
}

const escapeLabel = (text: string): string =>
  text.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n');

/** `PendingConnections` and `queue-time` become `pending_connections` and `queue_time`. */
function snake(name: string): string {
  return name
    .replace(/([a-z0-9])([A-Z])/g, '$1_$2')
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '_')
    .replace(/^_+|_+$/g, '');
}
