// What PuppetDB's configuration files may have beside the settings that are read (config.ts): names that are taken and change
// nothing, or that PuppetDB does not start with either, and sections by other names.

export type IgnoredReason =
  /** Concerns the database server that Muster does not need. */
  | 'database'
  /** Set up once for all, as there is one store. */
  | 'one store'
  /** Concerns the Java runtime or its web server. */
  | 'runtime'
  /** PuppetDB itself retired it. */
  | 'retired'
  /** PuppetDB does not start with it, nor does Muster. */
  | 'refused'
  /** Written by Puppet's own modules; not worth a line in the log. */
  | 'silent'
  /** A policy file of the library that serves PuppetDB's metrics. The rules of auth.conf say who may read metrics. */
  | 'policy'
  /** Not offered here. */
  | 'absent';

const database = [
  'subname, username, user, password, migrator-username, migrator-password, connection-username',
  'connection-migrator-username, migrate, maximum-pool-size, conn-max-age, conn-lifetime, connection-timeout',
  'schema-check-interval, read-only?, partition-conn-min, partition-conn-max, partition-count, stats',
  'log-statements, syntax_pgs',
].join(', ');
const retiredDatabase = 'classname, conn-keep-alive, log-slow-statements, statements-cache-size, subprotocol';

/**
 * Settings of PuppetDB that change nothing, by section. All but those that are refused are taken. Names are comma-separated; `*`
 * is all of them.
 */
export const ignoredSettings: readonly (readonly [section: string, names: string, reason: IgnoredReason])[] = [
  ['global', 'logging-config', 'runtime'],
  ['global', 'update-server', 'silent'],
  ['global', 'catalog-hash-conflict-debugging', 'retired'],
  ['global', 'url-prefix', 'refused'],
  ['puppetdb', 'disable-update-checking', 'silent'],
  ['database', retiredDatabase, 'retired'],
  ['database', database, 'database'],
  ['read-database', retiredDatabase, 'retired'],
  ['read-database', database, 'database'],
  ['read-database', '*', 'one store'],
  ['command-processing', 'max-frame-size, memory-usage, store-usage, temp-usage', 'retired'],
  ['command-processing', 'concurrent-writes', 'runtime'],
  [
    'jetty',
    'max-threads, acceptor-threads, selector-threads, queue-max-size, jmx-enable, allow-renegotiation, sni-required',
    'runtime',
  ],
  ['jetty', 'keystore, truststore, key-password, trust-password, access-log-config, request-logging', 'runtime'],
  ['jetty', 'so-linger-seconds, follow-links, post-config-script', 'runtime'],
  ['metrics', 'metrics-webservice.jolokia.servlet-init-params.policyLocation', 'policy'],
  [
    'metrics',
    'reporters.jmx.enabled, server-id, registries, metrics-webservice.jolokia.servlet-init-params',
    'runtime',
  ],
  ['status', 'debug-logging', 'runtime'],
  ['nrepl', '*', 'absent'],
  ['repl', '*', 'absent'],
  ['sync', '*', 'absent'],
  ['web-router-service', '*', 'absent'],
];

/** Sections whose keys are read as another section's: OpenVoxDB 9 names the web server's section `webserver`. */
export const sectionAliases: ReadonlyMap<string, string> = new Map([['webserver', 'jetty']]);
