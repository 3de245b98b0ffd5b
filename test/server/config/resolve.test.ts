// From files, environment and flags to settings: precedence, units, problems and notices.

import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, describe, test } from 'node:test';
import {
  environmentOf,
  flagOf,
  type SettingKey,
  type SettingRow,
  settingEntries,
  settingRows,
} from '../../../schemas/config.ts';
import { allowlistOf, readNames } from '../../../server/access/allowlist.ts';
import { readConfigFiles } from '../../../server/config/files.ts';
import { ConfigurationInvalid, type LoadOptions, loadConfiguration } from '../../../server/config/load.ts';
import { resolveSettings } from '../../../server/config/resolve.ts';
import { sourceText } from '../../../server/config/sources.ts';
import { parseSetting, printSetting, ValueRefused } from '../../../server/config/values.ts';

const folder = mkdtempSync(join(tmpdir(), 'muster-config-'));
after(() => rmSync(folder, { recursive: true }));

/** Writes files below a folder of their own and returns it. */
function files(name: string, contents: Record<string, string>): string {
  for (const [file, text] of Object.entries(contents)) {
    const path = join(folder, name, file);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, text);
  }
  return join(folder, name);
}

const load = (options: Partial<LoadOptions>) =>
  loadConfiguration({ config: null, flags: {}, environment: {}, ...options });

function problemsOf(options: Partial<LoadOptions>): string[] {
  try {
    load(options);
  } catch (error) {
    assert.ok(error instanceof ConfigurationInvalid, String(error));
    return error.problems.map(({ where, message }) => `${where.replace(`${folder}/`, '')}: ${message}`);
  }
  return [];
}

const rows: readonly (readonly [SettingKey, SettingRow])[] = settingEntries;

describe('the table of settings', () => {
  test('flags and variables are unique, and every row explains itself', () => {
    const flags = rows.map(([, row]) => flagOf(row));
    assert.equal(new Set(flags).size, flags.length);
    assert.equal(new Set(rows.map(([, row]) => environmentOf(row))).size, rows.length);
    const places = rows.map(([, row]) => `${row.section}/${row.name}`);
    assert.equal(new Set(places).size, places.length);
    for (const [key, row] of rows) {
      assert.match(row.doc, /\.$/, key);
      assert.match(flagOf(row), /^[a-z][a-z0-9-]*$/, key);
    }
  });

  test('every default is valid and prints as something that reads back the same', () => {
    for (const [key, row] of rows) {
      if (row.default === null) continue;
      const value = parseSetting(row, row.default, false);
      assert.deepEqual(parseSetting(row, printSetting(row, value), false), value, key);
    }
  });
});

