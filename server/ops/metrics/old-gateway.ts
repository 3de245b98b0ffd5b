// /metrics/v1/mbeans: the form of the metrics that old exporters still ask for. Off unless configured. No envelope: a bean's
// attributes, or several of them in the shape of the question.

import { sentText } from '../../../engine/bytes.ts';
import { JSON_TYPE } from '../../../engine/query/request.ts';
import { messageOf } from '../../../engine/reason.ts';
import type { Exchange, Mount } from '../../http/exchange.ts';
import { pathBelow } from '../../http/paths.ts';
import { textReply } from '../../http/replies.ts';
import type { Json } from '../../json.ts';
import type { Bean, BeanServer } from './bean-server.ts';
import { REQUESTS_MAX, turnsByVisits } from './gateway.ts';
import { parseObjectName } from './object-name.ts';

interface OldGatewayDeps {
  readonly prefix: string;
  readonly beans: BeanServer;
}

const BODY_MAX = 1024 * 1024;

export function createOldGateway(deps: OldGatewayDeps): Mount {
  const { prefix, beans } = deps;

  async function handler(exchange: Exchange): Promise<void> {
    if (exchange.method === 'POST') return post(exchange);
    const path = pathBelow(exchange, prefix);
    if (path === '' || path === '/') return reply(exchange, 200, index());
    const name = path.slice(1);
    const bean = find(name);
    if (bean === undefined) return reply(exchange, 404, `No mbean '${name}' found`);
    reply(exchange, 200, await attributesOf(bean));
  }

  function index(): Json {
    const names: Record<string, string> = {};
    for (const bean of beans.all()) {
      if (!bean.alias) names[bean.name.canonical] = `/mbeans/${encodeURIComponent(bean.name.canonical)}`;
    }
    return names;
  }

  async function post(exchange: Exchange): Promise<void> {
    const text = sentText(await exchange.body(BODY_MAX));
    let wanted: Json;
    try {
      wanted = JSON.parse(text) as Json;
    } catch (error) {
      return reply(exchange, 400, messageOf(error));
    }
    if (typeof wanted === 'string') return reply(exchange, 200, await valueFor(wanted));
    if (typeof wanted !== 'object' || wanted === null) {
      return reply(exchange, 400, 'metrics request must be a JSON string, array, or object');
    }
    const names = Object.entries(wanted);
    if (names.length > REQUESTS_MAX) {
      return reply(exchange, 400, `metrics request must name ${REQUESTS_MAX} mbeans at most`);
    }
    const answers = await valuesFor(names);
    reply(exchange, 200, Array.isArray(wanted) ? answers.map(([, value]) => value) : Object.fromEntries(answers));
  }

  /** The same pairs, with values in place of names. */
  async function valuesFor(names: readonly (readonly [string, Json | undefined])[]): Promise<[string, Json][]> {
    const giveTurn = turnsByVisits();
    const answers: [string, Json][] = [];
    for (const [key, name] of names) {
      answers.push([key, await valueFor(name ?? null)]);
      await giveTurn(1);
    }
    return answers;
  }

  async function valueFor(name: Json): Promise<Json> {
    const bean = typeof name === 'string' ? find(name) : undefined;
    return bean === undefined ? null : attributesOf(bean);
  }

  function find(name: string): Bean | undefined {
    try {
      return beans.find(parseObjectName(name));
    } catch {
      return undefined;
    }
  }

  return { prefix, handler };
}

async function attributesOf(bean: Bean): Promise<Json> {
  const reader = bean.reader();
  const values: Record<string, Json> = {};
  for (const { name } of bean.info.attributes) {
    try {
      values[name] = (await reader(name)) ?? null;
    } catch {
      values[name] = null;
    }
  }
  return values;
}

function reply(exchange: Exchange, status: number, value: Json): void {
  if (status !== 200 && typeof value === 'string') exchange.reply(textReply(status, value));
  else exchange.reply({ status, contentType: JSON_TYPE, body: JSON.stringify(value) });
}
