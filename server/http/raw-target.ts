// Queries that are not percent-encoded. PuppetDB's web server takes the bytes beyond ASCII of a query string as UTF-8; llhttp
// refuses them wherever they stand in a target. Such a request is encoded and parsed again.

import type { Server } from 'node:http';
import type { Duplex } from 'node:stream';

/** What Node adds to the error of a request that it cannot parse. */
export interface ParseError extends NodeJS.ErrnoException {
  /** The bytes that arrived together, of which the parser refused one. */
  readonly rawPacket?: Buffer;
  /** How many of them stand before that one. */
  readonly bytesParsed?: number;
}

/**
 * The packet of a refused request with its query string percent-encoded; null when that is not what was wrong with it, or
 * when the request began in an earlier packet, which is gone.
 */
export function encodedQuery(error: ParseError): Buffer | null {
  const { rawPacket: packet, bytesParsed = Number.POSITIVE_INFINITY } = error;
  if (error.code !== 'HPE_INVALID_URL' || packet === undefined) return null;
  const lineEnd = packet.indexOf('\n');
  const line = packet.toString('latin1', 0, lineEnd < 0 ? packet.length : lineEnd);
  const target = REQUEST_LINE.exec(line);
  // Refused further behind, the packet begins with the end of an earlier request: bytes of a body may look like a request line.
  if (target === null || bytesParsed > line.length) return null;
  const [, path = '', query = '', version = ''] = target;
  const encoded = query.replace(/[\x80-\xff]/g, (byte) => `%${byte.charCodeAt(0).toString(16)}`);
  if (encoded === query) return null;
  return Buffer.concat([Buffer.from(`${path}${encoded}${version}`, 'latin1'), packet.subarray(line.length)]);
}

/** The query string, and what stands before and behind it. A line that has not arrived whole ends in its query. */
const REQUEST_LINE = /^([A-Z]+ [!->@-~]*\?)([^ ]*)( HTTP\/1\.[01]\r?)?$/;

/** Node's parser: it is timed while it is in the server's list of them. */
interface Timed {
  remove(): void;
}

/** Has the server parse a connection anew, from these bytes on, as if it had just been accepted. */
export function parseAgain(server: Server, socket: Duplex & { parser?: Timed | null }, bytes: Buffer): void {
  // The first parser waits for the end of its request, and would cut the connection off when its time is over.
  socket.parser?.remove();
  // A listener for data takes the socket back from the parser, which otherwise reads from it without events.
  socket.on('data', () => {});
  for (const event of ['data', 'end', 'drain', 'timeout', 'resume', 'pause']) socket.removeAllListeners(event);
  server.emit('connection', socket);
  socket.unshift(bytes);
}
