// Memory on its way to another thread.

/** The bytes in memory of their own, which can be transferred: small buffers of Node share theirs. */
export function ownMemory(bytes: Uint8Array): Uint8Array<ArrayBuffer> {
  const isOwn = bytes.buffer instanceof ArrayBuffer && bytes.byteLength === bytes.buffer.byteLength;
  return isOwn ? (bytes as Uint8Array<ArrayBuffer>) : Uint8Array.from(bytes);
}
