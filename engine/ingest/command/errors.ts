// Why a command cannot be carried out. Refusals are decided before anything is written; the table of spec/commands.md 2.5
// says which of them may be tried again.

import { JsonError } from '../../json/parse.ts';
import type { FailedOutcome } from './types.ts';

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

/** Fails the command when its data cannot be stored. Must come before the first write. */
export function assertStorable(refusal: string | null): void {
  if (refusal !== null) throw new CommandFailure('not-storable', refusal);
}

/** Unless it says otherwise, nothing was found to be wrong with the payload, and where it came from is of no interest. */
type Failure = Pick<FailedOutcome, 'retryable' | 'error' | 'exception'> &
  Partial<Pick<FailedOutcome, 'validation' | 'stack'>>;

export const failedOutcome = (seq: number, failure: Failure): FailedOutcome => ({
  kind: 'failed',
  seq,
  retryable: failure.retryable,
  validation: failure.validation ?? false,
  error: failure.error,
  exception: failure.exception,
  stack: failure.stack ?? [],
});

/**
 * Runs what makes something of a payload. What is thrown because of the payload becomes a CommandFailure: that it is no JSON, or
 * that a text made of it would be too long.
 */
export function blamingPayload<T>(make: () => T): T {
  try {
    return make();
  } catch (error) {
    if (error instanceof JsonError) {
      const what = error.problem === 'text-too-long' ? 'cannot be stored' : 'is not JSON';
      throw new CommandFailure('unreadable', `The payload ${what}: ${error.message}`);
    }
    // V8's own, such as for strings in which very many characters are escaped.
    if (error instanceof RangeError && error.message === 'Invalid string length') {
      throw new CommandFailure('unreadable', 'The payload cannot be stored: a text made of it would be too long');
    }
    throw error;
  }
}
