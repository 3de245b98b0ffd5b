// `muster clean`: maintenance now, by the administrative interface of a running server.

import { suggestion } from '../config/suggest.ts';
import { CLEAN_TOKENS, FAILED_HEADER } from '../ops/maintenance-steps.ts';
import { clientOf, clientOptions } from './client.ts';
import { type CliCommand, CliFailure, exitStatus } from './command.ts';

const operations: readonly string[] = CLEAN_TOKENS;

export const command: CliCommand = {
  name: 'clean',
  usage: '[OPTIONS] [OPERATION ...]',
  options: {
    'batch-limit': { type: 'text', value: 'NUMBER', doc: 'Nodes that purge_nodes may delete. [all that are due]' },
    ...clientOptions,
  },
  positionals: { min: 0, max: operations.length },
  details:
    'Runs maintenance operations on a running server and waits for their end; without a name, all of them. The server ' +
    'runs the same by itself every gc-interval. Only one maintenance runs at a time: if one does already, the exit ' +
    'status is 1. Where node-ttl is 0s the server expires no node by itself, but expire_nodes, also as one of all, ' +
    'expires every one. Of reports and events the oldest day that is past its time is deleted, one day each time.' +
    `\n\nOperations: ${operations.join(', ')}.`,
  examples: [
    ['muster clean', 'All of them.'],
    ['muster clean expire_nodes purge_reports', 'Two operations.'],
    ['muster clean purge_nodes --batch-limit 100', 'At most 100 nodes.'],
  ],
  run: async (args, terminal) => {
    for (const name of args.positionals) {
      if (operations.includes(name)) continue;
      const near = suggestion(name, operations) || `; there are ${operations.join(', ')}`;
      throw new CliFailure(exitStatus.usage, `\`${name}\` is no operation${near}`);
    }
    const limit = args.options['batch-limit'];
    if (limit !== undefined && !/^\d+$/.test(limit)) {
      throw new CliFailure(exitStatus.usage, `--batch-limit: "${limit}" is not a whole number of 0 or more`);
    }
    if (limit !== undefined && args.positionals.length > 0 && !args.positionals.includes('purge_nodes')) {
      throw new CliFailure(exitStatus.usage, '--batch-limit is for purge_nodes, which is not asked for');
    }
    const withLimit = (name: string) =>
      name === 'purge_nodes' && limit !== undefined ? [name, { batch_limit: Number(limit) }] : name;
    const names = args.positionals.length === 0 && limit !== undefined ? operations : args.positionals;
    const answer = await clientOf(args, terminal).ask({
      method: 'POST',
      path: '/pdb/admin/v1/cmd',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ command: 'clean', version: 1, payload: names.map(withLimit) }),
    });
    answer.resume();
    const failed = answer.headers[FAILED_HEADER.toLowerCase()];
    if (typeof failed === 'string') {
      throw new CliFailure(exitStatus.failed, `failed, the server's log tells why: ${failed.replaceAll(',', ', ')}`);
    }
    terminal.out('cleaned\n');
    return exitStatus.ok;
  },
};
