// The settings: one row each. A row says where PuppetDB's files have the setting, how it is written, what it is when
// nothing is said, and what it means; the environment variable and the flag follow from its name. Everything else (the
// readers, the checks, `muster config`, the documentation) walks this table. Sections and names are PuppetDB's, so that
// an existing conf.d works; what PuppetDB does not know is in section `muster`.
//
// Written values are text with units; the derived `Settings` holds plain numbers: durations in milliseconds, sizes in
// bytes.

export type SettingType =
  /** Whole number and unit: `14d`, `6h`, `30m`, `45s`, `500ms`. Becomes milliseconds. */
  | 'duration'
  /** Number (fractions allowed) of minutes, seconds or milliseconds, as PuppetDB writes some. Becomes milliseconds. */
  | 'minutes'
  | 'seconds'
  | 'milliseconds'
  | 'integer'
  /** Whole number of bytes, with an optional unit: `64M`. */
  | 'bytes'
  | 'boolean'
  | 'text'
  | 'path'
  /** One of `choices`. */
  | 'choice'
  /** Comma-separated text, or a list where the file format has lists. */
  | 'list';

/** What the machine offers, for defaults that follow from it. */
export interface Machine {
  readonly cores: number;
}

/** Plain values by key, while defaults are being derived: everything above the row in the table is there already. */
type KnownSettings = Readonly<Record<string, string | number | boolean | readonly string[] | null>>;

export interface SettingRow {
  readonly section: string;
  readonly name: string;
  readonly type: SettingType;
  /** As a person would write it; null: no value, unless `derived` gives one. */
  readonly default: string | null;
  /** Default that follows from other settings or the machine. `text` says how, for people. */
  readonly derived?: {
    readonly text: string;
    readonly value: (known: KnownSettings, machine: Machine) => number | string | boolean;
  };
  readonly choices?: readonly string[];
  /** Bounds of the plain value (milliseconds, bytes), inclusive. */
  readonly min?: number;
  readonly max?: number;
  /** Flag and environment name where `name` alone would say too little: `http-port` for `[jetty] port`. */
  readonly flag?: string;
  /** Older spellings in the same section. Giving both is an error. */
  readonly formerly?: readonly string[];
  /** Further environment variables: the names that PuppetDB's container images use. */
  readonly environment?: readonly string[];
  /** A reload (SIGHUP) takes it over; the others take effect after a restart. */
  readonly reloaded?: boolean;
  readonly doc: string;
}

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
/** Largest time span taken: a hundred years. */
const SPAN_MAX = 36_500 * DAY;

function gcStep(what: string, suffix: string) {
  return {
    section: 'database',
    name: `gc-interval-${suffix}`,
    type: 'minutes',
    default: null,
    derived: { text: 'gc-interval', value: (known: KnownSettings) => Number(known['gcInterval']) },
    min: 0,
    max: SPAN_MAX,
    doc: `How often ${what}, in minutes. 0 switches it off.`,
  } as const;
}

