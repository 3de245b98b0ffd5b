// What a subcommand is, and what it may use of the world: text out, text in, an exit status back. Subcommands are loaded
// when they run, so that `muster version` does not pay for the server.

import type { Readable, Writable } from 'node:stream';
import { reasonOf } from '../../engine/reason.ts';
import type { OptionSpec, ParsedArguments } from './arguments.ts';

/** Exit statuses, the same for all subcommands; `muster help` prints this table. */
export const exitStatus = {
  ok: 0,
  /** The work was tried and failed, or a check found something wrong. */
  failed: 1,
  /** Wrong usage or a wrong configuration: nothing was tried. */
  usage: 2,
  /** No server answers at the address. */
  unreachable: 3,
} as const;

export type ExitStatus = (typeof exitStatus)[keyof typeof exitStatus];

export interface Terminal {
  readonly environment: Readonly<Record<string, string | undefined>>;
  out(text: string): void;
  /** Where `out` goes, for what is streamed. */
  readonly outStream: Writable;
  err(text: string): void;
  /** What is given to the program: for `-` in place of a file. */
  readonly inStream: Readable;
  readonly inIsTerminal: boolean;
  readonly outIsTerminal: boolean;
  readonly errIsTerminal: boolean;
  /** Width of the terminal in characters. */
  readonly columns: number;
}

export interface CliCommand {
  readonly name: string;
  /** What comes behind the name: `[OPTIONS] QUERY`. */
  readonly usage: string;
  readonly options: Readonly<Record<string, OptionSpec>>;
  /** How many positional arguments it takes. */
  readonly positionals: { readonly min: number; readonly max: number };
  /** Paragraphs that teach: what it does, what to look out for. */
  readonly details: string;
  readonly examples: readonly (readonly [command: string, what: string])[];
  run(args: ParsedArguments, terminal: Terminal): Promise<ExitStatus>;
}

/** A failure that is told in one line, without a stack. */
export class CliFailure extends Error {
  readonly status: ExitStatus;
  constructor(status: ExitStatus, message: string) {
    super(message);
    this.name = 'CliFailure';
    this.status = status;
  }
}

export function processTerminal(): Terminal {
  tellLostOutput();
  return {
    environment: process.env,
    out: (text) => void process.stdout.write(text),
    outStream: process.stdout,
    err: (text) => void process.stderr.write(text),
    // Opened only by who reads it.
    get inStream() {
      return process.stdin;
    },
    get inIsTerminal() {
      return process.stdin.isTTY === true;
    },
    outIsTerminal: process.stdout.isTTY === true,
    errIsTerminal: process.stderr.isTTY === true,
    // A terminal may say that it has none.
    columns: process.stdout.columns || Number(process.env['COLUMNS']) || 100,
  };
}

/** A reader that has seen enough is no failure. Output that is lost otherwise, on a full disk for example, is one. */
function tellLostOutput(): void {
  let lost: Error | null = null;
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'EPIPE' || lost !== null) return;
    lost = error;
    process.stderr.write(`muster: the output cannot be written: ${reasonOf(error)}\n`);
  });
  process.stderr.on('error', () => {});
  process.on('exit', () => {
    if (lost !== null) process.exitCode = exitStatus.failed;
  });
}