describe('values', () => {
  test('units become milliseconds and bytes', () => {
    const { settings } = load({
      flags: {
        'node-ttl': '90m',
        'node-purge-ttl': '0s',
        'report-ttl': '1500ms',
        'gc-interval': '1.5',
        'query-timeout-default': '0.25',
        'max-command-size': '10M',
        'idle-timeout': '5000',
      },
    });
    assert.equal(settings.nodeTtl, 5_400_000);
    assert.equal(settings.nodePurgeTtl, 0);
    assert.equal(settings.reportTtl, 1500);
    assert.equal(settings.gcInterval, 90_000);
    assert.equal(settings.queryTimeoutDefault, 250);
    assert.equal(settings.commandMax, 10_485_760);
    assert.equal(settings.idleTimeout, 5000);
    // So little that it is rounded to nothing is not taken for none.
    assert.equal(load({ flags: { 'query-timeout-default': '0.0001' } }).settings.queryTimeoutDefault, 1);
    assert.equal(load({ flags: { 'query-timeout-default': '0' } }).settings.queryTimeoutDefault, 0);
  });

  test('what PuppetDB reads in other spellings', () => {
    const spelled =
      '[global]\nproduct-name = PE-PuppetDB\n[database]\nnode-ttl = 2D\nnode-purge-ttl = 90M\nreport-ttl = 1500MS\n' +
      'gc-interval = .5\n[puppetdb]\nquery-timeout-max = .25\n';
    const { settings } = load({ config: files('spelled', { 'a.ini': spelled }) });
    assert.deepEqual([settings.productName, settings.edition], ['pe-puppetdb', 'enterprise']);
    assert.deepEqual([settings.nodeTtl, settings.nodePurgeTtl, settings.reportTtl], [172_800_000, 5_400_000, 1500]);
    assert.deepEqual([settings.gcInterval, settings.queryTimeoutMax], [30_000, 250]);
  });

  test('sizes have units, and print in the largest that leaves no fraction', () => {
    const row = settingRows.commandMax;
    for (const [raw, bytes, printed] of [
      ['1536', 1536, '1536'],
      ['2k', 2048, '2K'],
      ['64MiB', 67_108_864, '64M'],
      ['64 mb', 67_108_864, '64M'],
      ['1g', 1_073_741_824, '1G'],
      ['1025M', 1_074_790_400, '1025M'],
    ] as const) {
      assert.equal(parseSetting(row, raw, false), bytes, raw);
      assert.equal(printSetting(row, bytes), printed);
    }
    for (const raw of ['64X', '1.5M', '-1', 'M'])
      assert.throws(() => parseSetting(row, raw, false), /is not a size/, raw);
  });

  test('the bounds of a setting belong to what it takes, what is beyond does not', () => {
    for (const [key, row] of rows) {
      for (const [bound, beyond] of [
        [row.min, -1],
        [row.max, 1],
      ] as const) {
        if (bound === undefined) continue;
        assert.equal(parseSetting(row, printSetting(row, bound), false), bound, key);
        const wrong = printSetting(row, bound + beyond);
        assert.throws(() => parseSetting(row, wrong, false), ValueRefused, `${key} ${wrong}`);
      }
    }
  });

  test('what is no value of the type is refused', () => {
    const refused: [SettingKey, string | string[], RegExp][] = [
      ['gcInterval', '5x', /is not a number of minutes/],
      ['gcInterval', '5.', /is not a number of minutes/],
      ['httpPort', '1e3', /is not a whole number/],
      ['nodePurgeBatch', '1234567890123456', /is not a whole number/],
      ['httpHost', ' ', /the value is empty/],
      ['httpHost', ['a'], /a list is given where one value is needed/],
      ['logLevel', 'loud', /is none of/],
    ];
    for (const [key, raw, message] of refused) {
      assert.throws(() => parseSetting(settingRows[key], raw, false), message, `${key} ${raw}`);
    }
  });

  test('defaults that follow from other settings', () => {
    const { settings } = load({ flags: { 'report-ttl': '3d', 'gc-interval': '120' } });
    assert.equal(settings.resourceEventsTtl, settings.reportTtl);
    assert.equal(settings.gcIntervalPackages, 7_200_000);
    assert.equal(settings.gcIntervalFactPaths, 86_400_000);
    assert.equal(load({ flags: { 'gc-interval': '0' } }).settings.gcIntervalFactPaths, 0);
    assert.equal(load({ flags: { 'product-name': 'pe-puppetdb' } }).settings.edition, 'enterprise');
  });

  test('the settings cannot be changed', () => {
    const { settings } = load({});
    assert.throws(() => Object.assign(settings, { nodeTtl: 1 }), TypeError);
  });
});

