// The digest of an answer of any length, read row by row.

import type { Asked, Client } from './client.ts';
import { RowDigest } from './digest.ts';
import { RowCounter } from './row-counter.ts';

interface Dump {
  readonly rows: number;
  readonly bytes: number;
  readonly digest: string;
}

/** Of an array of objects. Throws unless it is a whole one. */
export async function digestOfDump(client: Client, asked: Asked): Promise<Dump> {
  const digest = new RowDigest();
  const counter = new RowCounter((text) => digest.add(JSON.parse(text)));
  const { status, bytes } = await client.read(asked, (chunk) => counter.push(chunk));
  if (status !== 200) throw new Error(`${asked.path} got ${status}`);
  if (!counter.complete) throw new Error(`${asked.path}: the answer is cut`);
  return { rows: counter.rows, bytes, digest: digest.toString() };
}
