// Talks to a running server: what `query`, `clean`, `delete`, `export`, `import` and `stats` have in common. Answers are
// streams; a server that is not there becomes exit status 3, a refusal becomes 1 with the server's own words.

import { readFileSync } from 'node:fs';
import { request as httpRequest, type IncomingMessage } from 'node:http';
import { request as httpsRequest } from 'node:https';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createSecureContext } from 'node:tls';
import { reasonOf } from '../../engine/reason.ts';
import { ownVersion } from '../ops/own-version.ts';
import { printableLines } from '../printable.ts';
import type { OptionSpec, ParsedArguments } from './arguments.ts';
import { CliFailure, exitStatus, type Terminal } from './command.ts';

const URL_DEFAULT = 'http://127.0.0.1:8080';

export const clientOptions: Readonly<Record<string, OptionSpec>> = {
  url: {
    type: 'text',
    short: 'u',
    value: 'URL',
    group: 'Which server',
    doc: `The server. [$MUSTER_URL, else ${URL_DEFAULT}]`,
  },
  cert: {
    type: 'text',
    value: 'FILE',
    group: 'Which server',
    doc: 'Client certificate for HTTPS, PEM. [$MUSTER_CERT]',
  },
  key: { type: 'text', value: 'FILE', group: 'Which server', doc: 'Its private key, PEM. [$MUSTER_KEY]' },
  ca: { type: 'text', value: 'FILE', group: 'Which server', doc: 'Authority of the server, PEM. [$MUSTER_CA]' },
};

interface ClientRequest {
  readonly method: 'GET' | 'POST';
  /** With query string. */
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Buffer | Readable;
}

/** Contents of PEM files. */
interface ClientTls {
  readonly cert?: Buffer;
  readonly key?: Buffer;
  readonly ca?: Buffer;
}

/** The server answered, and not with what it was asked for. */
export class Refusal extends CliFailure {
  /** Whether it would say the same the next time. */
  readonly isForGood: boolean;

  constructor(httpStatus: number, message: string) {
    super(exitStatus.failed, message);
    this.isForGood = httpStatus < 500;
  }
}

export class Client {
  readonly url: URL;
  readonly #tls: ClientTls;
  readonly #userAgent = `muster/${ownVersion()}`;

  constructor(url: string, tls: ClientTls) {
    try {
      this.url = new URL(url);
    } catch {
      throw new CliFailure(exitStatus.usage, `\`${url}\` is not an address like ${URL_DEFAULT}`);
    }
    if (this.url.protocol !== 'http:' && this.url.protocol !== 'https:') {
      throw new CliFailure(exitStatus.usage, `\`${url}\` begins with neither http:// nor https://`);
    }
    this.#tls = tls;
  }

