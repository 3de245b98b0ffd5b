// HTTP side of the metrics: /metrics/v2 (management gateway), /metrics/v1/mbeans (old form, off by default) and
// /metrics/prometheus. Who may ask is decided before a request comes here.

import { sentText } from '../../../engine/bytes.ts';
import { JSON_TYPE, TEXT_TYPE } from '../../../engine/query/request.ts';
import { HOUR_MS } from '../../../engine/time.ts';
import type { MetricsRegistry } from '../../../workers/metrics.ts';
import type { Exchange, Mount } from '../../http/exchange.ts';
import { pathBelow } from '../../http/paths.ts';
import { unknownPath } from '../../http/replies.ts';
import type { Json } from '../../json.ts';
import { Gateway, type GatewayDeps } from './gateway.ts';
import { createOldGateway } from './old-gateway.ts';
import type { ProcessFigures } from './process-figures.ts';
import { exposition, type ServerState } from './prometheus.ts';
import { optionsOf } from './request.ts';

interface MetricsDeps extends GatewayDeps {
  readonly registry: MetricsRegistry;
  readonly figures: ProcessFigures;
  readonly settings: { readonly metrics: boolean; readonly metricsV1: boolean };
  readonly state: () => Promise<ServerState>;
}

const BODY_MAX = 1024 * 1024;

export function createMetricsMounts(deps: MetricsDeps): Mount[] {
  const mounts: Mount[] = [{ prefix: '/metrics/prometheus', handler: (exchange) => scrape(exchange, deps) }];
  if (deps.settings.metrics) mounts.push(createGatewayMount(deps));
  if (deps.settings.metricsV1) mounts.push(createOldGateway({ prefix: '/metrics/v1/mbeans', ...deps }));
  return mounts;
}

function createGatewayMount(deps: MetricsDeps): Mount {
  const prefix = '/metrics/v2';
  const gateway = new Gateway(deps);

  async function handler(exchange: Exchange): Promise<void> {
    const path = pathBelow(exchange, prefix);
    const parameters = new URLSearchParams(exchange.queryString);
    let answer: Json;
    switch (exchange.method) {
      case 'GET':
      case 'HEAD':
        answer = await gateway.get(path, parameters.get('p'), optionsOf(parameters));
        break;
      case 'POST': {
        const body = sentText(await exchange.body(BODY_MAX));
        answer = await gateway.post(body, optionsOf(parameters));
        break;
      }
      case 'OPTIONS':
        return exchange.reply({ status: 200, contentType: null, body: null });
      case 'PUT':
      case 'DELETE':
        return exchange.reply({ status: 405, contentType: null, headers: [['Allow', 'GET, HEAD, POST']], body: null });
      default:
        // A method that servlets do not know.
        return exchange.reply({ status: 501, contentType: null, body: null });
    }
    replyJson(exchange, answer, parameters, deps.clock());
  }

  return { prefix, handler };
}

function replyJson(exchange: Exchange, answer: Json, parameters: URLSearchParams, now: number): void {
  const callback = parameters.get('callback');
  const wrapped = callback !== null && /^[$A-Z_][0-9A-Z_$]*$/i.test(callback);
  const text = jsonText(answer);
  const wanted = parameters.get('mimeType') ?? 'application/json';
  const plain = wanted.toLowerCase() !== 'application/json';
  exchange.reply({
    status: 200,
    contentType: wrapped ? 'text/javascript;charset=utf-8' : plain ? TEXT_TYPE : JSON_TYPE,
    headers: [
      ['Cache-Control', 'no-cache'],
      ['Pragma', 'no-cache'],
      ['Expires', new Date(now - HOUR_MS).toUTCString()],
    ],
    body: wrapped ? `${callback}(${text});` : text,
  });
}

/** Compact, slashes and unusual characters escaped, as clients of the gateway have always got it. */
function jsonText(value: Json): string {
  return JSON.stringify(value)
    .replaceAll('/', '\\/')
    .replace(/[\u007f-\u009f\u2000-\u20ff]/g, (char) => {
      return `\\u${char.charCodeAt(0).toString(16).toUpperCase().padStart(4, '0')}`;
    });
}

async function scrape(exchange: Exchange, deps: MetricsDeps): Promise<void> {
  if (pathBelow(exchange, '/metrics/prometheus') !== '') return exchange.reply(unknownPath(exchange));
  exchange.reply({
    status: 200,
    contentType: 'text/plain; version=0.0.4; charset=utf-8',
    body: await exposition(deps.registry, deps.figures, await deps.state()),
  });
}
