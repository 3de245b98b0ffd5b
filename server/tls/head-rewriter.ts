// Reads the requests of one TLS connection as they stream by and writes them on with the verified client name in a header
// that no client can set itself. It must find exactly the same request boundaries as the HTTP server behind it, so it is
// strict where parsers disagree, and passes on a normalised form:
//
//   head   one request line and header lines ended by CRLF; our own headers are taken out, then put in
//   body   Content-Length: passed through by count
//          chunked: sizes are written anew, extensions and trailers dropped
//
// Whatever is ambiguous (both framings, repeated lengths, folded lines, bare CR or LF, blanks before a colon) is refused.
// Pure: bytes in, bytes out; a body is passed on as views of what came in.

/** Common name of the client certificate, percent-encoded; absent when the client has none. */
export const clientNameHeader = 'x-muster-client-name';
/** On a request that the gate made up in place of one it refuses: `400 reason`. The answer keeps its turn that way. */
export const refusalHeader = 'x-muster-refused';
/** Clients may not send any header that begins like this. */
const reservedPrefix = 'x-muster-';

export interface Refusal {
  readonly status: 400 | 431 | 501;
  readonly reason: string;
  /** The refusal has been passed on as a request. Otherwise it came inside a body and the connection is of no more use. */
  readonly inTurn: boolean;
}

class Refused extends Error {
  readonly status: Refusal['status'];
  constructor(status: Refusal['status'], reason: string) {
    super(reason);
    this.status = status;
  }
}

type State = 'head' | 'body' | 'chunk-size' | 'chunk-data' | 'chunk-end' | 'trailers' | 'refused';

/** Longest line with a chunk's size and extensions, and all trailers together. */
const chunkLineMax = 4096;
const trailersMax = 16_384;
const endOfHead = Buffer.from('\r\n\r\n');
const lineEnd = Buffer.from('\r\n');
const lastChunk = Buffer.from('0\r\n\r\n');
const tokenPattern = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
// Everything printable and bytes above ASCII; no control characters besides the tab.
const valuePattern = /^[\t\x20-\x7e\x80-\xff]*$/;
const targetPattern = /^[\x21-\x7e\x80-\xff]+$/;

export class HeadRewriter {
  readonly #headMax: number;
  readonly #added: string;
  #state: State = 'head';
  /** Bytes of an unfinished head, chunk line or trailer. */
  #pending: Buffer = Buffer.alloc(0);
  #held = 0;
  /** Where the input goes on after `#collect`. */
  #consumed = 0;
  /** Bytes of body or chunk still to come. */
  #remaining = 0;
  #requests = 0;

  /** `clientName`: of the verified certificate, or null. `headMax`: bytes of a request line with its headers. */
  constructor(clientName: string | null, headMax: number) {
    this.#headMax = headMax;
    this.#added = clientName === null ? '' : `${clientNameHeader}: ${encodeURIComponent(clientName)}\r\n`;
  }

  /** Requests whose head has been passed on. */
  get requests(): number {
    return this.#requests;
  }

  /**
   * Takes the next bytes and appends what is to be passed on to `out`. After a refusal everything further is dropped;
   * `out` then ends with a request that carries the refusal, to be answered in its turn.
   */
  push(chunk: Buffer, out: Buffer[]): Refusal | null {
    if (this.#state === 'refused') return null;
    try {
      let position = 0;
      while (position < chunk.length) position = this.#step(chunk, position, out);
      return null;
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      const inTurn = this.#state === 'head';
      this.#state = 'refused';
      if (inTurn) out.push(refusalRequest(error.status, error.message));
      return { status: error.status, reason: error.message, inTurn };
    }
  }

  #step(chunk: Buffer, position: number, out: Buffer[]): number {
    switch (this.#state) {
      case 'head':
        return this.#head(chunk, position, out);
      case 'body':
        return this.#pass(chunk, position, out, 'head');
      case 'chunk-size':
        return this.#chunkSize(chunk, position, out);
      case 'chunk-data':
        return this.#pass(chunk, position, out, 'chunk-end');
      case 'chunk-end':
        return this.#chunkEnd(chunk, position, out);
      case 'trailers':
        return this.#trailers(chunk, position, out);
      case 'refused':
        return chunk.length;
    }
  }

