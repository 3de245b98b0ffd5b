// Texts that somebody could send who knows how texts are hashed, and not the seed.

/** Texts whose literals, of four words, have one hash under a seed of 0 (engine/wasm/common/memory.ts): the third word takes back what the first does. */
export function textsOfOneHash(count: number): string[] {
  const bytes = Buffer.from(new ArrayBuffer(32));
  bytes.write('"aaaaaaabbbbbbbbccccccccddddddd"');
  const words = new Int32Array(bytes.buffer);
  const texts: string[] = [];
  while (texts.length < count) {
    for (let at = 1; ++bytes[at]! > 0x7a; at++) bytes[at] = 0x61;
    // The product of the first word, with the size in it, and the hash's factor: 64 bits in parts of 16 and 32.
    const low = words[0]! ^ bytes.length;
    const end = (low & 0xffff) * 0x4a7d;
    const middle = (low & 0xffff) * 0xb97f + (low >>> 16) * 0x4a7d + Math.floor(end / 65536);
    const top = (low >>> 16) * 0xb97f + Math.floor(middle / 65536);
    const high = (top + Math.imul(words[1]!, 0xb97f4a7d) + Math.imul(low, 0x1e3779)) | 0;
    words[5] = high;
    // Any constant beside it will do: with this one there are such texts of ASCII.
    words[4] = ((middle << 16) | (end & 0xffff)) ^ high ^ 0x80;
    let at = 16;
    while (at < 24 && bytes[at]! >= 0x20 && bytes[at]! < 0x7f && bytes[at] !== 0x22 && bytes[at] !== 0x5c) at++;
    if (at === 24) texts.push(bytes.toString('latin1', 1, bytes.length - 1));
  }
  return texts;
}
