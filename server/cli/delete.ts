// `muster delete`: removes all data of nodes, at once and for good.

import { createInterface } from 'node:readline/promises';
import { ANY_STATE } from '../../engine/query/resolve/defaults.ts';
import { printable } from '../printable.ts';
import { clientOf, clientOptions, isList } from './client.ts';
import { type CliCommand, CliFailure, exitStatus, type Terminal } from './command.ts';

export const command: CliCommand = {
  name: 'delete',
  usage: '[OPTIONS] CERTNAME ...',
  options: {
    yes: { type: 'switch', short: 'y', doc: 'Do not ask.' },
    ...clientOptions,
  },
  positionals: { min: 1, max: 10_000 },
  details:
    'Deletes facts, catalogs, reports and events of the named nodes from a running server, at once and for good. Asks ' +
    'first on a terminal; elsewhere --yes is needed. A node that still runs comes back with its next run; commands of it ' +
    'that are queued may bring it back too. To retire a node use `puppet node deactivate`: it disappears from queries and ' +
    'is deleted after node-purge-ttl. Status 1 when there was no such node.',
  examples: [['muster delete web1.example.com --yes', 'One node, without a question.']],
  run: async (args, terminal) => {
    const client = clientOf(args, terminal);
    if (args.options['yes'] !== 'true') await confirm(args.positionals, terminal);
    let unknown = 0;
    for (const certname of args.positionals) {
      // Not by its path, which would be another one for a name of dots.
      const query = encodeURIComponent(JSON.stringify(['and', ['=', 'certname', certname], ANY_STATE]));
      const found = await client.askJson({ method: 'GET', path: `/pdb/query/v4/nodes?query=${query}` }, isList);
      if (found.length === 0) {
        unknown++;
        terminal.err(`muster: there is no node ${printable(certname)}\n`);
        continue;
      }
      await client.askText({
        method: 'POST',
        path: '/pdb/admin/v1/cmd',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ command: 'delete', version: 1, payload: { certname } }),
      });
      terminal.out(`deleted ${printable(certname)}\n`);
    }
    return unknown === 0 ? exitStatus.ok : exitStatus.failed;
  },
};

async function confirm(certnames: readonly string[], terminal: Terminal): Promise<void> {
  if (!terminal.inIsTerminal || !terminal.errIsTerminal) {
    throw new CliFailure(exitStatus.usage, 'nobody can be asked here; give --yes to delete without a question');
  }
  const asking = createInterface({ input: terminal.inStream, output: process.stderr });
  const what = certnames.length === 1 ? printable(certnames[0]!) : `${certnames.length} nodes`;
  const answer = await asking.question(`Delete all data of ${what}? [y/N] `);
  asking.close();
  if (!/^y(es)?$/i.test(answer.trim())) throw new CliFailure(exitStatus.failed, 'nothing was deleted');
}
