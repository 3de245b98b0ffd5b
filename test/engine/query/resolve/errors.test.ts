import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { resolveEventCounts } from '../../../../engine/query/resolve/resolve.ts';
import type { EntityName } from '../../../../schemas/entities.ts';
import { entityError, errorOf, filter, json, root } from './support.ts';

const NO_IMPLEMENTATION =
  "No implementation of method: :-plan->sql of protocol: #'puppetlabs.puppetdb.query-eng.engine/SQLGen found for class: nil";
const AST_VALIDATION =
  'AST validation failed, but was successfully converted to SQL. Please file a PuppetDB ticket at https://tickets.puppetlabs.com ';
const FACTS = "'certname', 'environment', 'name', and 'value'";
const ENVIRONMENT = "'zz' is not a queryable object for environments. Known queryable objects are 'name'";

const NO_RELATION = "No implicit relationship for entity 'packages'";
const RELATION = '["subquery","packages",["=","version","1"]]';
const noSequence = (name: string): string => `Don't know how to create ISeq from: ${name}`;
const noTime = (name: string): string =>
  `No implementation of method: :to-date-time of protocol: #'clj-time.coerce/ICoerce found for class: ${name}`;
const BAD_TIME = '["=","producer_timestamp","x"]';
const NO_TIME = "'x' is not a valid timestamp value";

const time = (value: string): string => `["=","producer_timestamp","${value}"]`;
const GOOD = '["=","certname","x"]';
const NO_NUMBER = 'Argument "x" and operator ">" have incompatible types.';
const BAD_ELEMENT = 'Path array element wasnt string or integer in {0}';
const noRegex = (what: string): string => `ERROR: invalid regular expression: ${what} not balanced`;
const noOperator = (types: string): string => `ERROR: operator does not exist: ${types}`;
const NO_UTF8 = 'ERROR: invalid byte sequence for encoding "UTF8": 0x00';
const NO_TYPE = "Can't infer the SQL type to use for an instance of clojure.lang.PersistentVector.";
const NO_MATCH_PART = 'No matching clause: :puppetlabs.puppetdb.query-eng.parse/match-field-part';
const NOT_GROUPED = 'ERROR: column "status" must appear in the GROUP BY clause or be used in an aggregate function';