  /** Passes on up to `#remaining` bytes, then goes to `next`. */
  #pass(chunk: Buffer, position: number, out: Buffer[], next: State): number {
    const end = Math.min(chunk.length, position + this.#remaining);
    out.push(chunk.subarray(position, end));
    this.#remaining -= end - position;
    if (this.#remaining === 0) this.#state = next;
    return end;
  }

  /**
   * Collects bytes up to and including `mark`. Returns null while it has not come, else the bytes (valid until the next
   * call); `#consumed` is where the input goes on. Never holds more than `max` bytes and the length of the mark.
   */
  #collect(chunk: Buffer, position: number, mark: Buffer, max: number, tooLong: Refused): Buffer | null {
    const before = this.#held;
    let text: Buffer;
    if (before === 0) {
      text = chunk.subarray(position, position + max + mark.length);
    } else {
      this.#hold(chunk, position, max + mark.length);
      text = this.#pending.subarray(0, this.#held);
    }
    const index = text.indexOf(mark, Math.max(0, before - mark.length + 1));
    if (index >= 0 && index + mark.length <= max) {
      this.#held = 0;
      this.#consumed = position + index + mark.length - before;
      return text.subarray(0, index + mark.length);
    }
    if (text.length >= max) throw tooLong;
    if (before === 0) this.#hold(chunk, position, max + mark.length);
    this.#consumed = chunk.length;
    return null;
  }

