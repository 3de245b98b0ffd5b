// multipart/form-data as a stream: the bytes of one named field, without holding more than a boundary's length of them.

/** The body is no such form, or lacks the field. The message is for the client. */
export class BadForm extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'BadForm';
  }
}

const PART_HEAD_BYTES_MAX = 16 * 1024;

/** The boundary that a Content-Type header names; null when it is no multipart/form-data. */
export function boundaryOf(contentType: string): string | null {
  if (!/^multipart\/form-data\s*(;|$)/i.test(contentType)) return null;
  const match = /;\s*boundary=(?:"([^"]+)"|([^\s;"]+))/i.exec(contentType);
  return match?.[1] ?? match?.[2] ?? null;
}

/**
 * Contents of the first part named `field`, as they arrive. Ends with the part: the rest of the body is not read. Throws
 * BadForm when the body ends before the part does, or has no such part.
 */
export async function* fieldContents(
  source: AsyncIterable<Uint8Array>,
  boundary: string,
  field: string,
): AsyncGenerator<Uint8Array> {
  const delimiter = Buffer.from(`\r\n--${boundary}`);
  // The first boundary stands at the very beginning: pretend there was a line break before it.
  let held: Buffer = Buffer.from('\r\n');
  let state: 'preamble' | 'boundary' | 'head' | 'skipped' | 'wanted' = 'preamble';
  for await (const chunk of source) {
    held = held.byteLength === 0 ? Buffer.from(chunk) : Buffer.concat([held, chunk]);
    for (let more = true; more; ) {
      more = false;
      switch (state) {
        case 'preamble':
        case 'skipped':
        case 'wanted': {
          const found = held.indexOf(delimiter);
          // Without a boundary in sight all is content, except for what may be the beginning of one.
          const end = found < 0 ? Math.max(0, held.byteLength - delimiter.byteLength + 1) : found;
          if (state === 'wanted' && end > 0) yield held.subarray(0, end);
          if (found < 0) {
            held = held.subarray(end);
            break;
          }
          if (state === 'wanted') return;
          held = held.subarray(found + delimiter.byteLength);
          state = 'boundary';
          more = true;
          break;
        }
        case 'boundary': {
          // `--` ends the form; blanks may follow the boundary before its line break.
          const line = held.indexOf('\r\n');
          if (held.byteLength >= 2 && held.toString('latin1', 0, 2) === '--') throw noField(field);
          if (line < 0) {
            if (held.byteLength > PART_HEAD_BYTES_MAX) throw new BadForm('The multipart/form-data body is malformed');
            break;
          }
          // The line break stays: a part without headers has its empty line at once.
          held = held.subarray(line);
          state = 'head';
          more = true;
          break;
        }
        case 'head': {
          const end = held.indexOf('\r\n\r\n');
          if (end < 0) {
            if (held.byteLength > PART_HEAD_BYTES_MAX) throw new BadForm('A part of the form has too long a head');
            break;
          }
          state = nameOf(held.toString('utf8', 0, end)) === field ? 'wanted' : 'skipped';
          held = held.subarray(end + 4);
          more = true;
          break;
        }
      }
    }
  }
  if (state === 'wanted' || state === 'head') throw new BadForm('The multipart/form-data body is incomplete');
  throw noField(field);
}

const noField = (field: string): BadForm => new BadForm(`The form has no field named '${field}'`);

function nameOf(head: string): string | null {
  const line = head.split('\r\n').find((candidate) => /^content-disposition\s*:/i.test(candidate));
  const match = line === undefined ? null : /;\s*name=(?:"((?:\\.|[^"\\])*)"|([^\s;]+))/i.exec(line);
  return match?.[1] ?? match?.[2] ?? null;
}
