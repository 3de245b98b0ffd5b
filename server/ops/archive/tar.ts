// Tar archives as streams: a writer of ustar headers (with POSIX extended headers for what does not fit: long or non-ASCII
// names), and a reader for what common programs write (ustar with name prefix, POSIX extended and global headers, GNU long
// names, sizes in base 256). Only names, sizes and contents matter here; nothing is ever unpacked to disk.

const BLOCK_BYTES = 512;

/** The bytes are no tar archive, or a part of it is missing or unreasonable. The message is for the client. */
export class BadArchive extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'BadArchive';
  }
}

interface TarEntry {
  readonly name: string;
  readonly size: number;
  /** Regular files only; others have no contents here. */
  readonly isFile: boolean;
}

/** The two empty blocks at the end of an archive. */
export const tarEnd = (): Uint8Array => new Uint8Array(2 * BLOCK_BYTES);

/** Header, contents and padding of one file. `seconds`: modification time, epoch. */
export function* tarFile(name: string, contents: Uint8Array, seconds: number): IterableIterator<Uint8Array> {
  const plain = Buffer.byteLength(name) <= 100 && /^[ -~]*$/.test(name);
  if (!plain) {
    const record = Buffer.from(extendedRecord('path', name));
    yield header(`././@PaxHeader/${shortened(name)}`, record.byteLength, seconds, 'x');
    yield* padded(record);
  }
  yield header(plain ? name : shortened(name), contents.byteLength, seconds, '0');
  yield* padded(contents);
}

/**
 * Entries of an archive in order. The contents of an entry are read by calling `contents`, at most `max` bytes (BadArchive
 * beyond); what is not asked for is skipped. Each entry lives until the next one is asked for. Throws BadArchive for
 * anything that is no archive; the end of the input counts as the end of the archive only between entries.
 */
export async function* readTar(
  source: AsyncIterable<Uint8Array>,
): AsyncGenerator<TarEntry & { contents(max: number): Promise<Uint8Array> }> {
  const input = new BlockReader(source);
  const next: Attributes = { ...NO_ATTRIBUTES };
  const global: Attributes = { ...NO_ATTRIBUTES };
  for (;;) {
    const block = await input.take(BLOCK_BYTES);
    if (block === null || block.every((byte) => byte === 0)) return;
    if (block.byteLength < BLOCK_BYTES || !hasChecksum(block)) throw new BadArchive('Input is not in the tar format');
    const type = String.fromCharCode(block[156] ?? 0);
    let size = numberField(block, 124, 12);
    if (type === 'x' || type === 'g' || type === 'L') {
      const data = await input.contents(size, EXTENDED_BYTES_MAX);
      if (type === 'L') next.path = textField(data, 0, data.byteLength);
      else readRecords(data, type === 'x' ? next : global);
      continue;
    }
    const sizeText = next.size ?? global.size;
    if (sizeText !== null) size = Number(sizeText);
    if (!Number.isSafeInteger(size) || size < 0) throw new BadArchive('An entry of the archive has no valid size');
    const name = next.path ?? global.path ?? ustarName(block);
    Object.assign(next, NO_ATTRIBUTES);
    let taken = false;
    yield {
      name,
      size,
      isFile: type === '0' || type === '\0' || type === '7',
      contents: (max) => {
        taken = true;
        return input.contents(size, max, name);
      },
    };
    if (!taken) await input.skip(paddedSize(size));
  }
}

/** Longest name or extended header that is taken: certnames may have nearly a megabyte. */
const EXTENDED_BYTES_MAX = 2 * 1024 * 1024;

const paddedSize = (size: number): number => Math.ceil(size / BLOCK_BYTES) * BLOCK_BYTES;

function* padded(contents: Uint8Array): IterableIterator<Uint8Array> {
  yield contents;
  const padding = paddedSize(contents.byteLength) - contents.byteLength;
  if (padding > 0) yield new Uint8Array(padding);
}

function header(name: string, size: number, seconds: number, type: string): Uint8Array {
  const block = Buffer.alloc(BLOCK_BYTES);
  block.write(name, 0, 100, 'latin1');
  block.write('0000644\0', 100, 'latin1');
  block.write('0000000\0', 108, 'latin1');
  block.write('0000000\0', 116, 'latin1');
  block.write(`${size.toString(8).padStart(11, '0')}\0`, 124, 'latin1');
  block.write(`${Math.max(0, Math.floor(seconds)).toString(8).padStart(11, '0')}\0`, 136, 'latin1');
  block.write(type, 156, 'latin1');
  block.write('ustar\x0000', 257, 'latin1');
  // The checksum counts its own field as blanks.
  block.fill(0x20, 148, 156);
  const sum = block.reduce((total, byte) => total + byte, 0);
  block.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148, 'latin1');
  return block;
}

/** What stands in the plain header of a name that does not fit there. */
const shortened = (name: string): string => name.replace(/[^ -~]/gu, '_').slice(-80);