/** Queries with two mistakes: which one is told. */
const ORDER: readonly [EntityName, string, string][] = [
  // What its checks find, what the writing of the SQL finds, what its database refuses.
  [
    'resources',
    '["and",["in","line","x"],["<","line","10"]]',
    'Argument "10" and operator "<" have incompatible types.',
  ],
  [
    'resources',
    '["and",["null?","zz",true],["<","line","10"]]',
    'Argument "10" and operator "<" have incompatible types.',
  ],
  ['resources', '["and",["=","exported","x"],["in","line","x"]]', NO_IMPLEMENTATION],
  // What only the compiler refuses comes after what the expansion of the whole query finds.
  ['nodes', `["and",["=",["name"],"x"],${RELATION}]`, NO_RELATION],
  ['nodes', '["and",["=",["name"],"x"],["=","certname"]]', '= requires exactly two arguments'],
  ['nodes', `["and",["in",["name","x"],["array",["y"]]],${RELATION}]`, NO_RELATION],
  ['inventory', '["subquery","fact_paths",["null?",true,true]]', "No implicit relationship for entity 'fact_paths'"],
  ['nodes', '["and",["=",["name"],"x"],["<",["fact","a"],"b"]]', "Operator '<' not allowed on value 'b'"],
  ['nodes', '["and",["=",["name"],"x"],["=","node_state","b"]]', 'No matching clause: b'],
  ['nodes', `["and",["~",["fact","x"],null],${RELATION}]`, NO_RELATION],
  ['nodes', `["and",["~",["fact","x"],5],${RELATION}]`, NO_RELATION],
  ['nodes', '["and",["~",["fact","x"],[1.5]],["=","node_state","b"]]', 'Invalid ~ clause'],
  ['nodes', '["~",["fact","x"],{"a":1}]', 'Invalid ~ clause'],
  ['nodes', `["and",["~",["name"],"x"],${RELATION}]`, 'Invalid ~ clause'],
  // Logic is made from the outside in: of its terms two are begun with, all others once the first one is made.
  ...(
    [
      [`["or",["or",${time('x1')},${GOOD}],${time('x2')}]`, 'x2'],
      [`["or",["or",${time('x1')}],${GOOD},${time('x2')}]`, 'x1'],
      [`["or",${GOOD},["or",${time('x1')}],${GOOD},${GOOD},${time('x2')}]`, 'x2'],
      [`["or",["or",["or",${time('x1')}]],["or",${time('x2')}]]`, 'x1'],
      [`["or",["or",["or",${time('x1')}],${time('x3')}],["or",${time('x2')}]]`, 'x3'],
      [`["or",["not",["or",${time('x1')}]],["not",${time('x2')}]]`, 'x2'],
      [`["or",["not",${time('x1')}],${time('x2')}]`, 'x1'],
      [`["not",["or",["and",${time('x1')}],${time('x2')}]]`, 'x2'],
      // A subquery is begun with at once, and the one over reports is a conjunction with their type.
      [`["or",["or",${time('x1')}],["in","certname",["extract","certname",["select_catalogs",${time('x2')}]]]]`, 'x2'],
      [`["or",["in","certname",["extract","certname",["select_reports",${time('x1')}]]],${time('x2')}]`, 'x2'],
      [`["or",["in","certname",["extract","certname",["select_catalogs",${time('x1')}]]],${time('x2')}]`, 'x1'],
    ] as const
  ).map(([query, told]): [EntityName, string, string] => [
    'reports',
    query,
    `'${told}' is not a valid timestamp value`,
  ]),
  // Elements of paths are looked at when the SQL is written, and `match()` is asked for before anything else.
  ['fact_contents', '["or",["=","path",[1.5]],["or",[">","value","x"]]]', NO_NUMBER],
  ['fact_contents', '["or",["=","path",3],[">","value","x"]]', NO_NUMBER],
  ['fact_contents', '["and",["=","path","x"],["=","path",true]]', BAD_ELEMENT],
  ['fact_contents', '["and",["=","path",true],["=","path","x"]]', noSequence('java.lang.Boolean')],
  ['fact_contents', '["or",["~>","path",["a",1.5]],["~","name","("]]', BAD_ELEMENT],
  ['fact_contents', '["or",["in","path",["array",[["a"],"b"]]],[">","value","x"]]', NO_NUMBER],
  ['inventory', `["or",["=","timestamp","x"],["~","facts.match(\\"(\\")","y"]]`, noRegex('parentheses ()')],
  // The database looks at values that it has no form for, at the statement with its groups at the end, at texts, at patterns.
  ['reports', '["and",["=","certname","\\u0000"],["=","status",1]]', noOperator('text = integer')],
  ['reports', '["and",["~","certname","("],["=","certname","\\u0000"]]', NO_UTF8],
  ['reports', '["and",["=","status",1],["=","hash",["x"]]]', NO_TYPE],
  ['reports', '["and",["~","certname","("],["=","status",1],["=","noop","x"]]', noOperator('text = integer')],
  ['reports', '["extract",["status",["function","count"]],["=","status",1]]', noOperator('text = integer')],
  ['reports', '["extract",["status",["function","count"]],["~","status","("]]', NOT_GROUPED],
  // What only the database refuses comes last of all.
  [
    'reports',
    '["extract",[["function","to_string","zz","Y"],"hash"],["group_by","yy"]]',
    '"yy" is niether a valid column name nor function name',
  ],
  // Of several names that mean nothing the alphabetically first is told.
  [
    'reports',
    '["extract",["noop",["function","count"]],["group_by",["function","zz"],"gg","noop","é","ff"]]',
    '"ff" is niether a valid column name nor function name',
  ],
  [
    'reports',
    '["extract",["noop",["function","count"]],["group_by","aa",5]]',
    "Don't know how to create ISeq from: java.lang.Integer",
  ],
  ['reports', `["and",["=","noop",5],${BAD_TIME}]`, NO_TIME],
  [
    'reports',
    `["and",["in","certname",["from","facts",["extract","certname"],["order_by",5]]],${GOOD},${BAD_TIME}]`,
    NO_TIME,
  ],
  ['reports', `["or",["not",["=","certname",[1]]],${BAD_TIME}]`, NO_TIME],
  ['reports', `["and",["~","certname","("],${BAD_TIME}]`, NO_TIME],
  [
    'reports',
    `["and",["in",["certname","hash"],["extract","certname",["select_nodes",["~","certname","("]]]],${BAD_TIME}]`,
    NO_TIME,
  ],
  ['reports', `["extract",[["function","sum","status"],"certname"],${BAD_TIME}]`, NO_TIME],
  [
    'reports',
    '["and",["=","noop",5],["<","report_format","x"]]',
    'Argument "x" and operator "<" have incompatible types.',
  ],
  ['fact_contents', '["and",["=","certname",5],["=","path","x"]]', 'Path array element wasnt string or integer in {0}'],
  ['reports', '["and",["=","noop",5],["~","certname","("]]', 'ERROR: operator does not exist: boolean = integer'],
];