  /** The answer, whatever its status. Rejects with CliFailure when there is none. */
  async send(request: ClientRequest): Promise<IncomingMessage> {
    const { body } = request;
    const send = this.url.protocol === 'https:' ? httpsRequest : httpRequest;
    const headers = { accept: 'application/json', 'user-agent': this.#userAgent, ...request.headers };
    // A connection of its own: one that was kept could be closed by the server just now.
    const options = { method: request.method, headers, agent: false as const, ...this.#tls };
    const outgoing = send(new URL(this.#pathOf(request), this.url), options);
    const answer = new Promise<IncomingMessage>((resolve, reject) => {
      outgoing.on('response', resolve);
      outgoing.on('error', (error) => reject(this.#unreachable(error)));
    });
    if (body === undefined || typeof body === 'string' || Buffer.isBuffer(body)) outgoing.end(body);
    // A refusal may come before the body is through: the answer says more than the broken pipe.
    else pipeline(body, outgoing).catch((error: NodeJS.ErrnoException) => outgoing.destroy(error));
    return answer;
  }

  /** The answer of a request that has to succeed. Rejects with Refusal when it does not. */
  async ask(request: ClientRequest): Promise<IncomingMessage> {
    const answer = await this.send(request);
    const status = answer.statusCode ?? 0;
    if (status >= 200 && status < 300) return answer;
    throw new Refusal(status, `${this.#told(request)}: ${status} ${printableLines(await refusalText(answer))}`);
  }

  async askText(request: ClientRequest): Promise<string> {
    return readText(chunksOf(await this.ask(request)));
  }

  /** The same, parsed. Rejects with Refusal when it is no JSON, or of another form: most likely another kind of server answers there. */
  async askJson<T>(request: ClientRequest, hasForm: (answer: unknown) => answer is T): Promise<T> {
    const text = await this.askText(request);
    const refusal = (what: string): Refusal => {
      const whose = `is ${this.url.origin} the address of a PuppetDB or Muster?`;
      return new Refusal(200, `the answer to ${this.#told(request)} ${what}; ${whose}`);
    };
    let answer: unknown;
    try {
      answer = JSON.parse(text);
    } catch {
      throw refusal('is no JSON');
    }
    if (!hasForm(answer)) throw refusal('is JSON of another form');
    return answer;
  }

  /** Behind the path that the server's address may have. */
  #pathOf({ path }: ClientRequest): string {
    return `${this.url.pathname.replace(/\/$/, '')}${path}`;
  }

  /** Without the query string, which may be long. */
  #told(request: ClientRequest): string {
    return this.#pathOf(request).split('?')[0]!;
  }

  #unreachable(error: NodeJS.ErrnoException): CliFailure {
    if (this.#tls.cert === undefined && wantsCertificate(error)) {
      const text = `${this.url.origin} wants a client certificate; give --cert and --key, or $MUSTER_CERT and $MUSTER_KEY`;
      return new CliFailure(exitStatus.unreachable, text);
    }
    const text = `no answer from ${this.url.origin}: ${whyOf(error)}${this.#hint(error)}`;
    return new CliFailure(exitStatus.unreachable, text);
  }

  /** What may be the way out, where the error is one that tells. */
  #hint({ code = '' }: NodeJS.ErrnoException): string {
    if (this.#tls.ca === undefined && OF_UNKNOWN_AUTHORITY.has(code)) {
      return '; give the authority of its certificate as --ca or $MUSTER_CA';
    }
    if (code !== 'ECONNRESET') return '';
    if (this.url.protocol === 'http:') return '; if it speaks HTTPS, its URL begins with https://';
    return this.#tls.cert === undefined ? '' : '; if it refused the client certificate, its log (area tls) says why';
  }
}

/** What JSON an answer may be. */
export const isList = (answer: unknown): answer is readonly unknown[] => Array.isArray(answer);
export const isMap = (answer: unknown): answer is Readonly<Record<string, unknown>> =>
  typeof answer === 'object' && answer !== null && !isList(answer);

/** In one line. Of an answer that is no TLS OpenSSL tells where in its code it noticed. */
function whyOf(error: NodeJS.ErrnoException): string {
  const { code, message } = error;
  if (message.includes('wrong version number'))
    return 'it does not speak HTTPS; if it speaks HTTP, its URL begins with http://';
  return (code === undefined || message.includes(code) ? message : `${code} ${message}`) || String(error);
}

/** What OpenSSL calls a server's certificate that was signed by nobody known here. */
const OF_UNKNOWN_AUTHORITY: ReadonlySet<string> = new Set([
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
]);

/** What a server that a certificate is missing for says: TLS 1.3 has a word for it, earlier versions end the handshake. */
const wantsCertificate = ({ code, message }: NodeJS.ErrnoException): boolean =>
  code === 'ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED' || message.includes('alert handshake failure');

/** `url`: of the server when nothing names another; null: it is the usual one. */
export function clientOf(args: ParsedArguments, terminal: Terminal, url: string | null = null): Client {
  const variable = (name: string) => `MUSTER_${name.toUpperCase()}`;
  const value = (name: string) => args.options[name] ?? (terminal.environment[variable(name)] || undefined);
  const sourceOf = (name: string) => (args.options[name] === undefined ? `$${variable(name)}` : `--${name}`);
  const file = (name: string) => {
    const path = value(name);
    if (path === undefined) return {};
    try {
      return { [name]: readFileSync(path) };
    } catch (error) {
      throw new CliFailure(exitStatus.usage, `${sourceOf(name)}: ${path}: ${reasonOf(error)}`);
    }
  };
  const tls = { ...file('cert'), ...file('key'), ...file('ca') };
  checkTls(tls, sourceOf);
  return new Client(value('url') ?? url ?? URL_DEFAULT, tls);
}

/** Throws CliFailure for files that are of no use, before they are needed. `sourceOf`: what named the file. */
function checkTls(tls: ClientTls, sourceOf: (name: string) => string): void {
  const given = Object.keys(tls).map(sourceOf);
  if ((tls.cert === undefined) !== (tls.key === undefined)) {
    const [one, other] = tls.cert === undefined ? ['key', 'cert'] : ['cert', 'key'];
    const text = `give --cert and --key together, or neither: there is ${sourceOf(one)}, and no --${other}`;
    throw new CliFailure(exitStatus.usage, text);
  }
  if (given.length === 0) return;
  try {
    createSecureContext(tls);
  } catch (error) {
    // OpenSSL says where in its code it found the mistake, then what it is.
    const reason = reasonOf(error).replace(/^error:.*:/, '');
    throw new CliFailure(exitStatus.usage, `${given.join(', ')}: ${reason}`);
  }
}

/** The bytes of an answer as they come. Throws CliFailure where it breaks off. */
export async function* chunksOf(answer: IncomingMessage): AsyncGenerator<Buffer> {
  try {
    for await (const chunk of answer) yield chunk as Buffer;
  } catch (error) {
    throw brokenOff(error);
  }
}

/** The beginning of the answer came, its end did not. */
export const brokenOff = (error: unknown): CliFailure =>
  new CliFailure(exitStatus.failed, `the answer broke off: ${reasonOf(error)}`);

export async function readText(source: AsyncIterable<Buffer>): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of source) chunks.push(chunk);
  return Buffer.concat(chunks).toString('utf8');
}

/** What the server says is wrong: the text, or the member of its JSON that holds it. */
async function refusalText(answer: IncomingMessage): Promise<string> {
  const text = (await readText(chunksOf(answer))).trim();
  if (text.startsWith('{')) {
    try {
      const { error, msg } = JSON.parse(text) as { error?: unknown; msg?: unknown };
      return String(error ?? msg ?? text);
    } catch {
      // Not JSON after all.
    }
  }
  const isPage = text.startsWith('<');
  return isPage || text === '' ? (answer.statusMessage ?? '') : text;
}