export const settingRows = {
  // Where things are
  vardir: {
    section: 'global',
    name: 'vardir',
    type: 'path',
    default: null,
    doc: "PuppetDB's data directory. Muster keeps its own data in a folder `muster` inside it, unless data is set.",
  },
  data: {
    section: 'muster',
    name: 'data',
    type: 'path',
    default: null,
    derived: {
      text: 'VARDIR/muster, or ./muster-data without a vardir',
      value: (known) => (known['vardir'] === null ? 'muster-data' : `${known['vardir']}/muster`),
    },
    doc: 'The data directory. Created when missing; used by one process at a time.',
  },
  portFile: {
    section: 'muster',
    name: 'port-file',
    type: 'path',
    default: null,
    doc: 'File that gets the real HTTP port (and HTTPS port, second line) once the server is ready. For port 0.',
  },
  restartFile: {
    section: 'global',
    name: 'restart-file',
    type: 'path',
    default: null,
    doc: 'File with a counter that goes up after each successful start or reload, which service scripts wait for.',
  },
  productName: {
    section: 'global',
    name: 'product-name',
    type: 'choice',
    choices: ['puppetdb', 'pe-puppetdb'],
    default: 'puppetdb',
    doc: 'Which product is replaced. pe-puppetdb switches the enterprise edition on.',
  },

  // Listeners
  httpHost: {
    section: 'jetty',
    name: 'host',
    flag: 'http-host',
    type: 'text',
    default: 'localhost',
    doc: 'Address of the cleartext listener. Whoever can reach it may do everything: keep it on localhost.',
  },
  httpPort: {
    section: 'jetty',
    name: 'port',
    flag: 'http-port',
    type: 'integer',
    default: '8080',
    min: 0,
    max: 65_535,
    doc: 'Port of the cleartext listener. 0 takes any free one.',
  },
  http: {
    section: 'muster',
    name: 'http',
    type: 'boolean',
    default: 'true',
    doc: 'Whether there is a cleartext listener, or its HOST:PORT, which sets host and port.',
  },
  httpsHost: {
    section: 'jetty',
    name: 'ssl-host',
    flag: 'https-host',
    type: 'text',
    default: 'localhost',
    doc: 'Address of the HTTPS listener.',
  },
  httpsPort: {
    section: 'jetty',
    name: 'ssl-port',
    flag: 'https-port',
    type: 'integer',
    default: '8081',
    min: 0,
    max: 65_535,
    doc: 'Port of the HTTPS listener. There is one when ssl-cert, ssl-key and ssl-ca-cert are given. HOST:PORT in `--https` or `MUSTER_HTTPS` sets ssl-host, too.',
  },
  sslCert: {
    section: 'jetty',
    name: 'ssl-cert',
    type: 'path',
    default: null,
    reloaded: true,
    doc: "The server's certificate, PEM; may hold a chain.",
  },
  sslKey: {
    section: 'jetty',
    name: 'ssl-key',
    type: 'path',
    default: null,
    reloaded: true,
    doc: "The server's private key, unencrypted PEM.",
  },
  sslCaCert: {
    section: 'jetty',
    name: 'ssl-ca-cert',
    type: 'path',
    default: null,
    reloaded: true,
    doc: 'Certificates of the authorities whose clients are trusted, PEM.',
  },
  sslCertChain: {
    section: 'jetty',
    name: 'ssl-cert-chain',
    type: 'path',
    default: null,
    reloaded: true,
    doc: 'Intermediate certificates, PEM; replaces everything after the first certificate of ssl-cert.',
  },
  sslCrl: {
    section: 'jetty',
    name: 'ssl-crl-path',
    type: 'path',
    default: null,
    reloaded: true,
    doc: 'Certificate revocation lists, PEM, of every authority in the chain. Revoked clients are refused.',
  },
  clientAuth: {
    section: 'jetty',
    name: 'client-auth',
    type: 'choice',
    choices: ['need', 'want', 'none'],
    default: 'need',
    doc: 'Whether HTTPS clients need a certificate, may have one, or are not asked.',
  },
  sslProtocols: {
    section: 'jetty',
    name: 'ssl-protocols',
    type: 'list',
    default: 'TLSv1.3,TLSv1.2',
    reloaded: true,
    doc: 'TLS versions that are offered: TLSv1.2, TLSv1.3.',
  },
  cipherSuites: {
    section: 'jetty',
    name: 'cipher-suites',
    type: 'list',
    default: null,
    reloaded: true,
    doc: "Cipher suites that are offered, OpenSSL's or Java's names. Default: AES-GCM with forward secrecy.",
  },
  allowlist: {
    section: 'puppetdb',
    name: 'certificate-allowlist',
    formerly: ['certificate-whitelist'],
    type: 'path',
    default: null,
    reloaded: true,
    doc: 'File of certificate names, one a line, that may use /pdb over HTTPS. Default: all that the authority signed.',
  },
  allowedNames: {
    section: 'muster',
    name: 'allowed-names',
    type: 'list',
    default: '',
    reloaded: true,
    environment: ['OPENVOXDB_CERTIFICATE_ALLOWLIST', 'PUPPETDB_CERTIFICATE_ALLOWLIST'],
    doc: 'Certificate names that may use /pdb over HTTPS, beside those in the file certificate-allowlist.',
  },
  idleTimeout: {
    section: 'jetty',
    name: 'idle-timeout-milliseconds',
    flag: 'idle-timeout',
    type: 'milliseconds',
    default: '30000',
    min: 1000,
    max: DAY,
    doc: 'Milliseconds after which a connection between two requests is closed.',
  },
  headerMax: {
    section: 'jetty',
    name: 'request-header-max-size',
    type: 'bytes',
    default: '256K',
    min: 4096,
    max: 1_048_576,
    doc: 'Largest request line with headers. Long GET queries need room here.',
  },
  bodyMax: {
    section: 'jetty',
    name: 'request-body-max-size',
    type: 'bytes',
    default: '128M',
    min: 1024,
    max: 1_073_741_824,
    doc: 'Largest request body as sent (compressed or not), archives excepted. Larger ones get 413.',
  },
  decompressedMax: {
    section: 'muster',
    name: 'decompressed-max-size',
    type: 'bytes',
    default: '256M',
    min: 1024,
    max: 2_147_483_648,
    doc: 'Largest command once unpacked. Larger ones go to the dead letters.',
  },
  archiveMax: {
    section: 'muster',
    name: 'archive-max-size',
    type: 'bytes',
    default: '0',
    min: 0,
    max: 1_099_511_627_776,
    doc: 'Largest archive that is imported, as sent. Larger ones get 413. 0: any size, as none is held as a whole.',
  },
  gzip: {
    section: 'jetty',
    name: 'gzip-enable',
    type: 'boolean',
    default: 'true',
    doc: 'Whether answers are compressed for clients that ask for it.',
  },
  stopTimeout: {
    section: 'jetty',
    name: 'shutdown-timeout-seconds',
    flag: 'shutdown-timeout',
    type: 'seconds',
    default: '30',
    min: 0,
    max: HOUR,
    doc: 'Seconds that running requests get to finish when the server stops.',
  },
  stopDelay: {
    section: 'muster',
    name: 'stop-delay',
    type: 'duration',
    default: '0s',
    min: 0,
    max: HOUR,
    doc: 'How long a server that is told to stop goes on serving, with the status `stopping`, so that load balancers stop sending to it first.',
  },

  // Commands
  partitions: {
    section: 'muster',
    name: 'partitions',
    type: 'integer',
    default: null,
    derived: { text: 'the cores, at least 4', value: (_known, machine) => Math.min(256, Math.max(4, machine.cores)) },
    min: 1,
    max: 256,
    doc: 'Parts that nodes are divided into, fixed when the data directory is created. At least the cores that the machine may ever get.',
  },
  actorThreads: {
    section: 'command-processing',
    name: 'threads',
    flag: 'command-threads',
    type: 'integer',
    default: null,
    derived: { text: 'the cores', value: (_known, machine) => Math.min(256, machine.cores) },
    min: 1,
    max: 256,
    doc: 'Threads that apply commands. They give way to the others when there are not enough cores.',
  },
  commandPriority: {
    section: 'muster',
    name: 'command-priority',
    type: 'choice',
    choices: ['low', 'idle'],
    default: 'low',
    doc: 'Priority of the threads that apply commands. low: below queries and submissions. idle, on Linux: they run only when those, and other programs of the same control group, leave a processor free.',
  },
  rejectLargeCommands: {
    section: 'command-processing',
    name: 'reject-large-commands',
    type: 'boolean',
    default: 'false',
    doc: 'Whether commands whose declared length is above max-command-size get 413.',
  },
  commandMax: {
    section: 'command-processing',
    name: 'max-command-size',
    type: 'bytes',
    default: '64M',
    min: 1,
    max: 2_147_483_648,
    doc: 'Largest declared (X-Uncompressed-Length) size of a command, with reject-large-commands.',
  },
  verifyChecksum: {
    section: 'muster',
    name: 'verify-checksum',
    type: 'boolean',
    default: 'false',
    doc: 'Whether a checksum that comes with a command must be right. PuppetDB ignores it, and some clients send wrong ones.',
  },
  enqueuedMax: {
    section: 'developer',
    name: 'max-enqueued',
    type: 'integer',
    default: '200000',
    min: 1,
    max: 100_000_000,
    doc: 'Commands that may wait (half a kilobyte of memory each). Beyond it, submissions get 503 with `Retry-After`.',
  },

  // Memory
  mappedMemory: {
    section: 'muster',
    name: 'mapped-memory',
    type: 'bytes',
    default: '80M',
    min: 0,
    max: 1_099_511_627_776,
    doc: 'On Linux: mapped pages of the data that may always count as memory of the process. The system caches the others all the same. 0: no bound.',
  },
  residentMemory: {
    section: 'muster',
    name: 'resident-memory',
    type: 'bytes',
    default: '360M',
    min: 0,
    max: 1_099_511_627_776,
    doc: 'Memory that the process may take before it gives back mapped pages beyond `mapped-memory`.',
  },

  // Queries
  queryThreads: {
    section: 'muster',
    name: 'query-threads',
    type: 'integer',
    default: null,
    derived: { text: 'half the cores, at least 2', value: (_known, machine) => Math.max(2, machine.cores >> 1) },
    min: 1,
    max: 256,
    doc: 'Threads that answer queries.',
  },
  waitingQueriesMax: {
    section: 'muster',
    name: 'max-waiting-queries',
    type: 'integer',
    default: '1000',
    min: 0,
    max: 1_000_000,
    doc: 'Queries that may wait for a place (each query thread has 32; a query that waits for a slow client has none). Beyond it, queries get 503.',
  },
  queryTimeoutDefault: {
    section: 'puppetdb',
    name: 'query-timeout-default',
    type: 'seconds',
    default: '600',
    min: 0,
    max: SPAN_MAX,
    doc: 'Seconds that a query without a timeout of its own may take. 0: no limit.',
  },
  queryTimeoutMax: {
    section: 'puppetdb',
    name: 'query-timeout-max',
    type: 'seconds',
    default: '0',
    min: 0,
    max: SPAN_MAX,
    doc: 'Upper bound in seconds for the timeout that clients ask for. 0: no bound.',
  },
  addAgentReportFilter: {
    section: 'puppetdb',
    name: 'add-agent-report-filter',
    type: 'boolean',
    default: 'true',
    doc: 'Whether report queries see only agent reports unless they name a type.',
  },
  prettyPrint: {
    section: 'developer',
    name: 'pretty-print',
    type: 'boolean',
    default: 'false',
    doc: 'Whether query answers are indented unless the client says otherwise.',
  },
  edition: {
    section: 'muster',
    name: 'edition',
    type: 'choice',
    choices: ['community', 'enterprise'],
    default: null,
    derived: {
      text: 'enterprise when product-name is pe-puppetdb, else community',
      value: (known) => (known['productName'] === 'pe-puppetdb' ? 'enterprise' : 'community'),
    },
    doc: 'enterprise adds corrective changes, split event counts, resource graphs and the resources of reports.',
  },
  vocabulary: {
    section: 'muster',
    name: 'vocabulary',
    type: 'choice',
    choices: ['puppetdb', 'neutral'],
    default: 'puppetdb',
    doc: "Name of a report's version field: puppet_version, or cm_version with neutral.",
  },
  queryBodyMax: {
    section: 'muster',
    name: 'query-body-max-size',
    type: 'bytes',
    default: '16M',
    min: 1024,
    max: 1_073_741_824,
    doc: 'Largest body of a query. Larger ones get 413.',
  },
  queryDepthMax: {
    section: 'muster',
    name: 'query-depth-max',
    type: 'integer',
    default: '1000',
    min: 10,
    max: 10_000,
    doc: 'Deepest nesting of a query.',
  },
  regexBudget: {
    section: 'muster',
    name: 'regex-budget',
    type: 'duration',
    default: '30s',
    min: 1,
    max: SPAN_MAX,
    doc: 'Processor time that the regular expressions of one query may take together; more is refused with 400.',
  },

  // Retention
  nodeTtl: {
    section: 'database',
    name: 'node-ttl',
    type: 'duration',
    default: '7d',
    min: 0,
    max: SPAN_MAX,
    environment: ['PUPPETDB_NODE_TTL', 'OPENVOXDB_NODE_TTL'],
    doc: 'A node that sends nothing for this long expires. 0s: the server expires none by itself, but `muster clean` with `expire_nodes` (or without names) expires every node.',
  },
  nodePurgeTtl: {
    section: 'database',
    name: 'node-purge-ttl',
    type: 'duration',
    default: '14d',
    min: 0,
    max: SPAN_MAX,
    environment: ['PUPPETDB_NODE_PURGE_TTL', 'OPENVOXDB_NODE_PURGE_TTL'],
    doc: 'A node inactive for this long is deleted. 0s: never.',
  },
  nodePurgeBatch: {
    section: 'database',
    name: 'node-purge-gc-batch-limit',
    type: 'integer',
    default: '25',
    min: 0,
    max: 1_000_000_000,
    doc: 'Nodes deleted at most in one scheduled run. 0: no limit.',
  },
  reportTtl: {
    section: 'database',
    name: 'report-ttl',
    type: 'duration',
    default: '14d',
    min: 0,
    max: SPAN_MAX,
    environment: ['PUPPETDB_REPORT_TTL', 'OPENVOXDB_REPORT_TTL'],
    doc: 'Reports older than this are deleted, by whole UTC days, one day in each maintenance run; the latest of each node stays. 0s: all from before today.',
  },
  resourceEventsTtl: {
    section: 'database',
    name: 'resource-events-ttl',
    type: 'duration',
    default: null,
    derived: { text: 'report-ttl', value: (known) => Number(known['reportTtl']) },
    min: 0,
    max: SPAN_MAX,
    doc: 'Events older than this are not stored; stored ones are deleted as reports are. At most report-ttl. 0s: none are stored.',
  },
  gcInterval: {
    section: 'database',
    name: 'gc-interval',
    type: 'minutes',
    default: '60',
    min: 0,
    max: SPAN_MAX,
    doc: 'Minutes between maintenance runs. 0 switches scheduled maintenance off.',
  },
  gcIntervalExpireNodes: gcStep('idle nodes are expired', 'expire-nodes'),
  gcIntervalPurgeNodes: gcStep('long inactive nodes are deleted', 'purge-nodes'),
  gcIntervalPurgeReports: gcStep('old reports and events are deleted', 'purge-reports'),
  gcIntervalPackages: gcStep('packages that no node has are deleted', 'packages'),
  gcIntervalCatalogs: gcStep('data that no catalog uses are deleted', 'catalogs'),
  gcIntervalFactPaths: {
    section: 'database',
    name: 'gc-interval-fact-paths',
    type: 'minutes',
    default: null,
    derived: {
      text: 'a day, or gc-interval if that is longer; 0 if gc-interval is 0',
      value: (known) => (known['gcInterval'] === 0 ? 0 : Math.max(DAY, Number(known['gcInterval']))),
    },
    min: 0,
    max: SPAN_MAX,
    doc: 'How often fact paths that no node has are deleted, in minutes. 0 switches it off.',
  },
  factsBlocklist: {
    section: 'database',
    name: 'facts-blocklist',
    formerly: ['facts-blacklist'],
    type: 'list',
    default: '',
    doc: 'Top-level facts that are never stored.',
  },
  factsBlocklistType: {
    section: 'database',
    name: 'facts-blocklist-type',
    formerly: ['facts-blacklist-type'],
    type: 'choice',
    choices: ['literal', 'regex'],
    default: 'literal',
    doc: 'Whether facts-blocklist holds names or regular expressions, as Java writes them, that match whole names.',
  },

  // Metrics and status
  metrics: {
    section: 'metrics',
    name: 'metrics-webservice.jolokia.enabled',
    flag: 'metrics',
    type: 'boolean',
    default: 'true',
    doc: 'Whether /metrics/v2 is there.',
  },
  metricsV1: {
    section: 'metrics',
    name: 'metrics-webservice.mbeans.enabled',
    flag: 'metrics-v1',
    type: 'boolean',
    default: 'false',
    doc: 'Whether the old /metrics/v1/mbeans is there.',
  },
  statusLogInterval: {
    section: 'status',
    name: 'debug-logging.interval-minutes',
    flag: 'status-log-interval',
    type: 'minutes',
    default: null,
    // A hundredth of a minute: bounds are shown in the unit of the setting.
    min: 600,
    max: SPAN_MAX,
    doc: 'Minutes between log entries with the full status. Default: none.',
  },
  cpuInterval: {
    section: 'status',
    name: 'cpu-metrics-interval-seconds',
    flag: 'cpu-metrics-interval',
    type: 'seconds',
    default: '5',
    min: 100,
    max: DAY,
    doc: 'Seconds between samples of processor use for the status.',
  },

  // Logging
  logLevel: {
    section: 'muster',
    name: 'log-level',
    type: 'choice',
    choices: ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'],
    default: 'info',
    reloaded: true,
    doc: 'What is logged. Read again on SIGHUP.',
  },
  logLevels: {
    section: 'muster',
    name: 'log-levels',
    type: 'list',
    default: '',
    reloaded: true,
    doc: 'Levels of single areas: `http=debug,query=warn`. Areas: main http query command store maintenance tls.',
  },
  logFormat: {
    section: 'muster',
    name: 'log-format',
    type: 'choice',
    choices: ['auto', 'json', 'readable'],
    default: 'auto',
    doc: 'How log lines look. auto: readable on a terminal, JSON otherwise.',
  },
  logFile: {
    section: 'muster',
    name: 'log-file',
    type: 'path',
    default: null,
    doc: 'File for the log instead of standard error. Opened again on SIGHUP, for log rotation.',
  },
  accessLog: {
    section: 'muster',
    name: 'access-log',
    type: 'path',
    default: null,
    doc: "File for the access log in PuppetDB's line format. Opened again on SIGHUP.",
  },
  logQueries: {
    section: 'puppetdb',
    name: 'log-queries',
    type: 'boolean',
    default: 'false',
    doc: 'Whether every query is logged.',
  },
  slowQuery: {
    section: 'muster',
    name: 'slow-query',
    type: 'duration',
    default: '5s',
    min: 0,
    max: SPAN_MAX,
    doc: 'Queries that take longer are logged. 0s: none.',
  },
} as const satisfies Record<string, SettingRow>;

