// Commands of a node whose data has what is easily lost between two servers: spellings of numbers, nulls, names that look
// like paths, resources without a place in a file, events of all kinds, inputs of its catalog, a setting that its facts do
// not expire.

import type { ClientCommand } from '../../support/server.ts';

export const oddName = 'odd_node-7.example.com';
const producer = 'compile1.example.com';
const environment = 'odd_environment';
const catalogUuid = '01234567-89ab-4cde-8f01-23456789abcd';

/** JSON texts, as a client would send them: what a program's own numbers cannot express is spelled out. */
export function oddCommands(time: number): readonly ClientCommand[] {
  const at = (seconds: number) => new Date(time + seconds * 1000).toISOString();
  const command = (name: string, version: number, seconds: number, payload: string): ClientCommand => ({
    command: name,
    version,
    certname: oddName,
    producerTimestamp: at(seconds),
    payload: `{"certname": "${oddName}", "producer_timestamp": "${at(seconds)}", ${payload}}`,
  });
  return [
    command('configure expiration', 1, 0, '"expire": {"facts": false}'),
    command('replace facts', 5, 1, facts),
    command('replace catalog', 9, 2, catalog),
    command('replace catalog inputs', 1, 2, inputs),
    command('store report', 8, 3, report(at)),
    command('store report', 8, 9, unchangedReport(at)),
  ];
}

const facts = `"environment": "${environment}", "producer": "${producer}", "values": {
  "whole_float": 1.0, "fraction": 0.1, "negative": -2.50, "beyond_double": 9007199254740993, "large": 12345678901234567,
  "exponent": 1.5e-3, "zero": 0, "no": false, "nothing": null, "empty": "", "text": "Grüße \\u2028 \\ud83d\\ude80 \\"quoted\\" \\\\",
  "number_as_text": "1.0", "list": [1, 1.0, "1", null, [], {}, [[2]]], "empty_map": {},
  "path": {"with.dot": {"and space": 1}, "with#~mark": 2, "0": "digits", "ü": {"": "no name"}, "\\"": 3},
  "trusted": {"authenticated": "remote", "certname": "${oddName}", "extensions": {"1.3.6.1.4.1.34380.1.1.1": "x"}}
}`;

const catalog = `"environment": "${environment}", "producer": "${producer}", "version": "ünïque-1",
"transaction_uuid": "11111111-2222-4333-8444-555555555555", "catalog_uuid": "${catalogUuid}", "code_id": "code-1", "job_id": "17",
"resources": [
  {"type": "Stage", "title": "main", "exported": false, "tags": ["stage"], "parameters": {}},
  {"type": "Class", "title": "Odd", "exported": false, "tags": ["class", "odd"], "parameters":
    {"float": 1.0, "integer": 1, "large": 9007199254740993, "nothing": null, "list": [1, 2.0, null, {"b": 1, "a": 2}], "map": {"x": {"y": []}}}},
  {"type": "File", "title": "/tmp/ünï \\"code\\"", "exported": false, "file": "/etc/puppet/odd.pp", "line": 7,
   "tags": ["file", "größe", "a:b"], "parameters": {"ensure": "file", "content": "line\\nline\\ttab\\u0001"}},
  {"type": "Odd::Thing", "title": "exported", "exported": true, "file": "/etc/puppet/odd.pp", "line": 0, "tags": [], "parameters": {"port": 8080}}
],
"edges": [
  {"source": {"type": "Stage", "title": "main"}, "target": {"type": "Class", "title": "Odd"}, "relationship": "contains"},
  {"source": {"type": "Class", "title": "Odd"}, "target": {"type": "File", "title": "/tmp/ünï \\"code\\""}, "relationship": "contains"},
  {"source": {"type": "Class", "title": "Odd"}, "target": {"type": "File", "title": "/tmp/ünï \\"code\\""}, "relationship": "before"}
]`;

const inputs = `"catalog_uuid": "${catalogUuid}", "inputs": [["hiera", "odd::b"], ["hiera", "odd::a"], ["function", "größe"]]`;

type At = (seconds: number) => string;

const frame = (
  at: At,
  first: number,
) => `"environment": "${environment}", "producer": "${producer}", "puppet_version": "8.10.0",
"report_format": 12, "configuration_version": "ünïque-1", "start_time": "${at(first)}", "end_time": "${at(first + 3)}",
"catalog_uuid": "${catalogUuid}", "code_id": "code-1", "cached_catalog_status": "not_used"`;

const report = (at: At) => `${frame(at, 3)}, "transaction_uuid": "11111111-2222-4333-8444-555555555555", "job_id": "17",
"status": "failed", "noop": false, "noop_pending": true, "corrective_change": false,
"metrics": [{"category": "time", "name": "total", "value": 1.0}, {"category": "events", "name": "größe", "value": 3}],
"logs": [{"level": "err", "message": "Grüße\\n", "source": "Puppet", "tags": ["err", "odd"], "time": "${at(4)}", "file": "/etc/puppet/odd.pp", "line": 7},
         {"level": "notice", "message": "", "source": "", "tags": [], "time": "${at(5)}", "file": null, "line": null}],
"resources": [
  {"resource_type": "File", "resource_title": "/tmp/ünï \\"code\\"", "timestamp": "${at(4)}", "skipped": false, "corrective_change": null, "file": "/etc/puppet/odd.pp", "line": 7,
   "containment_path": ["Stage[main]", "Odd", "File[/tmp/ünï \\"code\\"]"], "events": [
     {"status": "success", "timestamp": "${at(4)}", "property": "ensure", "name": "file_created", "new_value": "file", "old_value": "absent", "message": "created", "corrective_change": false},
     {"status": "noop", "timestamp": "${at(4)}", "property": "mode", "name": "mode_changed", "new_value": "0644", "old_value": 420, "message": "größer", "corrective_change": false}]},
  {"resource_type": "Exec", "resource_title": "fails", "timestamp": "${at(5)}", "skipped": false, "corrective_change": null, "file": null, "line": null, "containment_path": ["Stage[main]"], "events": [
     {"status": "failure", "timestamp": "${at(5)}", "property": "returns", "name": "executed_command", "new_value": ["0"], "old_value": {"not": "run"}, "message": null, "corrective_change": null}]},
  {"resource_type": "Exec", "resource_title": "skipped", "timestamp": "${at(6)}", "skipped": true, "corrective_change": false, "file": null, "line": null, "containment_path": [], "events": []}
]`;

const unchangedReport = (at: At) => `${frame(at, 9)}, "transaction_uuid": null, "job_id": null, "type": "agent",
"status": "unchanged", "noop": true, "noop_pending": false, "corrective_change": null, "metrics": [], "logs": [], "resources": []`;