describe('precedence', () => {
  const config = files('precedence', { 'database.ini': '[database]\nnode-ttl = 1d\nreport-ttl = 2d\ngc-interval = 7' });

  test('flag before environment before file before default, with the place of each', () => {
    const { settings, sources } = load({
      config,
      environment: { MUSTER_NODE_TTL: '3d', MUSTER_REPORT_TTL: '4d', OPENVOXDB_NODE_PURGE_TTL: '9d' },
      flags: { 'node-ttl': '5d' },
    });
    const day = 86_400_000;
    assert.deepEqual(
      [settings.nodeTtl, settings.reportTtl, settings.nodePurgeTtl, settings.gcInterval, settings.nodePurgeBatch],
      [5 * day, 4 * day, 9 * day, 420_000, 25],
    );
    assert.equal(sourceText(sources.nodeTtl), '--node-ttl');
    assert.equal(sourceText(sources.reportTtl), '$MUSTER_REPORT_TTL');
    assert.equal(sourceText(sources.nodePurgeTtl), '$OPENVOXDB_NODE_PURGE_TTL');
    assert.equal(sourceText(sources.gcInterval), `${config}/database.ini:4`);
    assert.equal(sourceText(sources.nodePurgeBatch), 'default');
  });

  test('an empty variable counts as not set', () => {
    assert.equal(
      sourceText(load({ config, environment: { MUSTER_NODE_TTL: '' } }).sources.nodeTtl).slice(-14),
      'database.ini:2',
    );
  });

  test('--http takes an address, a port or off', () => {
    const of = (http: string) => load({ flags: { http, 'ssl-cert': '' } }).settings;
    const address = (http: string) => {
      const { settings } = load({ flags: { http } });
      return [settings.http, settings.httpHost, settings.httpPort];
    };
    assert.throws(() => of('off'), ConfigurationInvalid);
    assert.deepEqual(address('127.0.0.1:0'), [true, '127.0.0.1', 0]);
    assert.deepEqual(address('[::1]:80'), [true, '::1', 80]);
    assert.deepEqual(address(':8090'), [true, '0.0.0.0', 8090]);
    assert.deepEqual(address('8090'), [true, 'localhost', 8090]);
    assert.deepEqual(load({ environment: { MUSTER_HTTP: '127.0.0.1:99' } }).settings.httpPort, 99);
    assert.match(problemsOf({ flags: { http: 'localhost' } })[0]!, /neither HOST:PORT nor off/);
  });
});

