// `/pdb/meta/v1`: what the server is and what time it has. Health checks and client libraries read the version, some of
// them to refuse servers that are too old, so it is the one of the PuppetDB release that is replaced.

import { firstOfSet } from '../../engine/clojure.ts';
import { parseForm } from '../../engine/form.ts';
import type { JsonValue } from '../../engine/json/value.ts';
import { formatTime } from '../../engine/time.ts';
import type { Exchange, Handler } from '../http/exchange.ts';
import { NOT_FOUND, prettyReply, refuseAccept, textReply } from '../http/replies.ts';

interface MetaRouteDeps {
  /** `8.8.1`. */
  readonly version: string;
  /** Epoch ms. */
  readonly now: () => number;
}

export function createMetaHandler(deps: MetaRouteDeps): Handler {
  const routes: Readonly<Record<string, () => JsonValue>> = {
    '/pdb/meta/v1/version': () => ({ version: deps.version }),
    // Nobody is asked whether there is a newer one.
    '/pdb/meta/v1/version/latest': () => ({ newer: false, version: deps.version, link: null }),
    '/pdb/meta/v1/server-time': () => ({ server_time: formatTime(deps.now()) }),
  };
  return (exchange: Exchange) => {
    // They are refused before anything else is looked at, on every path.
    const parameters = [...parseForm(exchange.queryString).keys()];
    if (parameters.length > 0) {
      exchange.reply(textReply(400, `Unsupported query parameter '${firstOfSet(parameters)}'`));
      return;
    }
    const refused = refuseAccept(exchange);
    if (refused !== null) {
      exchange.reply(refused);
      return;
    }
    const route = Object.hasOwn(routes, exchange.path) ? routes[exchange.path] : undefined;
    if (route === undefined) {
      exchange.reply(NOT_FOUND);
      return;
    }
    exchange.reply(prettyReply(200, route()));
  };
}
