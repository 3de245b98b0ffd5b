// Answers that several routes give, and the two spellings of JSON answers. Texts are what PuppetDB 8 sends.

import { prettyJson } from '../../engine/json/pretty.ts';
import type { JsonValue } from '../../engine/json/value.ts';
import { JSON_TYPE, TEXT_TYPE } from '../../engine/query/request.ts';
import type { SubmissionRefused } from '../../workers/types.ts';
import type { Exchange, Reply } from './exchange.ts';

export const HTML_TYPE = 'text/html;charset=utf-8';
const SERVER_HTML_TYPE = 'text/html;charset=iso-8859-1';

export const textReply = (status: number, body: string): Reply => ({ status, contentType: TEXT_TYPE, body });

/** Indented, as answers are that the application builds itself. */
export const prettyReply = (status: number, value: JsonValue): Reply => ({
  status,
  contentType: JSON_TYPE,
  body: prettyJson(value),
});

/** `{"error": text}`. */
export const errorReply = (status: number, text: string): Reply => prettyReply(status, { error: text });

/** The same with the text as `msg`, too, which is what PuppetDB's own import client shows. */
export const archiveErrorReply = (status: number, text: string): Reply =>
  prettyReply(status, { error: text, msg: text });

/** When a client whose command was not taken may come again. From a server that stops it had better turn to another. */
export const retryHeaders = ({ reason, retryAfter }: SubmissionRefused): readonly (readonly [string, string])[] =>
  reason === 'stopping' ? [] : [['Retry-After', String(Math.max(1, Math.ceil(retryAfter)))]];

const compactReply = (status: number, value: unknown): Reply => ({
  status,
  contentType: JSON_TYPE,
  body: JSON.stringify(value),
});

/** What every unknown path below `/pdb` gets. */
export const NOT_FOUND: Reply = { status: 404, contentType: HTML_TYPE, body: 'Not Found' };

/** No content type: clients look at the status alone. */
export const STARTING: Reply = {
  status: 503,
  contentType: null,
  body: 'PuppetDB is currently down. Try again later.',
};

/** What the web server itself says of a request that is no HTTP. */
export const badMessage = (status: number, reason: string): Reply => ({
  status,
  contentType: SERVER_HTML_TYPE,
  body: `<h1>Bad Message ${status}</h1><pre>reason: ${reason}</pre>`,
});

/** Methods whose refusals have a page. */
const PAGE_METHODS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'POST']);

/** A path that belongs to no application: a page, or for other methods the bare status. */
export function unknownPath({ method, path }: Pick<Exchange, 'method' | 'path'>): Reply {
  if (!PAGE_METHODS.has(method)) return { status: 404, contentType: null, body: null };
  const row = (name: string, value: string): string => `<tr><th>${name}:</th><td>${value}</td></tr>\n`;
  return {
    status: 404,
    contentType: SERVER_HTML_TYPE,
    headers: [['Cache-Control', 'must-revalidate,no-cache,no-store']],
    body:
      '<html>\n<head>\n<title>Error 404 Not Found</title>\n</head>\n<body>\n<h2>HTTP ERROR 404 Not Found</h2>\n<table>\n' +
      row('URI', escapeHtml(path)) +
      row('STATUS', '404') +
      row('MESSAGE', 'Not Found') +
      row('SERVLET', '-') +
      '</table>\n</body>\n</html>\n',
  };
}

const HTML_ESCAPES: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' };

/** Printable ASCII in which no markup is left. */
const escapeHtml = (text: string): string =>
  text
    .replace(/[&<>"]/g, (char) => HTML_ESCAPES[char] as string)
    .replace(/[^ -~]/gu, (char) => `&#${char.codePointAt(0)};`);

/** 302 without a body. What cannot stand in a header is percent-encoded. */
export const redirect = (location: string): Reply => ({
  status: 302,
  contentType: null,
  headers: [['Location', location.replace(/[^!-~]/gu, encodeCharacter)]],
  body: null,
});

const encodeCharacter = (char: string): string =>
  Buffer.from(char, 'utf8')
    .toString('hex')
    .replace(/../g, (byte) => `%${byte.toUpperCase()}`);

/** Whether the request only wants to see something. */
export const isRead = ({ method }: Pick<Exchange, 'method'>): boolean => method === 'GET' || method === 'HEAD';

const JSON_RANGES = new Set(['application/json', 'application/*', '*/*']);

/**
 * null when the client takes JSON, else the 406. Compared literally, one range at a time: parameters (`;q=0.9`,
 * `; charset=utf-8`) and other letter case defeat the match, an empty header matches nothing.
 */
export function refuseAccept(exchange: Exchange): Reply | null {
  if (!exchange.has('accept')) return null;
  const accepted = exchange.header('accept');
  if (JSON_RANGES.has(accepted)) return null;
  for (const range of accepted.split(',')) if (JSON_RANGES.has(range.trim())) return null;
  return compactReply(406, { kind: 'not-acceptable', msg: 'accept header must include application/json' });
}

/** null when the body is JSON or says nothing of its type (also: nothing that is one), else the 415. */
export function refuseContentType(exchange: Exchange): Reply | null {
  if (!exchange.has('content-type')) return null;
  const type = mediaType(exchange.header('content-type'));
  if (type.toLowerCase() === 'application/json' || !MEDIA_TYPE.test(type)) return null;
  const method = exchange.method.toLowerCase();
  return compactReply(415, {
    kind: 'unsupported-type',
    msg: `content-type ${type} is not a supported type for request of type :${method} at ${exchange.path}`,
  });
}

/** null when body and answer may be what the request says; only what is posted has a body. */
export const refuseMedia = (exchange: Exchange): Reply | null =>
  (exchange.method === 'POST' ? refuseContentType(exchange) : null) ?? refuseAccept(exchange);

const MEDIA_TYPE = /^[^/,]+\/[^/,]+$/;

/** The type without its parameters, and without the white space that may stand around its parts. */
export function mediaType(header: string): string {
  const semicolon = header.indexOf(';');
  const type = semicolon < 0 ? header : header.slice(0, semicolon);
  // A regular expression would go over a run of white space once for each character of it: minutes, where it is as long as a header may be.
  return type
    .split('/')
    .map((part) => part.trim())
    .join('/');
}
