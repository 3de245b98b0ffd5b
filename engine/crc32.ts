// The checksum of gzip (RFC 1952) and of the command log.

import zlib from 'node:zlib';

const TABLE = Uint32Array.from({ length: 256 }, (_, byte) => {
  let crc = byte;
  for (let bit = 0; bit < 8; bit++) crc = crc & 1 ? (crc >>> 1) ^ 0xedb88320 : crc >>> 1;
  return crc;
});

/** The same sum as zlib's, for Node versions before 20.15. */
export function crc32InScript(bytes: Uint8Array, seed = 0): number {
  let crc = ~seed;
  for (let i = 0; i < bytes.length; i++) crc = TABLE[(crc ^ bytes[i]!) & 0xff]! ^ (crc >>> 8);
  return ~crc >>> 0;
}

/** Of the bytes, going on from the sum of those before. */
export const crc32: (bytes: Uint8Array, seed?: number) => number =
  typeof zlib.crc32 === 'function' ? zlib.crc32 : crc32InScript;