const TEXTS: readonly [EntityName, string, string][] = [
  // numbers and Booleans where lists belong
  ['nodes', '["and",true]', noSequence('java.lang.Boolean')],
  ['nodes', '["and",5]', noSequence('java.lang.Integer')],
  ['nodes', '["and",-2147483649]', noSequence('java.lang.Long')],
  ['nodes', '["and",1.5]', noSequence('java.lang.Double')],
  ['nodes', '["and",5.0]', noSequence('java.lang.Double')],
  ['nodes', '["and",123456789012345678901234567890]', noSequence('java.math.BigInteger')],
  ['nodes', '["extract",1.5]', noSequence('java.lang.Double')],
  ['nodes', '["extract",["certname",true]]', noSequence('java.lang.Boolean')],
  ['nodes', '["extract",99999999999]', noSequence('java.lang.Long')],
  ['nodes', '["in","certname",["extract","certname",["select_facts",5]]]', noSequence('java.lang.Integer')],
  ['nodes', '["extract",["certname",["function","count"]],["group_by",5]]', noSequence('java.lang.Integer')],
  ['nodes', '["extract",["certname",["function","count"]],["group_by",true]]', noSequence('java.lang.Boolean')],
  // fields that are no texts
  ['environments', '["=",null,"x"]', ENVIRONMENT.replace('zz', 'null')],
  ['environments', '["<",99999,1]', ENVIRONMENT.replace('zz', '99,999')],
  ['environments', '["~>",5,["a"]]', 'Query operator ~> is not allowed on field 5'],
  ['environments', '[["=","zz",1],"x"]', ENVIRONMENT],
  ['environments', '["and",[["=","zz",1],"x"]]', ENVIRONMENT],
  // values that are no times
  ['reports', '["=","producer_timestamp",[1]]', noTime('clojure.lang.PersistentVector')],
  ['reports', '[">","producer_timestamp",{"a":1}]', noTime('clojure.lang.PersistentArrayMap')],
  [
    'reports',
    '[">","producer_timestamp",{"a":1,"b":1,"c":1,"d":1,"e":1,"f":1,"g":1,"h":1,"i":1}]',
    noTime('clojure.lang.PersistentHashMap'),
  ],
  ['reports', '["in","producer_timestamp",["array",[true]]]', noTime('java.lang.Boolean')],
  ['reports', '["=","producer_timestamp",1.5]', noTime('java.lang.Double')],
  ['reports', '["=","producer_timestamp","x"]', NO_TIME],
  // unknown and unusable fields
  ['environments', '["=","zz","x"]', ENVIRONMENT],
  ['environments', '["<","zz",1]', ENVIRONMENT],
  ['environments', '["~","zz","x"]', ENVIRONMENT],
  ['environments', '["in","zz",["array",["x"]]]', ENVIRONMENT],
  ['environments', '["in",["zz"],["array",["x"]]]', ENVIRONMENT],
  ['environments', '["null?","zz",true]', ENVIRONMENT],
  ['environments', '["in","node_state",["array",["active"]]]', ENVIRONMENT.replace('zz', 'node_state')],
  ['environments', '["and",["=","zz",1],["or",["not",["=","zz",2]]]]', `${ENVIRONMENT}\n${ENVIRONMENT}`],
  ['environments', '["=","name.zz","x"]', ENVIRONMENT.replace('zz', 'name.zz')],
  [
    'packages',
    '["=","zz","x"]',
    "'zz' is not a queryable object for packages. Known queryable objects are 'package_name', 'provider', and 'version'",
  ],
  [
    'fact_contents',
    '["=","zz","x"]',
    "'zz' is not a queryable object for fact_nodes. Known queryable objects are 'certname', 'environment', 'name', 'path', and 'value'",
  ],
  [
    'nodes',
    '["=","expires_facts",true]',
    "'expires_facts' is not a queryable object for nodes. Known queryable objects are 'cached_catalog_status', 'catalog_environment', 'catalog_timestamp', 'certname', 'deactivated', 'expired', 'facts_environment', 'facts_timestamp', 'latest_report_corrective_change', 'latest_report_hash', 'latest_report_job_id', 'latest_report_noop', 'latest_report_noop_pending', 'latest_report_status', 'report_environment', and 'report_timestamp'",
  ],
  [
    'facts',
    '["in","zz",["extract","certname",["select_nodes",["=","certname","x"]]]]',
    `Can't match on unknown 'facts' field 'zz' for 'in'. Acceptable fields are ${FACTS}`,
  ],
  [
    'facts',
    '["in",["zz","yy"],["from","nodes",["extract","certname"]]]',
    `Can't match on unknown 'facts' fields 'zz' and 'yy' for 'in'. Acceptable fields are ${FACTS}`,
  ],
  ['facts', '["extract","zz"]', `Can't extract unknown 'facts' field 'zz'. Acceptable fields are ${FACTS}`],
  [
    'facts',
    '["extract",["a","certname","b","c"]]',
    `Can't extract unknown 'facts' fields 'a', 'b', and 'c'. Acceptable fields are ${FACTS}`,
  ],
  [
    'fact_paths',
    '["extract","depth"]',
    "Can't extract unknown 'fact_paths' field 'depth'. Acceptable fields are 'type', 'path', and 'name'",
  ],
  [
    'nodes',
    '["in","certname",["extract","zz",["select_facts",["=","name","a"]]]]',
    `Can't extract unknown 'facts' field 'zz'. Acceptable fields are ${FACTS}`,
  ],
  [
    'nodes',
    '["in","certname",["from","bogus",["extract","certname",["=","name","a"]]]]',
    "Can't extract unknown 'null' field 'certname'. Acceptable fields are \n'name' is not a queryable object for null. Entity null has no queryable objects",
  ],
  [
    'nodes',
    '["subquery","fact-contents",["=","certname","b"]]',
    "'certname' is not a queryable object for null. Entity null has no queryable objects",
  ],
  [
    'nodes',
    '["and",["=","zz",1],["subquery","facts",["=","yy",1]]]',
    `'yy' is not a queryable object for facts. Known queryable objects are ${FACTS}`,
  ],
  [
    'catalogs',
    '["=","edges","x"]',
    "'edges' is not a queryable object for catalogs. Known queryable objects are 'catalog_uuid', 'certname', 'code_id', 'environment', 'hash', 'job_id', 'producer', 'producer_timestamp', 'transaction_uuid', and 'version'",
  ],
  [
    'resources',
    '["=","parameter.x",1]',
    "'parameter.x' is not a queryable object for resources. Known queryable objects are 'certname', 'environment', 'exported', 'file', 'line', 'parameters', 'resource', 'tag', 'tags', 'title', and 'type'",
  ],
  // subqueries
  [
    'nodes',
    '["in","certname",["extract","certname",["select_bogus",["=","a","b"]]]]',
    'Unsupported subquery `select_bogus`',
  ],
  [
    'nodes',
    '["in","certname",["extract","certname",["select-facts",["=","a","b"]]]]',
    'Unsupported subquery `select-facts` - did you mean `select_facts`?',
  ],
  [
    'nodes',
    '["in","name",["extract","name",["select_fact_names",["=","name","b"]]]]',
    "Can't match on unknown 'nodes' field 'name' for 'in'. Acceptable fields are 'cached_catalog_status', 'catalog_environment', 'catalog_timestamp', 'certname', 'deactivated', 'expired', 'facts_environment', 'facts_timestamp', 'latest_report_corrective_change', 'latest_report_hash', 'latest_report_job_id', 'latest_report_noop', 'latest_report_noop_pending', 'latest_report_status', 'report_environment', and 'report_timestamp'\nUnsupported subquery `select_fact_names`",
  ],
  [
    'nodes',
    '["subquery","package_inventory",["~","certname","."]]',
    "No implicit relationship for entity 'package_inventory'",
  ],
  ['nodes', '["subquery",null,["null?",true,true]]', "No implicit relationship for entity 'null'"],
  ['packages', '["subquery","nodes",["~","certname","."]]', "No implicit relationship for entity 'nodes'"],
  [
    'nodes',
    '["in",["certname","deactivated"],["extract","certname",["select_facts",["=","name","a"]]]]',
    'ERROR: subquery has too few columns',
  ],
  [
    'resources',
    '["in","line",["extract","certname",["select_nodes",["=","certname","a"]]]]',
    'ERROR: operator does not exist: integer = text',
  ],
  // shapes
  ['nodes', '["and"]', "'and' takes at least one argument, but none were supplied"],
  ['nodes', '["or"]', "'or' takes at least one argument, but none were supplied"],
  ['nodes', '["not"]', "'not' takes exactly one argument, but 0 were supplied"],
  [
    'nodes',
    '["not",["~","certname","a"],["~","certname","b"]]',
    "'not' takes exactly one argument, but 2 were supplied",
  ],
  ['nodes', '["and",["~","certname","a"],[]]', '[] is not well-formed: queries must contain at least one operator'],
  ['nodes', '["and",["~","certname","a"],null]', '[] is not well-formed: queries must contain at least one operator'],
  ['nodes', '["and",["~","certname","a"],{}]', '[] is not well-formed: queries must contain at least one operator'],
  ['nodes', '["and",["~","certname","a"],{"a":1}]', NO_IMPLEMENTATION],
  ['nodes', '["=","certname"]', '= requires exactly two arguments'],
  ['nodes', '["~>","certname","a","b"]', '~> requires exactly two arguments'],
  ['nodes', '["not",["and",["=","certname"],["and"]]]', '= requires exactly two arguments'],
  // lists in values, too
  ['fact_paths', '["~>","path",["~",".*","a","b"]]', '~ requires exactly two arguments'],
  ['fact_paths', '["in","path",["array",[["a"],["=","b"]]]]', '= requires exactly two arguments'],
  ['nodes', '["in","certname",["array",["=",["~"],"b","c"]]]', '~ requires exactly two arguments'],
  ['nodes', '["in","certname",["array",["AND"]]]', "'and' takes at least one argument, but none were supplied"],
  ['nodes', '["in","certname",["array",["not"]]]', "'not' takes exactly one argument, but 0 were supplied"],
  ['nodes', '["null?","certname",["=","x"]]', '= requires exactly two arguments'],
  ['resources', '["=",["parameter","x"],{"a":[{"=":["~","a"]}]}]', '~ requires exactly two arguments'],
  ['inventory', '["=","facts.a",["~","x"]]', '~ requires exactly two arguments'],
  ['nodes', '["~","certname",{"a":1}]', 'Invalid ~ clause'],
  ['inventory', '[">","facts.mixed",{}]', 'Invalid > clause'],
  ['inventory', '[">","facts.mixed",[1.5]]', 'Invalid > clause'],
  ['resources', '["~",["function","jsonb_typeof","parameters"],"o"]', 'Invalid ~ clause'],
  [
    'nodes',
    '["extract","certname",["and",["~","certname","a"],["!=","certname","b"]]]',
    '["!=" "certname" "b"] is not a valid expression for "extract"',
  ],
  ['nodes', '["extract","certname",["and",[]]]', '[] is not a valid expression for "extract"'],
  ['nodes', '["and",["!=","certname","b"],["~","certname","a"]]', NO_IMPLEMENTATION],
  ['nodes', '["or",["bogus"],["~","certname","a"]]', NO_IMPLEMENTATION],
  ['nodes', '["not",["null?","certname"]]', NO_IMPLEMENTATION],
  ['nodes', '["in","certname","x"]', NO_IMPLEMENTATION],
  ['events', '["in","new_value",["array",["x"]]]', NO_IMPLEMENTATION],
  ['resources', '["in","tag",["array",["x"]]]', NO_IMPLEMENTATION],
  ['resources', '["in",["title","tag"],["extract",["title","type"],["select_resources"]]]', NO_IMPLEMENTATION],
  // operators and types
  ['nodes', '["<","deactivated","2026"]', 'Query operators >,>=,<,<= are not allowed on field deactivated'],
  ['resources', '["<","tag","x"]', 'Query operators >,>=,<,<= are not allowed on field tags'],
  ['events', '["<","new_value",5]', 'Query operators >,>=,<,<= are not allowed on field new_value'],
  ['nodes', '["<","node_state",5]', 'Query operators >,>=,<,<= are not allowed on field node_state'],
  ['nodes', '["~>","certname",["a"]]', 'Query operator ~> is not allowed on field certname'],
  ['nodes', '["~>","zz",["a"]]', 'Query operator ~> is not allowed on field zz'],
  ['nodes', '["~>",["fact","kernel"],["a"]]', 'Query operator ~> is not allowed on field ["fact" "kernel"]'],
  ['resources', '["=","line","10"]', 'Argument "10" is incompatible with numeric field "line".'],
  ['resources', '["=","line",true]', 'ERROR: operator does not exist: integer = boolean'],
  ['resources', '["<","line","10"]', 'Argument "10" and operator "<" have incompatible types.'],
  ['facts', '[">=","value",[1]]', 'Argument "[1]" and operator ">=" have incompatible types.'],
  ['facts', '["<=","value",null]', 'Argument "null" and operator "<=" have incompatible types.'],
  ['nodes', '["=","expired","yesterday"]', "'yesterday' is not a valid timestamp value"],
  ['nodes', '[">","expired",null]', "'null' is not a valid timestamp value"],
  ['nodes', '["in",[],["extract",["certname"],["select_nodes",["=","certname","x"]]]]', 'Invalid in clause'],
  ['nodes', '["not",["in",[],["from","nodes",["extract",["certname"]]]]]', 'Invalid in clause'],
  ['nodes', '["in","certname",["array","x"]]', 'Operator array requires a vector argument'],
  ['resources', '["in","tags",["array",["x"]]]', 'Operator in...array is not supported on array types'],
  ['nodes', '["in",["fact","x"],["array",[5,"5"]]]', 'All values in array must be the same type.'],
  ['nodes', '["in",["fact","x"],["array",[5,5.0]]]', 'All values in array must be the same type.'],
  ['nodes', '["in",["fact","x"],["array",[5,2147483648]]]', 'All values in array must be the same type.'],
  ['nodes', '["in",["fact","x"],["array",["a",null]]]', 'All values in array must be the same type.'],
  ['nodes', '["in",["fact","x"],["array",[]]]', 'All values in array must be the same type.'],
  ['resources', '["=",["parameter",5],"x"]', 'ERROR: operator does not exist: text = integer'],
  ['resources', '["<","parameters.match(\\"a\\")",1]', NO_MATCH_PART],
  ['resources', '["~","parameters.match(\\"a\\")","x"]', NO_MATCH_PART],
  ['resources', '["=","tags",["x"]]', NO_TYPE],
  ['resources', '["=","tags",{"a":1}]', 'No hstore extension installed.'],
  ['inventory', '["~","facts","x"]', 'ERROR: operator does not exist: jsonb ~ character varying'],
  ['nodes', '["in","certname",["array",["a\\u0000"]]]', NO_UTF8],
  ['resources', '["~",["parameter","("],"x"]', noRegex('parentheses ()')],
  ['resources', '["~",["parameter","x"],"("]', noRegex('parentheses ()')],
  ['resources', '["~",["parameter",true],"x"]', 'ERROR: operator does not exist: text ~ boolean'],
  ['nodes', '["~",["fact",5],5]', 'Invalid ~ clause'],
  ['nodes', '["~",["fact","x"],5]', "Operator '~' not allowed on value '5'"],
  ['nodes', '["~",["function",5],"x"]', 'Invalid ~ clause'],
  ['nodes', '["~",["function","bogus"],[1.5]]', 'Invalid ~ clause'],
  ['nodes', '["~",["function","bogus"],["x"]]', '"bogus" is not a valid function'],
  ['nodes', '["in",["fact",5],["array",[5,"5"]]]', 'All values in array must be the same type.'],
  ['nodes', '["in",["fact",5],["array",[5]]]', 'ERROR: operator does not exist: text = integer'],
  ['nodes', '["in",["fact",{}],["array",[5]]]', 'No hstore extension installed.'],
  ['nodes', '["<",["fact","x"],"abc"]', "Operator '<' not allowed on value 'abc'"],
  ['nodes', '["=",["fact","x"],null]', "Operator '=' not allowed on value 'null'"],
  ['nodes', '["=",["fact","x"],{"a":["b",null]}]', `Operator '=' not allowed on value '{:a ["b" nil]}'`],
  ['nodes', '["=","node_state","Bogus"]', 'No matching clause: bogus'],
  ['fact_contents', '["=","path","os"]', 'Path array element wasnt string or integer in {0}'],
  ['fact_contents', '["=","path",["os",1.5]]', 'Path array element wasnt string or integer in {0}'],
  ['environments', '["~","name","\\u0000"]', 'ERROR: invalid byte sequence for encoding "UTF8": 0x00'],
  ['fact_contents', '["=","path",5]', "Don't know how to create ISeq from: java.lang.Integer"],
  ['fact_contents', '["in","path",["array",[["os"],true]]]', "Don't know how to create ISeq from: java.lang.Boolean"],
  ['fact_contents', '["in","path",["array",["os"]]]', 'Path array element wasnt string or integer in {0}'],
  ['reports', '["=","certname",5]', 'ERROR: operator does not exist: text = integer'],
  ['reports', '["=","certname",-2147483648]', 'ERROR: operator does not exist: text = integer'],
  ['reports', '["=","certname",3000000000]', 'ERROR: operator does not exist: text = bigint'],
  ['reports', '["=","certname",-999999999999999999]', 'ERROR: operator does not exist: text = bigint'],
  ['reports', '["=","certname",1000000000000000000]', 'ERROR: operator does not exist: text = numeric'],
  ['fact_names', '["=","name",5]', 'ERROR: operator does not exist: character varying = integer'],
  ['fact_paths', '["~","name",5]', 'ERROR: operator does not exist: character varying ~ integer'],
  ['fact_paths', '["=","type",true]', 'ERROR: operator does not exist: character varying = boolean'],
  ['fact_paths', '["extract",[["function","sum","name"]]]', 'ERROR: function sum(character varying) does not exist'],
  ['nodes', '["extract",[["function","avg","bogus"]]]', 'ERROR: function avg(unknown) is not unique'],
  ['resources', '["extract",[["function","sum","tag"]]]', 'ERROR: function sum(unknown) is not unique'],
  [
    'inventory',
    '["extract",[["function","to_string","facts.kernel","YYYY"]]]',
    'ERROR: function to_char(unknown, character varying) is not unique',
  ],
  [
    'nodes',
    '["extract",[["function","to_string","bogus",5]]]',
    'ERROR: function to_char(unknown, integer) does not exist',
  ],
  [
    'nodes',
    '["extract",[["function","to_string","facts_timestamp",1.5]]]',
    'ERROR: function to_char(timestamp with time zone, double precision) does not exist',
  ],
  [
    'events',
    '["extract",[["function","sum","line","x"]]]',
    'ERROR: function sum(integer, character varying) does not exist',
  ],
  ['nodes', '["extract",[["function","to_string"]]]', 'ERROR: function to_char() does not exist'],
  [
    'facts',
    '["extract",[["function","jsonb_typeof","value"]]]',
    'ERROR: function jsonb_typeof(numeric) does not exist',
  ],
  [
    'resources',
    '["in","exported",["extract","name",["select_fact_paths",["~","name","x"]]]]',
    'ERROR: operator does not exist: boolean = character varying',
  ],
  [
    'reports',
    '["=",["function","jsonb_typeof","end_time"],"x"]',
    'ERROR: function jsonb_typeof(timestamp with time zone) does not exist',
  ],
  [
    'nodes',
    '["in","certname",["extract","certname",["select_facts",["and",["=","name","a"],["and",["=",["function","jsonb_typeof","name"],"string"],["=","value","x"]]]]]]',
    'ERROR: function jsonb_typeof(text) does not exist',
  ],
  [
    'nodes',
    '["in",["fact","x"],["array",[5000000000,1000000000000000000]]]',
    'All values in array must be the same type.',
  ],
  [
    'reports',
    '["=","end_time",1000000000000000000]',
    "No implementation of method: :to-date-time of protocol: #'clj-time.coerce/ICoerce found for class: java.math.BigInteger",
  ],
  ['reports', '["~","report_format","1"]', 'ERROR: operator does not exist: smallint ~ character varying'],
  ['reports', '["=","noop","true"]', 'ERROR: operator does not exist: boolean = character varying'],
  ['resources', '["=","exported","true"]', 'ERROR: operator does not exist: boolean = character varying'],
  [
    'nodes',
    '["=","deactivated","2026"]',
    'ERROR: operator does not exist: timestamp with time zone = character varying',
  ],
  [
    'resources',
    '["in","exported",["extract","value",["select_facts",["~","name","x"]]]]',
    'ERROR: operator does not exist: boolean = text',
  ],
  [
    'facts',
    '["in","value",["extract","noop",["select_reports",["=","certname","x"]]]]',
    'ERROR: operator does not exist: jsonb = boolean',
  ],
  ['resources', '["in","line",["array",[10]]]', 'ERROR: operator does not exist: integer = text'],
  ['nodes', '["~","certname","("]', 'ERROR: invalid regular expression: parentheses () not balanced'],
  ['inventory', '["=","facts.match(\\"(\\")","x"]', 'ERROR: invalid regular expression: parentheses () not balanced'],
  ['fact_contents', '["~>","path",["a","["]]', 'ERROR: invalid regular expression: brackets [] not balanced'],
  // field syntax
  ['inventory', '["=","facts.","x"]', `Don't recognize AST field component at character 6: "facts."`],
  ['inventory', '["=","facts.a..b","x"]', `Don't recognize AST field component at character 8: "facts.a..b"`],
  ['inventory', '["=","facts.\\"\\"","x"]', 'Empty AST field component at character 6: "facts.\\"\\""'],
  ['nodes', '["=",["fact",""],"x"]', `Don't recognize AST field component at character 6: "facts."`],
  // projections and functions
  [
    'inventory',
    '["extract",["facts.abcdefghijabcdefghijabcdefghijabcdefghijabcdefghijabcdefghij"]]',
    "Projected field name '66' exceeds current maximum length of 63 characters",
  ],
  [
    'inventory',
    '["extract",["facts.disks[0]"]]',
    'No matching clause: :puppetlabs.puppetdb.query-eng.parse/indexed-field-part',
  ],
  ['inventory', '["extract",["facts.match(\\"a\\")"]]', NO_MATCH_PART],
  [
    'nodes',
    '["extract",[["function","count"]],["~","certname","a"],["group_by","zz"]]',
    '"zz" is niether a valid column name nor function name',
  ],
  ['nodes', '["extract","certname",["or",["bogus"]]]', '["bogus"] is not a valid expression for "extract"'],
  ['fact_contents', '["in","path",["extract","tags",["select_resources"]]]', noOperator('text[] = text[]')],
  ['fact_paths', '["in","path",["extract","name",["select_facts"]]]', noOperator('text = text')],
  ['facts', '["in","name",["extract","path",["select_fact_paths"]]]', noOperator('text = text')],
  [
    'nodes',
    '["in","certname",["from","catalogs",["extract","edges"]]]',
    `"edges" cannot be a column of an 'in' subquery`,
  ],
  ...(
    [
      ['match on', '["in","facts.a",["extract","certname",["select_nodes"]]]'],
      ['extract', '["in","certname",["extract","facts.a",["select_inventory"]]]'],
    ] as const
  ).map(([action, query]): [EntityName, string, string] => [
    'inventory',
    query,
    `Can't ${action} unknown 'inventory' field 'facts.a'${action === 'extract' ? '' : " for 'in'"}. Acceptable fields are 'certname', 'environment', 'facts', 'timestamp', and 'trusted'`,
  ]),
  [
    'resources',
    '["extract",[["function","count"]],["group_by","tag"]]',
    '"tag" is niether a valid column name nor function name',
  ],
  [
    'reports',
    '["extract",[["function","count"]],["group_by","logs"]]',
    'ERROR: could not identify an equality operator for type json',
  ],
  ['nodes', '["extract",[["function","bogus","certname"]]]', '"bogus" is not a valid function'],
  [
    'nodes',
    '["extract",["certname",["function","count"]]]',
    'ERROR: column "certname" must appear in the GROUP BY clause or be used in an aggregate function',
  ],
  ['resources', '["=",["function","bogus","line"],1]', '"bogus" is not a valid function'],
  ['resources', '["=",["function",1.5,"line"],1]', '1.5 is not a valid function'],
  ['resources', '["=",["function",["a",1],"line"],1]', '["a" 1] is not a valid function'],
  ['resources', '["=",["function",null,"line"],1]', 'nil is not a valid function'],
  ['resources', '["=",["function","to_string","line","9"],"1"]', '"to_string" is not a valid function'],
  ['resources', '["=",["function","sum","zz"],1]', 'field "zz" is not a valid queryable field'],
  ['resources', '["=",["function","sum","title"],1]', 'field "title" must be a numeric type'],
  ['resources', '["=",["function","count"],1]', 'ERROR: aggregate functions are not allowed in WHERE'],
  ['facts', '["=",["function","jsonb_typeof","value"],5]', 'ERROR: operator does not exist: text = integer'],
  ['resources', '["=",["function","sum"],1]', 'wrong number of arguments (0) provided for function sum'],
];