describe('an existing PuppetDB configuration', () => {
  const config = files('conf.d', {
    'config.ini': `[global]\nvardir = ${folder}\nlogging-config = /etc/puppetdb/logback.xml\n\n[command-processing]\nthreads = 3\nmemory-usage = 1\n`,
    'database.ini':
      '[database]\nsubname = //localhost:5432/puppetdb\nusername = puppetdb\npassword = geheim\nnode-purge-ttl = 30d\n' +
      'classname = org.postgresql.Driver\nmaximum-pool-size = 10\nfacts-blocklist = one, two\n[read-database]\nsubname = x\n',
    'jetty.ini': '[jetty]\nport = 8080\nmax-threads = 50\n',
    'puppetdb.ini': '[puppetdb]\ndisable-update-checking = true\nlog-queries = TRUE\n',
    'repl.ini': '[nrepl]\nenabled = false\nport = 8082\n',
    'metrics.conf': 'metrics: { metrics-webservice: { jolokia: { enabled: false } }, reporters.jmx.enabled: true }\n',
    'auth.conf':
      'authorization: { version: 1, rules: [ { match-request: { path: "/metrics", type: path, method: [get, post] }, ' +
      'allow: "*", sort-order: 500, name: "metrics" } ] }\n',
    'README.txt': 'not read',
    'sub/more.ini': '[database]\nnode-ttl = nonsense\n',
  });

  test('is read as it is', () => {
    const { settings, rules } = load({ config });
    assert.equal(settings.data, `${folder}/muster`);
    assert.equal(settings.actorThreads, 3);
    assert.deepEqual(settings.factsBlocklist, ['one', 'two']);
    assert.equal(settings.logQueries, true);
    assert.equal(settings.metrics, false);
    assert.equal(settings.httpPort, 8080);
    assert.equal(rules?.rules.length, 1);
  });

  test('what makes no sense here is named, secrets are not shown', () => {
    const messages = load({ config }).notices.map(({ message }) => message);
    assert.ok(messages.includes('The [database] classname config option has been retired and will be ignored.'));
    assert.ok(
      messages.includes('The [command-processing] memory-usage config option has been retired and will be ignored.'),
    );
    const database = messages.find((message) => message.includes('database server'));
    assert.match(database ?? '', /\[database\] subname.*\[database\] password.*\[read-database\] subname/);
    assert.ok(!messages.some((message) => message.includes('geheim') || message.includes('disable-update')));
  });

  test('what is said of a second database alone is told as that', () => {
    const config = files('reading', { 'a.ini': '[read-database]\nusername = x\nnode-purge-ttl = 1d\n' });
    const { notices, settings } = load({ config });
    assert.deepEqual(
      notices.map(({ message }) => message),
      [
        'ignored, as there is no database server to set up: [read-database] username',
        'ignored, as there is one store here, and what is said of it below [database] counts: [read-database] node-purge-ttl',
      ],
    );
    assert.equal(settings.nodePurgeTtl, 14 * 86_400_000);
  });

  test('what the original does not start with is a problem', () => {
    const config = files('prefix', { 'config.ini': '[global]\nurl-prefix = /x\n' });
    assert.match(problemsOf({ config }).join(), /prefix\/config\.ini:2: \[global\] url-prefix: this was removed/);
  });

  test('a policy for metrics is not read, and that is a warning', () => {
    const policy = 'servlet-init-params: { policyLocation: "file:///etc/policy.xml", debug: true }';
    const text = `metrics: { metrics-webservice: { jolokia: { enabled: true, ${policy} } } }\n`;
    const { notices } = load({ config: files('policy', { 'metrics.conf': text }) });
    const found = notices.filter(({ message }) => message.includes('servlet-init-params'));
    assert.deepEqual(
      found.map(({ level, message }) => [level, message.replace(/.*: /, '')]),
      [
        ['warn', '[metrics] metrics-webservice.jolokia.servlet-init-params.policyLocation'],
        ['info', '[metrics] metrics-webservice.jolokia.servlet-init-params.debug'],
      ],
    );
  });

  test('the database file of a PuppetDB container reads its environment', () => {
    const database =
      'database: {\n  subname: "//"@{DB_HOST}":5432/puppetdb"\n  password: @{DB_PASSWORD}\n  node-ttl: @{NODE_TTL}\n}\n'.replaceAll(
        '@{',
        '$' + '{',
      );
    const config = files('container', { 'database.conf': database });
    const environment = { DB_HOST: 'postgres', DB_PASSWORD: 'secret', NODE_TTL: '3d' };
    const { settings, sources } = load({ config, environment });
    assert.equal(settings.nodeTtl, 3 * 86_400_000);
    assert.match(sourceText(sources.nodeTtl), /database\.conf:4$/);
    assert.throws(() => load({ config, environment: { DB_HOST: 'x', DB_PASSWORD: 'y' } }), {
      message: /database\.conf:4: \$\{NODE_TTL\} is set neither in this file nor in the environment/,
    });
  });

  test('in files only `true` is true, and what else is not `false` is told; settings of our own are strict', () => {
    const config = files('boolean', {
      'a.ini': '[puppetdb]\nlog-queries = on\n[jetty]\ngzip-enable = FALSE\nclient-auth = want\n',
    });
    const { settings, notices } = load({ config });
    assert.equal(settings.logQueries, false);
    assert.deepEqual(
      notices.map(({ message }) => message.replace(`${folder}/`, '')),
      ['boolean/a.ini:2: [puppetdb] log-queries: "on" is not `true`, and so is taken for `false`'],
    );
    const own = files('own', { 'a.ini': '[muster]\nverify-checksum = yes\n' });
    assert.deepEqual(problemsOf({ config: own }), [
      'own/a.ini:2: [muster] verify-checksum: "yes" is neither true nor false',
    ]);
  });

  test('a number alone is no address but as a flag', () => {
    for (const value of ['0', '1']) {
      const config = files(`h${value}`, { 'a.ini': `[muster]\nhttp = ${value}\n` });
      const text = `http: "${value}" is none of true, false and HOST:PORT`;
      assert.deepEqual(problemsOf({ config }), [`h${value}/a.ini:2: ${text}`]);
      assert.deepEqual(problemsOf({ environment: { MUSTER_HTTP: value } }), [`$MUSTER_HTTP: ${text}`]);
    }
    assert.equal(load({ flags: { http: '0' } }).settings.httpPort, 0);
  });

  test('patterns of blocked facts are those that the engine takes', () => {
    const of = (pattern: string) =>
      problemsOf({ flags: { 'facts-blocklist': pattern, 'facts-blocklist-type': 'regex' } });
    for (const pattern of ['(?i)secret.*', '(?!keep)secret\\-.*', '\\p{Alpha}+'])
      assert.deepEqual(of(pattern), [], pattern);
    assert.match(of('(')[0]!, /^--facts-blocklist: Unable to parse facts-blocklist patterns: /);
  });

  test('of a folder its own files are read, not those of folders in it', () => {
    const config = files('nested', {
      'a.ini': '[database]\nnode-ttl = 1d',
      'old.ini/b.ini': '[database]\nnode-ttl = 2d',
    });
    assert.equal(load({ config }).settings.nodeTtl, 86_400_000);
  });

  test('a file that is no configuration by its size is not read', () => {
    const config = join(files('large', { 'a.ini': '' }), 'a.ini');
    truncateSync(config, 16_777_217);
    assert.deepEqual(problemsOf({ config }), [
      'large/a.ini: cannot be read: it has 16777217 bytes; at most 16777216 are read',
    ]);
  });

  test('of a folder hidden files are not read, and formats that are not read here are refused', () => {
    const config = files('folder', { 'a.ini': '[jetty]\nport = 1\n', '.a.ini': '[jetty]\nport = 2\n', '.#b.ini': 'x' });
    assert.equal(load({ config }).settings.httpPort, 1);
    const yaml = files('yaml', { 'a.ini': '[jetty]\nport = 1\n', 'b.yaml': 'jetty:\n  port: 2\n' });
    assert.match(problemsOf({ config: yaml })[0]!, /^yaml\/b\.yaml: the format `\.yaml` is not read/);
  });

  test('files that set up HTTPS only get no cleartext listener, flags that do leave it on', () => {
    const https = files('https', { 'jetty.ini': '[jetty]\nssl-port = 8081\n' });
    const of = (config: string | null, flags: Record<string, string>) => {
      const tree = config === null ? null : readConfigFiles(config, {}).tree;
      return resolveSettings({ tree, environment: {}, flags, machine: { cores: 2 } }).settings.http;
    };
    assert.equal(of(https, {}), false);
    assert.equal(
      of(files('certs', { 'jetty.ini': '[jetty]\nssl-cert = c\nssl-key = k\nssl-ca-cert = a\n' }), {}),
      false,
    );
    assert.equal(of(https, { 'http-port': '8080' }), true);
    assert.equal(of(null, { 'https-port': '8081' }), true);
  });

  test('a section for one of several databases goes before [database]', () => {
    const several = files('several', {
      'a.ini': '[database]\nnode-ttl = 1d\nreport-ttl = 2d\n[database-one]\nnode-ttl = 3d\nsubname = x\n',
    });
    const { settings } = load({ config: several });
    assert.deepEqual([settings.nodeTtl, settings.reportTtl], [259_200_000, 172_800_000]);
  });

  test('the section [webserver] is read as [jetty]', () => {
    const config = files('webserver', { 'a.conf': 'webserver { host: 127.0.0.1, port: 81 }' });
    assert.equal(load({ config }).settings.httpPort, 81);
  });

  test('what [webserver] and [jetty] both say is refused', () => {
    const config = files('both', { 'a.ini': '[webserver]\nhost = a\nport = 1\n', 'b.ini': '[jetty]\nport = 2\n' });
    assert.deepEqual(problemsOf({ config }), [
      `both/b.ini:2: [jetty] port: [webserver] has it, too, which is the same section`,
    ]);
  });

  test('files for scripts must not be directories', () => {
    files('folder-for-a-file', { x: '' });
    const dir = join(folder, 'folder-for-a-file');
    for (const name of ['restart-file', 'port-file'])
      assert.deepEqual(problemsOf({ flags: { [name]: dir } }), [`--${name}: ${name}: ${dir} is a directory`]);
    assert.deepEqual(problemsOf({ flags: { 'restart-file': '/dev/null' } }), []);
  });
});

