// From arguments to an exit status: the table of subcommands, the help, and how failures are told.

import { fileAndReason, isOfSystem, stackOf } from '../../engine/reason.ts';
import { ConfigurationInvalid } from '../config/load.ts';
import { suggestion } from '../config/suggest.ts';
import { commonOptions, parseArguments } from './arguments.ts';
import { type CliCommand, CliFailure, type ExitStatus, exitStatus, type Terminal } from './command.ts';
import { type CommandEntry, commandHelp, overview, usageLine } from './help.ts';

interface TableRow extends CommandEntry {
  readonly load: () => Promise<{ readonly command: CliCommand }>;
  /** Other names, for scripts written for PuppetDB. */
  readonly aliases?: readonly string[];
}

const commands: readonly TableRow[] = [
  {
    name: 'start',
    group: 'Server',
    summary: 'run the server in the foreground',
    aliases: ['services', 'foreground'],
    load: () => import('./start.ts'),
  },
  {
    name: 'config',
    group: 'Server',
    summary: 'print the effective settings and where each came from',
    load: () => import('./config.ts'),
  },
  {
    name: 'query',
    group: 'Data of a running server',
    summary: 'ask a running server: a table on a terminal, JSON in a pipe',
    load: () => import('./query.ts'),
  },
  {
    name: 'stats',
    group: 'Data of a running server',
    summary: 'how a running server is doing',
    load: () => import('./stats.ts'),
  },
  {
    name: 'import',
    group: 'Data of a running server',
    summary: 'load an archive, or everything from another server',
    load: () => import('./import.ts'),
  },
  {
    name: 'export',
    group: 'Data of a running server',
    summary: "write everything to an archive in PuppetDB's format",
    load: () => import('./export.ts'),
  },
  {
    name: 'clean',
    group: 'Data of a running server',
    summary: 'run maintenance now',
    load: () => import('./clean.ts'),
  },
  {
    name: 'delete',
    group: 'Data of a running server',
    summary: 'delete all data of nodes',
    load: () => import('./delete.ts'),
  },
  {
    name: 'dead-letters',
    group: 'Data directory',
    summary: 'look at commands that were given up, send them again or remove them',
    load: () => import('./dead-letters.ts'),
  },
  {
    name: 'check',
    group: 'Data directory',
    summary: 'verify a data directory',
    load: () => import('./check.ts'),
  },
  {
    name: 'backup',
    group: 'Data directory',
    summary: 'copy the data directory, also while the server runs',
    load: () => import('./backup.ts'),
  },
  {
    name: 'restore',
    group: 'Data directory',
    summary: 'make a data directory from a backup',
    load: () => import('./restore.ts'),
  },
  { name: 'version', group: 'Other', summary: 'print the version', load: () => import('./version.ts') },
];

/** Runs one command line (without the program's name). Does not exit and does not throw. */
export async function runCli(argv: readonly string[], terminal: Terminal): Promise<ExitStatus> {
  const [name, ...rest] = argv;
  const entries = [...commands, { name: 'help', group: 'Other', summary: 'show this, or explain a command' }];
  if (name === undefined) {
    terminal.err(overview(entries, terminal.columns));
    return exitStatus.usage;
  }
  if (name === '--version' || name === '-V') return runCli(['version', ...rest], terminal);
  if (name === 'help' || name === '--help' || name === '-h') {
    const [topic, surplus] = rest;
    if (name === 'help' && surplus !== undefined) {
      terminal.err(`muster help: unexpected argument \`${surplus}\`\nUsage: muster help [COMMAND]\n`);
      return exitStatus.usage;
    }
    if (topic !== undefined && !topic.startsWith('-') && topic !== 'help') return runCli([topic, '--help'], terminal);
    terminal.out(overview(entries, terminal.columns));
    return exitStatus.ok;
  }
  const row = commands.find((entry) => entry.name === name || entry.aliases?.includes(name));
  if (row === undefined) {
    const names = entries.map((entry) => entry.name);
    terminal.err(`muster: \`${name}\` is not a command${suggestion(name, names)}\nTry \`muster help\`.\n`);
    return exitStatus.usage;
  }
  try {
    const { command } = await row.load();
    return await runCommand(command, rest, terminal);
  } catch (error) {
    return tellFailure(error, terminal);
  }
}

async function runCommand(command: CliCommand, argv: readonly string[], terminal: Terminal): Promise<ExitStatus> {
  const args = parseArguments(argv, { ...command.options, ...commonOptions }, command.positionals);
  if (args.options['help'] === 'true') {
    terminal.out(commandHelp(command, terminal));
    return exitStatus.ok;
  }
  if (args.problems.length > 0) {
    for (const problem of args.problems) terminal.err(`muster ${command.name}: ${problem}\n`);
    terminal.err(`${usageLine(command)}\nTry \`muster ${command.name} --help\`.\n`);
    return exitStatus.usage;
  }
  return command.run(args, terminal);
}

function tellFailure(error: unknown, terminal: Terminal): ExitStatus {
  if (error instanceof CliFailure) {
    terminal.err(`muster: ${error.message}\n`);
    return error.status;
  }
  if (error instanceof ConfigurationInvalid) {
    terminal.err(`muster: ${error.message}\n`);
    return exitStatus.usage;
  }
  terminal.err(`muster: ${unforeseen(error)}
`);
  return exitStatus.failed;
}

/** What nothing here has foreseen: a system that says no has a reason, all else is a defect. */
function unforeseen(error: unknown): string {
  if (!isOfSystem(error)) return stackOf(error);
  return error.syscall === 'uv_cwd' ? 'the current folder was removed; change to another one' : fileAndReason(error);
}
