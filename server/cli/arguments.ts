// Command-line arguments by a table of options. On top of node:util's parseArgs: all problems are told at once, each with
// the option it concerns and a suggestion, and Boolean settings take `--x`, `--x=false` and `--no-x`.

import { parseArgs } from 'node:util';
import { suggestion } from '../config/suggest.ts';

export interface OptionSpec {
  /** `switch` stands alone; `boolean` is a setting: alone it means true, with `=` or `--no-` what is said. */
  readonly type: 'text' | 'switch' | 'boolean';
  readonly short?: string;
  /** Placeholder of the value in the help: `DIR`. */
  readonly value?: string;
  readonly doc: string;
  /** Headline in the help that this option belongs under. */
  readonly group?: string;
  /** Taken for compatibility, not shown in the help. */
  readonly hidden?: boolean;
  /** Name of the option that asks for something else in the same place: both together are a problem. */
  readonly excludes?: string;
}

export interface ParsedArguments {
  /** Values by option name; switches and Booleans are `true` or `false` as text. The last one given counts. */
  readonly options: Readonly<Record<string, string>>;
  readonly positionals: readonly string[];
  readonly problems: readonly string[];
}

export const commonOptions: Readonly<Record<string, OptionSpec>> = {
  help: { type: 'switch', short: 'h', doc: 'Show this help.' },
};

/** Never throws: what is wrong is in `problems`. */
export function parseArguments(
  argv: readonly string[],
  specs: Readonly<Record<string, OptionSpec>>,
  positionals: { readonly min: number; readonly max: number },
): ParsedArguments {
  const { tokens } = parseArgs({
    args: withoutNegations(argv, specs),
    options: Object.fromEntries(Object.entries(specs).map(([name, spec]) => [name, nodeOption(spec)])),
    strict: false,
    allowPositionals: true,
    tokens: true,
  });
  const options: Record<string, string> = {};
  const found: string[] = [];
  const problems: string[] = [];
  /** The Boolean setting that stands alone before the argument at hand. */
  let alone: string | null = null;
  for (const token of tokens) {
    const before = alone;
    alone = null;
    if (token.kind === 'positional') {
      if (before !== null && (token.value === 'true' || token.value === 'false'))
        problems.push(
          `--${before} ${token.value} is written --${before}=${token.value} or --${NEGATED[token.value]}${before}`,
        );
      else found.push(token.value);
    } else if (token.kind === 'option') {
      const spec = Object.hasOwn(specs, token.name) ? specs[token.name]! : undefined;
      const problem = optionProblem(token, spec, specs);
      if (problem !== null) problems.push(problem);
      else options[token.name] = token.value ?? 'true';
      if (spec?.type === 'boolean' && token.value === undefined) alone = token.name;
    }
  }
  for (const [name, { excludes }] of Object.entries(specs)) {
    const areBoth = excludes !== undefined && options[name] !== undefined && options[excludes] !== undefined;
    if (areBoth) problems.push(`--${name} and --${excludes} exclude each other`);
  }
  // A variable that is not set, most likely: as a file it would be the current folder.
  if (found.includes('')) problems.push('an argument is empty');
  if (found.length < positionals.min) problems.push('an argument is missing');
  if (found.length > positionals.max) problems.push(`unexpected argument \`${found[positionals.max]}\``);
  return { options, positionals: found, problems };
}

/** What stands before the name for a value. */
const NEGATED = { true: '', false: 'no-' } as const;

function nodeOption(spec: OptionSpec) {
  const type = spec.type === 'text' ? ('string' as const) : ('boolean' as const);
  return spec.short === undefined ? { type } : { type, short: spec.short };
}

interface OptionToken {
  readonly name: string;
  readonly rawName: string;
  readonly value: string | undefined;
  readonly inlineValue: boolean | undefined;
}

function optionProblem(
  token: OptionToken,
  spec: OptionSpec | undefined,
  specs: Readonly<Record<string, OptionSpec>>,
): string | null {
  if (spec === undefined) {
    const names = Object.keys(specs).filter((name) => specs[name]!.hidden !== true);
    return `${token.rawName} is not an option${suggestion(
      token.rawName,
      names.map((name) => `--${name}`),
    )}`;
  }
  if (spec.type === 'text' && token.value === undefined)
    return `${token.rawName} needs a value (${spec.value ?? 'VALUE'})`;
  if (spec.type === 'text' && token.inlineValue === false && /^--[a-z]/.test(token.value!)) {
    return `${token.rawName} needs a value (${spec.value ?? 'VALUE'}); \`${token.value}\` looks like an option`;
  }
  if (spec.type === 'switch' && token.value !== undefined) return `${token.rawName} takes no value`;
  return null;
}

/** `--no-x` is `--x=false` where x is a Boolean setting. Arguments behind `--` are left alone. */
function withoutNegations(argv: readonly string[], specs: Readonly<Record<string, OptionSpec>>): string[] {
  const end = argv.indexOf('--');
  return argv.map((arg, index) => {
    const name = arg.startsWith('--no-') && (end < 0 || index < end) ? arg.slice(5) : '';
    const isBoolean = Object.hasOwn(specs, name) && specs[name]!.type === 'boolean';
    return isBoolean ? `--${name}=false` : arg;
  });
}
