// Types of what the tests use of replay.mjs.

export interface RecordedRequest {
  readonly method?: string;
  readonly path: string;
  readonly params?: Readonly<Record<string, unknown>>;
  readonly headers?: Readonly<Record<string, string | null>>;
  readonly body?: unknown;
}
export interface RecordedResponse {
  readonly status: number | readonly number[];
  readonly type?: string;
  readonly headers?: Readonly<Record<string, unknown>>;
  readonly body?: unknown;
}
export interface RecordedCase {
  readonly id: string;
  readonly request: RecordedRequest;
  readonly compare: string;
  readonly response: RecordedResponse;
}
export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly text: string;
}
export interface ReplayOptions {
  readonly url: string;
  readonly dir: string;
  /** Only these; empty: all. */
  readonly area: readonly string[];
  readonly only: readonly string[];
  readonly concurrency: number;
  readonly load?: boolean;
  readonly quiet?: boolean;
  readonly 'no-cases'?: boolean;
  readonly 'no-scenarios'?: boolean;
  readonly 'metrics-prefix': string;
}
export interface ReplayResult {
  readonly area: string;
  readonly id: string;
  readonly request: RecordedRequest | undefined;
  /** Lines; empty when it passed. */
  readonly diff: readonly string[];
}

export function replay(
  options: ReplayOptions,
): Promise<{ readonly loadFailures: readonly string[]; readonly results: readonly ReplayResult[] }>;
export function tallyOf(results: readonly ReplayResult[]): Map<string, { passed: number; total: number }>;
export function describe(result: ReplayResult): string;
export function areas(dir: string, kind: 'cases' | 'scenarios'): { readonly area: string; readonly file: string }[];
export function readLines(file: string): unknown[];
/** JSON text that keeps the spelling of numbers as they were recorded. */
export function stringifyJSON(value: unknown): string;
/** The value of a JSON text; numbers that JavaScript's would lose keep their spelling. */
export function parseJSON(text: string): unknown;
/** Asks a server; connections are kept. */
export class Client {
  constructor(url: string, options?: { readonly concurrency?: number; readonly timeout?: number });
  send(request: RecordedRequest): Promise<Answer>;
  close(): void;
}
/** Posts the commands of a corpus and waits for them; what went wrong. */
export function load(client: Client, commands: readonly unknown[], metricsPrefix: string): Promise<readonly string[]>;
/** Differences between two values, as lines. */
export function differences(
  expected: unknown,
  actual: unknown,
  options?: { readonly asSet?: boolean; readonly max?: number },
): string[];
/** Differences between the recorded answer and this one, as lines. */
export function check(expected: RecordedResponse, compare: string, answer: Answer): string[];