/** `LENGTH path=VALUE\n`, where LENGTH counts itself. */
function extendedRecord(key: string, value: string): string {
  const rest = Buffer.byteLength(` ${key}=${value}\n`);
  let length = rest + String(rest).length;
  if (rest + String(length).length !== length) length = rest + String(length).length;
  return `${length} ${key}=${value}\n`;
}

/** What is used of extended headers: of the others an archive may have any number. */
interface Attributes {
  path: string | null;
  size: string | null;
}
const NO_ATTRIBUTES: Attributes = { path: null, size: null };

/** The records of an extended header, where they are used. */
function readRecords(data: Uint8Array, into: Attributes): void {
  const buffer = Buffer.from(data.buffer, data.byteOffset, data.byteLength);
  let at = 0;
  while (at < buffer.byteLength && buffer[at] !== 0) {
    const blank = buffer.indexOf(0x20, at);
    const length = Number(buffer.toString('latin1', at, Math.max(at, blank)));
    if (blank < 0 || !Number.isInteger(length) || length <= blank - at || at + length > buffer.byteLength) {
      throw new BadArchive('An extended header of the archive is malformed');
    }
    const text = buffer.toString('utf8', blank + 1, at + length - 1);
    const equals = text.indexOf('=');
    const key = text.slice(0, Math.max(0, equals));
    if (key === 'path' || key === 'size') into[key] = text.slice(equals + 1);
    at += length;
  }
}

function hasChecksum(block: Uint8Array): boolean {
  let sum = 0;
  for (let index = 0; index < BLOCK_BYTES; index++) sum += index >= 148 && index < 156 ? 0x20 : block[index]!;
  return sum === numberField(block, 148, 8);
}

function ustarName(block: Uint8Array): string {
  const name = textField(block, 0, 100);
  const isUstar = textField(block, 257, 5) === 'ustar';
  // GNU archives use the place of the prefix for other things.
  const prefix = isUstar && block[263] === 0x30 ? textField(block, 345, 155) : '';
  return prefix === '' ? name : `${prefix}/${name}`;
}

function textField(bytes: Uint8Array, start: number, length: number): string {
  const field = Buffer.from(bytes.buffer, bytes.byteOffset + start, length);
  const end = field.indexOf(0);
  return field.toString('utf8', 0, end < 0 ? length : end);
}

/** Octal digits, or a big-endian number when the first bit says so. */
function numberField(bytes: Uint8Array, start: number, length: number): number {
  if ((bytes[start]! & 0x80) !== 0) {
    let value = bytes[start]! & 0x7f;
    for (let index = start + 1; index < start + length; index++) value = value * 256 + bytes[index]!;
    return value;
  }
  const text = textField(bytes, start, length).trim();
  return text === '' ? 0 : /^[0-7]+$/.test(text) ? Number.parseInt(text, 8) : Number.NaN;
}

/** Exactly so many bytes at a time, from chunks of any size. */
class BlockReader {
  readonly #source: AsyncIterator<Uint8Array>;
  #chunk: Uint8Array = new Uint8Array();
  #at = 0;

  constructor(source: AsyncIterable<Uint8Array>) {
    this.#source = source[Symbol.asyncIterator]();
  }

  /** null at the end of the input; shorter than asked when the input ends within. */
  async take(size: number): Promise<Uint8Array | null> {
    // Memory of its own: a part of a chunk that waits would keep the whole one.
    const bytes = new Uint8Array(size);
    let filled = 0;
    while (filled < size && (await this.#fill())) {
      const part = this.#chunk.subarray(this.#at, this.#at + size - filled);
      bytes.set(part, filled);
      filled += part.byteLength;
      this.#at += part.byteLength;
    }
    if (filled === size) return bytes;
    return filled === 0 && size > 0 ? null : bytes.subarray(0, filled);
  }

  async contents(size: number, max: number, name?: string): Promise<Uint8Array> {
    if (!(size <= max)) {
      const which = name === undefined ? 'A header of the archive' : `Archive entry '${name}'`;
      throw new BadArchive(`${which} is larger than ${max} bytes`);
    }
    const bytes = await this.take(size);
    if (bytes === null || bytes.byteLength < size) throw new BadArchive('The archive ends within an entry');
    await this.skip(paddedSize(size) - size);
    return bytes;
  }

  async skip(size: number): Promise<void> {
    let left = size;
    while (left > 0) {
      if (!(await this.#fill())) throw new BadArchive('The archive ends within an entry');
      const step = Math.min(left, this.#chunk.byteLength - this.#at);
      this.#at += step;
      left -= step;
    }
  }

  /** Whether there are unread bytes. */
  async #fill(): Promise<boolean> {
    while (this.#at >= this.#chunk.byteLength) {
      const { value, done } = await this.#source.next();
      if (done === true) return false;
      this.#chunk = value;
      this.#at = 0;
    }
    return true;
  }
}
