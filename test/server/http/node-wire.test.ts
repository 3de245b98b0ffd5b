import { test } from 'node:test';
import { HTTP_LIMITS } from '../../../server/http/limits.ts';
import { createNodeServer } from '../../../server/http/node-wire.ts';
import type { Wire } from '../../../server/http/wire.ts';
import { atEnd } from '../../support/endings.ts';
import { eventually, RawClient } from '../support/http.ts';

test('wire: bytes that a broken connection never takes are free when it is over', async (t) => {
  let freed = 0;
  let isGone = false;
  const play = (wire: Wire): void => {
    wire.gone = () => {
      isGone = true;
    };
    wire.start({ status: 200, headers: [] });
    wire.destroy();
    // Node drops these without a word.
    wire.write(Buffer.alloc(1000), () => freed++);
    wire.write(Buffer.alloc(1000), () => freed++);
  };
  const server = createNodeServer('http', HTTP_LIMITS, play);
  const port = await server.listen('127.0.0.1', 0);
  atEnd(t, () => {
    server.stopListening();
    server.destroyConnections();
  });
  const client = await RawClient.open(port);
  client.send('GET / HTTP/1.1\r\nHost: x\r\n\r\n');
  await client.closed();
  await eventually(() => isGone, 'gone');
  await eventually(() => freed === 2, 'free');
});
