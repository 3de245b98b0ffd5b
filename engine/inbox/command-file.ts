// The names that PuppetDB gives to the files of its queue, kept for the dead letter office so that operators and their
// scripts find what they know (spec/commands.md 2.2):
//
//   <seq>-<received>[<+-offset>]_<short>_<version>_<certid>.json[.gz]
//
// offset is the producer-timestamp minus received; certid is the certname, or a safe stand-in that ends in its SHA-1.

import { createHash } from 'node:crypto';
import { COMMAND_FORMATS, isCommandName } from '../../schemas/commands/formats.ts';
import type { Envelope } from './envelope.ts';

/** Names of the commands by their short ones. */
const commandNames: ReadonlyMap<string, string> = new Map(
  Object.values(COMMAND_FORMATS).map(({ command, shortName }) => [shortName, command]),
);

const NAME_SIZE_MAX = 255;
/** Everything after `<seq>-`. */
const METADATA_SIZE_MAX = 235;
const CAUSE_SUFFIX = '_err.txt';

/** The part of text that fits into `size` bytes of UTF-8, cut between characters. */
function cutText(text: string, size: number): string {
  const bytes = Buffer.from(text, 'utf8');
  if (bytes.length <= size) return text;
  let end = Math.max(size, 0);
  while (end > 0 && (bytes[end]! & 0xc0) === 0x80) end--;
  return bytes.toString('utf8', 0, end);
}

function certIdOf(certname: string, sizeMax: number): string {
  const safe = certname.replace(/[/\\:\u0000_]/g, '-');
  if (safe === certname && Buffer.byteLength(safe) <= sizeMax) return certname;
  const digest = createHash('sha1').update(certname, 'utf8').digest('hex');
  return `${cutText(safe, sizeMax - digest.length - 1)}_${digest}`;
}

/** Name of the file with the body of a command. Holds no separator of paths, whatever the certname is. */
export function commandFileName(seq: number, envelope: Envelope): string {
  const { command, received, producerTimestamp } = envelope;
  const offset = producerTimestamp === null ? '' : signed(producerTimestamp - received);
  const short = isCommandName(command) ? COMMAND_FORMATS[command].shortName : 'unknown';
  const begin = `${received}${offset}_${short}_${envelope.version}_`;
  const end = envelope.gzip ? '.json.gz' : '.json';
  const room = METADATA_SIZE_MAX - Buffer.byteLength(begin) - end.length;
  return `${seq}-${begin}${certIdOf(envelope.certname, room)}${end}`;
}

const signed = (number: number): string => (number < 0 ? `${number}` : `+${number}`);

/** Name of the file that says why the command was given up. Cut before its suffix, so that it always is known as one. */
export function causeFileName(name: string): string {
  const stem = name.endsWith('.json') ? name.slice(0, -'.json'.length) : name;
  return cutText(stem, NAME_SIZE_MAX - CAUSE_SUFFIX.length) + CAUSE_SUFFIX;
}

export const isCauseFileName = (name: string): boolean => name.endsWith(CAUSE_SUFFIX);

export interface CommandFile {
  readonly seq: number;
  readonly command: string;
  readonly version: number;
  /** Epoch ms. */
  readonly received: number;
  readonly producerTimestamp: number | null;
  readonly gzip: boolean;
  readonly certId: string;
  /** The certname, where the name of the file tells it. */
  readonly certname: string | null;
}

const PATTERN = /^(\d+)-(\d+)([+-]\d+)?_([a-z-]+)_(\d+)_(.*)\.json(\.gz)?$/s;

/** null when the name is not one of a command's file. */
export function parseCommandFileName(name: string): CommandFile | null {
  const match = PATTERN.exec(name);
  if (match === null) return null;
  const [, seq, received, offset, short, version, certId, gz] = match;
  const at = Number(received);
  return {
    seq: Number(seq),
    command: commandNames.get(short!) ?? short!,
    version: Number(version),
    received: at,
    producerTimestamp: offset === undefined ? null : at + Number(offset),
    gzip: gz !== undefined,
    certId: certId!,
    certname: certId!.includes('_') ? null : certId!,
  };
}
