// What no server that reads its commands can do without: unpack the bytes once, parse them once, hash them once.

import { createHash } from 'node:crypto';
import { gunzipSync } from 'node:zlib';

export const unpack = (body: Uint8Array): Buffer => gunzipSync(body);

export const parse = (plain: Buffer): unknown => JSON.parse(plain.toString('utf8'));

export const hash = (plain: Buffer): Buffer => createHash('sha1').update(plain).digest();
