// Why a command cannot be carried out. Refusals are decided before anything is written; the table of command document 2.5
// says which of them may be tried again.

export type FailureKind =
  | 'not-gzip' // labelled gzip and has no gzip header
  | 'unreadable' // broken gzip data, or not JSON
  | 'too-large' // decompresses to more than is allowed
  | 'invalid' // JSON that is not a payload of this command and version
  | 'unsupported-version'
  | 'not-storable'; // valid, but holds something no column takes (a NUL, a line beyond 32 bits, a bad UUID)

const KINDS: Readonly<Record<FailureKind, { retryable: boolean; validation: boolean; exception: string }>> = {
  'not-gzip': { retryable: true, validation: true, exception: 'NotGzip' },
  unreadable: { retryable: false, validation: true, exception: 'UnreadablePayload' },
  'too-large': { retryable: false, validation: true, exception: 'PayloadTooLarge' },
  invalid: { retryable: false, validation: true, exception: 'InvalidPayload' },
  'unsupported-version': { retryable: false, validation: false, exception: 'UnsupportedVersion' },
  'not-storable': { retryable: true, validation: false, exception: 'NotStorable' },
};

/** A command that failed for a reason that lies in it. The message is the text for the dead letter's cause file. */
export class CommandFailure extends Error {
  readonly kind: FailureKind;

  constructor(kind: FailureKind, message: string) {
    super(message);
    this.name = 'CommandFailure';
    this.kind = kind;
  }

  /** May pass later: the retry schedule applies. */
  get retryable(): boolean {
    return KINDS[this.kind].retryable;
  }

  /** Refused before it was carried out. */
  get validation(): boolean {
    return KINDS[this.kind].validation;
  }

  /** Name of the class of failures, for clients and dead letters. */
  get exception(): string {
    return KINDS[this.kind].exception;
  }
}
