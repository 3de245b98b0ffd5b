// The help texts, from the tables of commands and options.

import { commonOptions, type OptionSpec } from './arguments.ts';
import type { CliCommand, Terminal } from './command.ts';

export interface CommandEntry {
  readonly name: string;
  readonly summary: string;
  readonly group: string;
}

export function overview(commands: readonly CommandEntry[], columns: number): string {
  const width = Math.max(...commands.map(({ name }) => name.length));
  const lines = [
    'Muster: node inventory, report and command service, a drop-in replacement for PuppetDB.',
    '',
    'Usage: muster COMMAND [OPTIONS]',
  ];
  let group = '';
  for (const command of commands) {
    if (command.group !== group) {
      group = command.group;
      lines.push('', `${group}:`);
    }
    lines.push(`  ${command.name.padEnd(width)}  ${command.summary}`);
  }
  lines.push(
    '',
    'Exit statuses: 0 done; 1 tried and failed, or a check found something wrong;',
    '2 wrong usage or configuration; 3 no server answers.',
    '',
    ...wrapped('`muster COMMAND --help` explains a command, with examples.', columns, ''),
  );
  return `${lines.join('\n')}\n`;
}

export const usageLine = ({ name, usage }: CliCommand): string => `Usage: muster ${name} ${usage}`.trimEnd();

export function commandHelp(command: CliCommand, terminal: Terminal): string {
  const columns = Math.min(terminal.columns, 110);
  const lines = [usageLine(command), ''];
  for (const paragraph of command.details.split('\n\n')) lines.push(...wrapped(paragraph, columns, ''), '');
  if (command.examples.length > 0) {
    lines.push('Examples:');
    for (const [example, what] of command.examples) lines.push(`  ${example}`, ...wrapped(what, columns, '      '));
    lines.push('');
  }
  const groups = new Map<string, [string, OptionSpec][]>();
  for (const [name, spec] of [...Object.entries(command.options), ...Object.entries(commonOptions)]) {
    if (spec.hidden === true) continue;
    const title = spec.group ?? 'Options';
    groups.set(title, [...(groups.get(title) ?? []), [name, spec]]);
  }
  for (const [title, options] of groups) lines.push(`${title}:`, ...optionLines(options, columns), '');
  return lines.join('\n');
}

function optionLines(options: readonly (readonly [string, OptionSpec])[], columns: number): string[] {
  const lines: string[] = [];
  for (const [name, spec] of options) {
    const short = spec.short === undefined ? '    ' : `-${spec.short}, `;
    const value = spec.type === 'text' ? ` ${spec.value ?? 'VALUE'}` : '';
    const left = `  ${short}--${spec.type === 'boolean' ? '[no-]' : ''}${name}${value}`;
    const [first = '', ...rest] = wrapped(spec.doc, columns, ' '.repeat(34));
    if (left.length <= 32) lines.push(left.padEnd(34) + first.trimStart(), ...rest);
    else lines.push(left, first, ...rest);
  }
  return lines;
}

/** `text` in lines of at most `columns` characters, each with `indent` in front. */
function wrapped(text: string, columns: number, indent: string): string[] {
  const lines: string[] = [];
  let line = indent;
  for (const word of text.split(/\s+/)) {
    if (line.length > indent.length && line.length + 1 + word.length > columns) {
      lines.push(line);
      line = indent;
    }
    line += line.length > indent.length ? ` ${word}` : word;
  }
  lines.push(line);
  return lines;
}