describe('errors', () => {
  for (const [name, query, text] of TEXTS) {
    it(`errors: ${name} ${query} is refused with its text`, () => {
      assert.equal(entityError(name, query), text);
    });
  }

  for (const [name, query, text] of ORDER) {
    it(`errors: of the mistakes in ${query} on ${name} the first that PuppetDB finds is told`, () => {
      assert.equal(entityError(name, query), text);
    });
  }

  it('errors: values of events among the fields of a list are compared with a subquery like others', () => {
    const source = '["from","events",["extract","old_value",["=","line",10]]]';
    assert.equal(filter('events', `["in",["new_value"],${source}]`)?.kind, 'in-query');
    assert.equal(entityError('events', `["in","new_value",${source}]`), NO_IMPLEMENTATION);
  });

  it('errors: the shape of a value is not looked at behind match()', () => {
    for (const op of ['<', '~']) {
      assert.equal(entityError('inventory', `["${op}","facts.x",{"a":1}]`), `Invalid ${op} clause`);
      assert.equal(filter('inventory', `["${op}","facts.match(\\"x\\")",{"a":1}]`)?.kind, 'json');
    }
  });

  it('errors: what only the database refuses is none for who asks for the AST', () => {
    for (const body of [
      '["=","noop",5]',
      '["~","certname","("]',
      '["extract",["certname",["function","sum","status"]]]',
      '["extract",["certname",["function","count"]]]',
    ]) {
      const query = `["from","reports",${body}]`;
      assert.match(
        errorOf(() => root(query)),
        /^ERROR: /,
      );
      root(query, { astOnly: true });
    }
    const noGroups = '["from","reports",["extract",[["function","count"]],["group_by"]]]';
    assert.equal(
      errorOf(() => root(noGroups)),
      "'group_by' takes at least one argument, but none were supplied",
    );
    root(noGroups, { astOnly: true });
    assert.equal(
      errorOf(() => root(`["from","reports",${BAD_TIME}]`, { astOnly: true })),
      NO_TIME,
    );
  });

  it('errors: at the root a filter stands within an `and`, of entities without nodes, too, but for two of them', () => {
    const of = (entity: string): string =>
      errorOf(() => root(`["from","${entity}",["extract",["name"],["=","name"]],["limit",1]]`));
    assert.equal(of('producers'), '= requires exactly two arguments');
    assert.equal(of('fact_names'), '= requires exactly two arguments');
    assert.equal(of('environments'), 'Unsupported subquery `=`');
    assert.deepEqual(root('["from","producers",["extract",["name"]]]').filter, root('["from","producers"]').filter);
  });

  for (const [query, name] of [
    ['["from","nodes",5]', 'java.lang.Integer'],
    ['["from","packages",5]', 'java.lang.Integer'],
    ['["from","packages",false,["array"]]', 'java.lang.Boolean'],
    ['["from","packages",["=","version","a"],1.5]', 'java.lang.Double'],
  ] as const) {
    it(`errors: ${query} has no list in the place of a clause`, () => {
      assert.equal(
        errorOf(() => root(query)),
        noSequence(name),
      );
    });
  }

  it('errors: behind a clause of paging there are no others', () => {
    const of = (...clauses: string[]): string => errorOf(() => root(`["from","packages",${clauses}]`));
    const form = 'This query must be of the form ["from", <entity>, (<optional-query>)].';
    assert.equal(of('["limit",1]', '["=","version","a"]'), form);
    assert.equal(of('["=","version","a"]', '["limit",1]', '["=","version","a"]'), form);
  });

  it('errors: names are reported before anything else about the query', () => {
    assert.match(entityError('nodes', '["and",["=","certname"],["=","zz",1]]'), /^'zz' is not a queryable object/);
  });

  it('errors: wrong shapes are reported before wrong values', () => {
    const query = '["and",["=","expired","never"],["=","certname"]]';
    assert.equal(entityError('nodes', query), '= requires exactly two arguments');
  });

  it('errors: a clause of unknown shape standing alone is found by the last check', () => {
    for (const query of [
      '["bogus","a"]',
      '["AND",["=","certname","a"]]',
      '["subquery","facts"]',
      '["from","nodes",["=","certname","a"]]',
      '["extract"]',
      '["extract","certname",["=","certname","a"],["group_by","certname"],["=","certname","b"]]',
    ]) {
      assert.match(entityError('catalogs', query), /^AST validation failed, .*\nUnrecognized AST clause \[/s, query);
    }
  });

  for (const source of [
    '["from","facts",["=","name","a"]]',
    '["from","facts",["=","name","a"],["limit",1]]',
    '["from","facts",["limit",1]]',
    '["from","facts","x"]',
    '["from","facts",null]',
    '["from","zz",["bogus"]]',
    '["extract","certname"]',
    '["extract","certname","x"]',
    '["=","certname","a"]',
    '["and",["=","certname","a"],["=","certname","b"]]',
    '["not",["=","certname","a"]]',
    '["subquery","facts",["=","name","a"]]',
  ]) {
    it(`errors: ${source} has no columns that "in" could compare with, which the last check finds`, () => {
      const clause = `["in","certname",${source}]`;
      const printed = clause.replaceAll('null', 'nil').replaceAll(',', ' ');
      const told = (query: string): string =>
        `${AST_VALIDATION}\nUnrecognized AST clause ${printed} in AST query ${query}`;
      assert.equal(entityError('catalogs', clause), told(printed));
      assert.equal(
        entityError('catalogs', `["or",${clause},["=","certname","b"]]`),
        told(`["or" ${printed} ["=" "certname" "b"]]`),
      );
      assert.equal(
        entityError('catalogs', `["in","certname",["from","facts",["extract",["certname"],${clause}]]]`),
        told(`["in" "certname" ["from" "facts" ["extract" ["certname"] ${printed}]]]`),
      );
      assert.match(
        errorOf(() => root(`["from","nodes",${clause}]`)),
        /^AST validation failed/,
      );
      assert.match(
        errorOf(() => resolveEventCounts({ query: json(clause), summarizeBy: 'certname' })),
        /^ERROR: subquery has too few columns$/,
      );
    });
  }

  for (const [source, told] of [
    ['"x"', NO_IMPLEMENTATION],
    ['["x"]', NO_IMPLEMENTATION],
    ['["bogus","a","b"]', NO_IMPLEMENTATION],
    ['["from","facts"]', NO_IMPLEMENTATION],
    ['["array",["a"],["b"]]', NO_IMPLEMENTATION],
    ['["extract","certname",["=","certname","a"],["=","certname","a"]]', NO_IMPLEMENTATION],
    ['["=","certname"]', '= requires exactly two arguments'],
    ['["or"]', "'or' takes at least one argument, but none were supplied"],
    ['["from","facts",5]', noSequence('java.lang.Integer')],
    ['["from","facts",["=","name","a"],true]', noSequence('java.lang.Boolean')],
    [
      '["extract","certname",["select_facts",null]]',
      "Can't extract unknown 'null' field 'certname'. Acceptable fields are ",
    ],
    [
      '["extract","certname",["select_facts","x"]]',
      "Can't extract unknown 'null' field 'certname'. Acceptable fields are ",
    ],
    [
      '["extract","certname",["select_facts",{}]]',
      "Can't extract unknown 'null' field 'certname'. Acceptable fields are ",
    ],
    ['["extract","name",["select_facts",5]]', noSequence('java.lang.Integer')],
  ] as const) {
    it(`errors: ${source} on the right side of "in"`, () => {
      assert.equal(entityError('catalogs', `["in","certname",${source}]`), told);
    });
  }

  it('errors: what is sent behind the filter of select_facts makes all of it a part of the query around it', () => {
    for (const more of ['["limit",1]', '["=","certname","a"]']) {
      assert.match(
        entityError('catalogs', `["in","certname",["extract","certname",["select_facts",["=","name","a"],${more}]]]`),
        /^'name' is not a queryable object for catalogs\./,
      );
    }
  });

  for (const end of ['\\n', '\\r', '\\u0085', '\\u2028', '\\u2029']) {
    it(`errors: no condition is about a name with ${end} in it`, () => {
      for (const clause of [
        `["=","facts.a${end}b","x"]`,
        `["~","facts.${end}a","x"]`,
        `["in","facts.a${end}",["array",["x"]]]`,
      ]) {
        assert.match(
          entityError('inventory', clause),
          /^'facts\..*' is not a queryable object for inventory\. /s,
          clause,
        );
      }
      assert.doesNotThrow(() => filter('inventory', `["null?","facts.a${end}b",true]`));
    });
  }

  for (const [name, told] of [
    ['a b', 'First component of AST field is invalid: "a b"'],
    ['certname ', 'First component of AST field is invalid: "certname "'],
    ['a.', `Don't recognize AST field component at character 2: "a."`],
    ['', 'Empty AST field'],
  ] as const) {
    it(`errors: ${JSON.stringify(name)} is no name of a column`, () => {
      const column = JSON.stringify(name);
      assert.equal(entityError('nodes', `["extract",["zz",${column}]]`), told);
      assert.equal(
        entityError('nodes', `["in",["zz",${column}],["extract",["certname"],["select_nodes",["=","certname","a"]]]]`),
        told,
      );
      assert.equal(
        entityError('catalogs', `["in","certname",["extract",[${column}],["select_nodes",["=","certname","a"]]]]`),
        told,
      );
    });
  }

  it('errors: an array of too few or too many values is compared with like a subquery', () => {
    assert.match(
      entityError('packages', '["in","certname",["array"]]'),
      /^Can't match on unknown 'packages' field 'certname' for 'in'\./,
    );
  });

  it('errors: other mistakes win over the unknown shape', () => {
    assert.equal(entityError('catalogs', '["bogus",["=","certname"]]'), '= requires exactly two arguments');
  });

  it('errors: a query nested beyond the limit is refused without recursion', () => {
    const deep = `${'["not",'.repeat(300)}["=","certname","a"]${']'.repeat(300)}`;
    assert.match(entityError('nodes', deep, { depthMax: 100 }), /limit is 100 levels/);
    assert.doesNotThrow(() => entityError('nodes', `["and",${deep},["and"]]`));
  });

  it('errors: a list that begins with null is refused', () => {
    assert.match(entityError('inventory', '["=","facts.disks",[null]]'), /cannot begin with null/);
  });
});
