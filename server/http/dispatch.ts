// Which handler a request goes to, and what is checked before any of them sees it, in this order: the path's spelling,
// the certificate allowlist, the maintenance gate, then the longest mount. Errors that escape a handler become answers
// here, so that every request gets one.

import { hasWellFormedEscapes } from '../../engine/form.ts';
import { messageOf } from '../../engine/reason.ts';
import {
  BodiesFull,
  BodyTooLarge,
  ClientGone,
  type Exchange,
  type Handler,
  type Mount,
  type Reply,
} from './exchange.ts';
import type { HttpExchange } from './http-exchange.ts';
import { isBelow } from './paths.ts';
import { badMessage, STARTING, textReply, unknownPath } from './replies.ts';

interface DispatchOptions {
  readonly mounts: readonly Mount[];
  /** true until the server can serve: everything below `/pdb` answers 503. */
  readonly isStarting: () => boolean;
  /**
   * The certificate allowlist: asked for every request below `/pdb` that came over HTTPS. Returns the text of the 403, or
   * null to let the client in. null: every certificate the authority signed is good.
   */
  readonly refuseClient: ((exchange: Exchange) => string | null) | null;
  /** A handler failed in a way it did not expect. */
  readonly onError: (error: unknown, method: string, path: string) => void;
}

export function createDispatcher(options: DispatchOptions): (exchange: HttpExchange) => void {
  const mounts = [...options.mounts].sort((a, b) => b.prefix.length - a.prefix.length);
  for (let index = 1; index < mounts.length; index++) {
    if (mounts[index - 1]?.prefix === mounts[index]?.prefix) throw new Error(`two mounts at ${mounts[index]?.prefix}`);
  }

  const mountOf = (path: string): Mount | undefined => mounts.find(({ prefix }) => isBelow(path, prefix));

  const fail = (exchange: HttpExchange, error: unknown): void => {
    if (exchange.aborted || error instanceof ClientGone) return;
    const reply = expectedFailure(error);
    if (reply === null) options.onError(error, exchange.method, exchange.path);
    if (exchange.answered) exchange.cut();
    else exchange.reply(reply ?? textReply(500, messageOf(error)));
  };

  const run = (handler: Handler, exchange: HttpExchange): void => {
    try {
      handler(exchange)?.catch((error: unknown) => fail(exchange, error));
    } catch (error) {
      fail(exchange, error);
    }
  };

  return (exchange) => {
    const { path } = exchange;
    if (!hasWellFormedEscapes(path)) {
      exchange.reply(badMessage(400, 'Bad Request'));
      return;
    }
    const mount = mountOf(path);
    if (isBelow(path, '/pdb')) {
      const refusal =
        options.refuseClient === null || exchange.listener === 'http' ? null : options.refuseClient(exchange);
      if (refusal !== null) {
        exchange.reply(textReply(403, refusal));
        return;
      }
      if (options.isStarting() && mount?.whileStarting !== true) {
        exchange.reply(STARTING);
        return;
      }
    }
    if (mount === undefined) exchange.reply(unknownPath(exchange));
    else run(mount.handler, exchange);
  };
}

function expectedFailure(error: unknown): Reply | null {
  if (error instanceof BodyTooLarge) return textReply(413, `Request body is larger than ${error.max} bytes`);
  if (error instanceof BodiesFull) return { ...textReply(503, error.message), headers: [['Retry-After', '1']] };
  return null;
}
