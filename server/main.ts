// Entry point of the program: finds the subcommand, reads its arguments, runs it, and turns what happens into an exit
// status. The server itself is put together in start.ts; ARCHITECTURE.md tells the ways of commands and queries through it.

import { exitStatus, processTerminal } from './cli/command.ts';
import { runCli } from './cli/run.ts';

// Until it is known: a run that ends otherwise than by itself has failed.
process.exitCode = exitStatus.failed;
void runCli(process.argv.slice(2), processTerminal()).then((status) => {
  process.exitCode = status;
});