describe('problems', () => {
  test('are told all at once, each with its place', () => {
    const config = files('bad', {
      'a.ini': '[database]\nnode-ttl = 14\nreport-ttl = 1d\nresource-events-ttl = 2d\ngc-interval = -1\n',
      'b.ini': '[database]\nreport-ttl = 3d\n[jetty]\nport = eighty\nssl-cert = /nowhere/cert.pem\n',
      'c.conf': 'a = {',
      'd.conf': 'authorization: { version: 1, rules: [ { name: x, sort-order: 0, match-request: {} } ] }',
    });
    const problems = problemsOf({
      config,
      environment: { MUSTER_NODE_PURGE_TTL: 'ever' },
      flags: { 'log-levels': 'htp=debug', 'client-auth': 'maybe' },
    });
    const expected = [
      /^bad\/b\.ini:2: Duplicate configuration entry: \[:database :report-ttl\]/,
      /^bad\/c\.conf:1: the text ends before `}`/,
      /^bad\/b\.ini:4: \[jetty\] port: "eighty" is not a whole number/,
      /^--client-auth: client-auth: "maybe" is none of need, want, none/,
      /^bad\/a\.ini:2: \[database\] node-ttl: "14" is not a time span/,
      /^\$MUSTER_NODE_PURGE_TTL: node-purge-ttl: "ever" is not a time span/,
      /^bad\/a\.ini:5: \[database\] gc-interval: "-1" is out of range; valid is 0 to \d+ minutes/,
      /^bad\/d\.conf:1: authorization: rule 'x': sort-order/,
      /^bad\/a\.ini:4: The "database" resource-events-ttl must not be longer than report-ttl/,
      /^bad\/b\.ini:5: HTTPS needs ssl-cert, ssl-key and ssl-ca-cert; ssl-key and ssl-ca-cert are missing/,
      /^bad\/b\.ini:5: ssl-cert: \/nowhere\/cert\.pem cannot be read/,
      /^--log-levels: log-levels: "htp" is none of .*; did you mean `http`\?/,
    ];
    for (const pattern of expected) {
      assert.ok(
        problems.some((problem) => pattern.test(problem)),
        `${pattern} is missing in\n${problems.join('\n')}`,
      );
    }
    assert.equal(problems.length, expected.length, problems.join('\n'));
  });

  test('are told with the names that were written, and what would be right', () => {
    const config = files('named', {
      'a.ini': '[database-y]\nnode-ttl = 14\n[jetty]\nssl-protocols = TLSv1, TLSv1.4\n',
    });
    const problems = problemsOf({ config, flags: { 'log-levels': 'htp=debug,query=loud,main=warn' } });
    const expected = [
      /^named\/a\.ini:2: \[database-y\] node-ttl: "14" is not a time span/,
      /^named\/a\.ini:4: ssl-protocols: "TLSv1\.4" is none of TLSv1\.2, TLSv1\.3/,
      /^--log-levels: log-levels: "htp" is none of/,
      /^--log-levels: log-levels: "query=loud" needs a level/,
    ];
    for (const pattern of expected)
      assert.ok(
        problems.some((problem) => pattern.test(problem)),
        problems.join('\n'),
      );
    assert.equal(problems.length, expected.length, problems.join('\n'));
  });

  test('notices name the sections as they were written, and where a setting belongs', () => {
    const config = files('noticed', {
      'a.ini': '[database]\nsubname = x\n[database-y]\nsubname = x\n[muster]\nlog-queries = true\n',
    });
    const messages = load({ config }).notices.map(({ message }) => message);
    assert.ok(
      messages.some((text) => text.includes('[database-y] subname, [database] subname')),
      messages.join('\n'),
    );
    assert.ok(messages.some((text) => /`:log-queries` .*: \[muster\]; it belongs below \[puppetdb\]\)/.test(text)));
  });

  test('a list of facts that are taken literally, and may not be meant so, is told of', () => {
    const notices = (lines: string) =>
      load({ config: files('literal', { 'a.ini': `[database]\n${lines}\n` }) }).notices.map(({ message }) => message);
    for (const [line, names] of [
      ['facts-blocklist = ["a", "b"]', '`["a"`, `"b"]`'],
      ['facts-blocklist = secret.*, ^pw, plain', '`secret.*`, `^pw`'],
    ] as const) {
      const [message, ...others] = notices(line);
      assert.ok(message?.startsWith(`facts-blocklist: ${names}: taken literally; `), message);
      assert.deepEqual(others, []);
    }
    assert.deepEqual(notices('facts-blocklist = a, b_c, os.release, x-y, z::w, é, /etc'), []);
    assert.deepEqual(notices('facts-blocklist = secret.*\nfacts-blocklist-type = regex'), []);
  });

  test('a cleartext listener that others can reach is told of', () => {
    const isTold = (host: string): boolean =>
      load({ flags: { 'http-host': host } }).notices.some(({ message }) =>
        message.startsWith(`http: ${host} is reached from other machines`),
      );
    for (const host of ['localhost', '127.0.0.1', '127.1.2.3', '::1']) assert.equal(isTold(host), false, host);
    for (const host of ['0.0.0.0', '::', '::1:2', 'localhost.example.com', '10.127.0.1'])
      assert.equal(isTold(host), true, host);
  });

  test('what is no file is not read', () => {
    assert.deepEqual(problemsOf({ flags: { 'certificate-allowlist': '/dev/null' } }), [
      '--certificate-allowlist: certificate-allowlist: /dev/null cannot be read: it is no regular file',
    ]);
  });

  test('old and new spelling together are refused', () => {
    const list = files('lists', { names: 'a' });
    const config = files('both', {
      'a.ini': `[puppetdb]\ncertificate-whitelist = ${list}/names\ncertificate-allowlist = ${list}/names\n`,
    });
    assert.deepEqual(problemsOf({ config }), [
      'both/a.ini:2: Configuration specifies both the obsolete certificate-whitelist and its replacement ' +
        'certificate-allowlist.  Please remove the former.',
    ]);
  });

  test('a line of the allowlist that would match nobody is refused, with its number', () => {
    const of = (text: string) =>
      problemsOf({ flags: { 'certificate-allowlist': join(files('allow', { list: text }), 'list') } });
    const list = join(folder, 'allow/list');
    assert.deepEqual(
      of(
        "\ufeff# ours\r\n\r\n  a.example.com \t# the first\r\nb_2\r\n#c\r\nSome Client #1\r\nd#e\r\nAcme, Inc.\r\nO'Brien\r\nhost/n1.example.com",
      ),
      [],
    );
    assert.deepEqual(
      [...readNames(list)],
      ['a.example.com', 'b_2', 'Some Client', 'd#e', 'Acme, Inc.', "O'Brien", 'host/n1.example.com'],
    );
    assert.deepEqual(of(''), []);
    assert.deepEqual(of('a\nb,\n'), [
      `--certificate-allowlist: certificate-allowlist: ${list}:2: "b," is no certificate name; each line has one name, ` +
        'without quotes, and no pattern',
    ]);
    const lists = ['a.b, c.d', 'a.b;c.d', 'a.b c.d', 'compile-1.example.com,n_1.example.com, x'].concat([
      'compile1, puppetboard',
      'a b',
      'a,b',
      'a;b',
      'a\tb',
      'n1.example.com n2',
      ', a',
    ]);
    for (const line of ['a,', '"a"', "'a'", '*.example.com', '/a/', 'a\x00', 'a;', 'web*', ...lists]) {
      assert.match(of(`${line}\n`)[0]!, /list:1: ".*" is no certificate name; /, line);
    }
    assert.match(of('a;\nc\nd;\n'.repeat(2))[0]!, /:1: "a;" is no certificate name \(nor are 3 more lines\)/);
    assert.doesNotMatch(of(`${'x*.y'.repeat(1000)}\u001b[2J`)[0]!, /[\s\S]{300}|\p{C}/u);
  });

  test('names of certificates come by themselves, too, and by the variable of container images', () => {
    const list = join(files('allow', { list: 'a\n' }), 'list');
    const {
      settings: { allowedNames },
    } = load({ environment: { OPENVOXDB_CERTIFICATE_ALLOWLIST: 'b.example.com, c' } });
    assert.deepEqual(allowedNames, ['b.example.com', 'c']);
    assert.deepEqual([...allowlistOf({ allowlist: list, allowedNames })!.names], ['a', 'b.example.com', 'c']);
    assert.equal(allowlistOf({ allowlist: null, allowedNames })!.from, 'allowed-names');
    assert.equal(allowlistOf({ allowlist: null, allowedNames: [] }), null);
    assert.match(
      problemsOf({ flags: { 'allowed-names': 'b,*.c' } })[0]!,
      /allowed-names: "\*\.c" is no certificate name/,
    );
    const [spaced, ...others] = problemsOf({ flags: { 'allowed-names': 'compile1 puppetboard, Some Client' } });
    assert.match(spaced!, /allowed-names: "compile1 puppetboard" is no certificate name/);
    assert.deepEqual(others, []);
    const { notices } = load({ environment: { OPENVOXDB_POSTGRES_USER: 'x', PUPPETDB_NODE_TTL: '1d' } });
    assert.ok(notices.some(({ message }) => message === 'not read here: $OPENVOXDB_POSTGRES_USER'));
  });

  test('a vardir has to be there', () => {
    const of = (vardir: string) => problemsOf({ config: files('vardir', { 'a.ini': `[global]\nvardir = ${vardir}` }) });
    assert.match(of('var')[0]!, /Vardir var must be an absolute path\.$/);
    assert.match(
      of('/no/where')[0]!,
      /Vardir \/no\/where does not exist\. Please create it and ensure it is writable\.$/,
    );
    assert.match(of(join(folder, 'vardir/a.ini'))[0]!, /is not a directory\.$/);
  });

  test('files that are no certificates are found before anything is started', () => {
    const pem = join(files('pem', { 'x.pem': 'x' }), 'x.pem');
    const flags = { 'ssl-cert': pem, 'ssl-key': pem, 'ssl-ca-cert': pem };
    assert.match(problemsOf({ flags })[0]!, /^--ssl-cert: ssl-cert .*x\.pem: no certificate in it$/);
    assert.match(problemsOf({ flags: { ...flags, 'cipher-suites': 'X' } })[0]!, /^--cipher-suites: .*"X" is not known/);
  });

  test('a path that is not there and an unknown format', () => {
    assert.match(problemsOf({ config: join(folder, 'nothing') })[0]!, /^nothing: cannot be read/);
    for (const config of ['', ' , ']) assert.match(problemsOf({ config })[0]!, /^--config: names no file or folder/);
    const config = files('edn', { 'a.edn': '{}' });
    assert.match(problemsOf({ config })[0]!, /^edn\/a\.edn: the format `\.edn` is not read/);
  });

  test('a setting that begins like one that says nothing here is unknown all the same', () => {
    const config = files('begins', { 'a.ini': '[jetty]\nmax-threads = 5\nmax-threads-x = 5\n' });
    const messages = load({ config }).notices.map(({ message }) => message);
    assert.ok(messages.some((text) => text.startsWith('The configuration item `:max-threads-x` does not exist')));
    assert.ok(messages.some((text) => text.endsWith(': [jetty] max-threads')));
  });

  test('without a TLS version there is no listener', () => {
    const config = files('versions', { 'a.ini': '[jetty]\nssl-protocols = ,\n' });
    assert.deepEqual(problemsOf({ config }), ['versions/a.ini:2: ssl-protocols: no TLS version is left']);
  });

  test('unknown settings, sections and variables are warned of, with a suggestion', () => {
    const config = files('unknown', { 'a.ini': '[database]\nnode-tll = 1d\n[databse]\nnode-ttl = 1d\n' });
    const { notices } = load({ config, environment: { MUSTER_NODE_TLL: '1d' } });
    const warnings = notices.filter(({ level }) => level === 'warn').map(({ message }) => message);
    assert.match(warnings[0]!, /\$MUSTER_NODE_TLL is no setting.*did you mean `MUSTER_NODE_TTL`\?/);
    assert.match(warnings[1]!, /`:node-tll` does not exist and should be removed.*did you mean `node-ttl`\?/);
    assert.match(warnings[2]!, /nothing reads the section \[databse\]; did you mean `database`\?/);
  });

  test('values outside the sections are for substitutions; a section is none', () => {
    const text = `folder = /data\nnode-ttl = 1d\nmuster.data = \${folder}/muster\n`;
    const { settings, notices } = load({ config: files('outside', { 'a.conf': text }) });
    assert.equal(settings.data, '/data/muster');
    const warnings = notices.filter(({ level }) => level === 'warn').map(({ message }) => message);
    assert.match(warnings[0]!, /a\.conf:1: `folder` stands in no section, where only substitutions read it/);
    assert.match(
      warnings[1]!,
      /a\.conf:2: `node-ttl` stands in no section, where only substitutions read it; it belongs below \[database\]/,
    );
    const wrong = files('section', { 'a.conf': 'database = x\n' });
    assert.deepEqual(problemsOf({ config: wrong }), [
      'section/a.conf:1: `database` is a section: settings are needed below it',
    ]);
  });
});