export type SettingKey = keyof typeof settingRows;

/** The table as a list, in its order. */
export const settingEntries = Object.entries(settingRows) as readonly (readonly [SettingKey, SettingRow])[];

type PlainOf<R extends SettingRow> = R['type'] extends 'boolean'
  ? boolean
  : R['type'] extends 'list'
    ? readonly string[]
    : R['type'] extends 'choice'
      ? R extends { readonly choices: readonly (infer C)[] }
        ? C
        : never
      : R['type'] extends 'text' | 'path'
        ? string
        : number;

type ValueOf<R extends SettingRow> = R['default'] extends string
  ? PlainOf<R>
  : R extends { readonly derived: object }
    ? PlainOf<R>
    : PlainOf<R> | null;

/** The effective settings: frozen, durations in milliseconds, sizes in bytes. Absent lists and paths are null. */
export type Settings = { readonly [K in SettingKey]: ValueOf<(typeof settingRows)[K]> };

/** Flag without dashes in front: `node-ttl`. */
export function flagOf(row: SettingRow): string {
  return row.flag ?? row.name;
}

/** Environment variable: `MUSTER_NODE_TTL`. */
export function environmentOf(row: SettingRow): string {
  return `MUSTER_${flagOf(row).toUpperCase().replaceAll('-', '_')}`;
}