  /** Appends to the held bytes, at most up to `max` in all. Room doubles, so that tiny chunks stay cheap. */
  #hold(chunk: Buffer, position: number, max: number): void {
    const end = Math.min(chunk.length, position + max - this.#held);
    const size = this.#held + end - position;
    if (size > this.#pending.length) {
      const larger = Buffer.allocUnsafe(Math.max(size, Math.min(max, 2 * this.#pending.length), 256));
      this.#pending.copy(larger, 0, 0, this.#held);
      this.#pending = larger;
    }
    chunk.copy(this.#pending, this.#held, position, end);
    this.#held = size;
  }

  #head(chunk: Buffer, position: number, out: Buffer[]): number {
    let start = position;
    if (this.#held === 0) {
      // Empty lines between requests are allowed and dropped.
      while (chunk[start] === 13 && chunk[start + 1] === 10) start += 2;
      if (start === chunk.length) return start;
      if (chunk[start] === 10) throw new Refused(400, 'a line feed without a carriage return');
    } else if (this.#held === 1 && this.#pending[0] === 13 && chunk[start] === 10) {
      this.#held = 0;
      return start + 1;
    }
    const tooLong = new Refused(431, 'request line and headers are too long');
    const head = this.#collect(chunk, start, endOfHead, this.#headMax, tooLong);
    if (head === null) return this.#consumed;
    this.#takeHead(head.toString('latin1', 0, head.length - 4), out);
    this.#requests += 1;
    return this.#consumed;
  }

  #takeHead(head: string, out: Buffer[]): void {
    const lines = head.split('\r\n');
    const version = checkRequestLine(lines[0]!);
    let length: number | null = null;
    let isChunked = false;
    let hasHost = false;
    let written = `${lines[0]}\r\n`;
    for (let index = 1; index < lines.length; index += 1) {
      const line = lines[index]!;
      const colon = line.indexOf(':');
      if (colon < 0) throw new Refused(400, 'a header line without a colon');
      const name = line.slice(0, colon);
      // Covers folded lines and blanks before the colon too: neither is a token.
      if (!tokenPattern.test(name)) throw new Refused(400, 'a malformed header name');
      const value = line.slice(colon + 1);
      if (!valuePattern.test(value)) throw new Refused(400, 'a control character in a header');
      switch (name.toLowerCase()) {
        case 'content-length':
          if (length !== null) throw new Refused(400, 'more than one Content-Length');
          length = contentLength(value.trim());
          break;
        case 'transfer-encoding':
          if (isChunked) throw new Refused(400, 'more than one Transfer-Encoding');
          if (value.trim().toLowerCase() !== 'chunked')
            throw new Refused(501, 'only chunked transfer encoding is taken');
          isChunked = true;
          break;
        case 'host':
          if (hasHost) throw new Refused(400, 'more than one Host');
          hasHost = true;
          break;
        case 'upgrade':
        case 'trailer':
        case 'te':
          continue;
        default:
          if (name.toLowerCase().startsWith(reservedPrefix)) continue;
      }
      written += `${line}\r\n`;
    }
    if (isChunked && length !== null) throw new Refused(400, 'both Content-Length and Transfer-Encoding');
    if (isChunked && version === '1.0') throw new Refused(400, 'a transfer encoding in HTTP/1.0');
    if (!hasHost && version === '1.1') throw new Refused(400, 'no Host');
    out.push(Buffer.from(`${written}${this.#added}\r\n`, 'latin1'));
    this.#remaining = length ?? 0;
    if (isChunked) this.#state = 'chunk-size';
    else if (this.#remaining > 0) this.#state = 'body';
  }

  #chunkSize(chunk: Buffer, position: number, out: Buffer[]): number {
    const line = this.#collect(
      chunk,
      position,
      lineEnd,
      chunkLineMax,
      new Refused(400, 'a chunk size that is too long'),
    );
    if (line === null) return this.#consumed;
    const text = line.toString('latin1', 0, line.length - 2);
    const match = /^([0-9A-Fa-f]{1,12})[ \t]*(?:;[\t\x20-\x7e\x80-\xff]*)?$/.exec(text);
    if (match === null) throw new Refused(400, 'a malformed chunk size');
    this.#remaining = Number.parseInt(match[1]!, 16);
    if (this.#remaining === 0) {
      this.#state = 'trailers';
    } else {
      out.push(Buffer.from(`${this.#remaining.toString(16)}\r\n`));
      this.#state = 'chunk-data';
    }
    return this.#consumed;
  }

  /** The line end after a chunk's bytes; `#remaining` counts what has been seen of it. */
  #chunkEnd(chunk: Buffer, position: number, out: Buffer[]): number {
    if (chunk[position] !== lineEnd[this.#remaining]) throw new Refused(400, 'a chunk that is longer than its size');
    this.#remaining += 1;
    if (this.#remaining === lineEnd.length) {
      this.#remaining = 0;
      out.push(lineEnd);
      this.#state = 'chunk-size';
    }
    return position + 1;
  }

  /** Trailer lines up to an empty one, all of them dropped. */
  #trailers(chunk: Buffer, position: number, out: Buffer[]): number {
    const line = this.#collect(chunk, position, lineEnd, trailersMax, new Refused(400, 'trailers that are too long'));
    if (line === null) return this.#consumed;
    this.#remaining += line.length;
    if (this.#remaining > trailersMax) throw new Refused(400, 'trailers that are too long');
    if (line.length > 2) {
      const text = line.toString('latin1', 0, line.length - 2);
      const colon = text.indexOf(':');
      if (colon < 1 || !tokenPattern.test(text.slice(0, colon))) throw new Refused(400, 'a malformed trailer');
      return this.#consumed;
    }
    out.push(lastChunk);
    this.#remaining = 0;
    this.#state = 'head';
    return this.#consumed;
  }
}

/** A harmless request that tells the HTTP server what to answer. */
function refusalRequest(status: number, reason: string): Buffer {
  const head = 'GET /pdb/meta/v1/version HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n';
  return Buffer.from(`${head}${refusalHeader}: ${status} ${reason}\r\n\r\n`, 'latin1');
}

function checkRequestLine(line: string): '1.0' | '1.1' {
  const parts = line.split(' ');
  if (parts.length !== 3) throw new Refused(400, 'a malformed request line');
  const [method, target, version] = parts as [string, string, string];
  if (!tokenPattern.test(method)) throw new Refused(400, 'a malformed method');
  if (method === 'CONNECT') throw new Refused(501, 'CONNECT is not offered');
  if (!targetPattern.test(target)) throw new Refused(400, 'a malformed request target');
  if (version !== 'HTTP/1.1' && version !== 'HTTP/1.0') throw new Refused(400, 'a version other than HTTP/1.1 or 1.0');
  return version === 'HTTP/1.1' ? '1.1' : '1.0';
}

function contentLength(text: string): number {
  if (!/^\d{1,15}$/.test(text)) throw new Refused(400, 'a malformed Content-Length');
  return Number(text);
}
