// All commands by name. A new version of a command is a new row in its table and one more step.

import { REPLACE_CATALOG } from './catalog.ts';
import { REPLACE_FACTS } from './facts.ts';
import type { CommandFormat } from './format.ts';
import { CONFIGURE_EXPIRATION, DEACTIVATE_NODE, REPLACE_CATALOG_INPUTS } from './node.ts';
import { STORE_REPORT } from './report.ts';

export type CommandName =
  | 'replace catalog'
  | 'replace facts'
  | 'store report'
  | 'deactivate node'
  | 'configure expiration'
  | 'replace catalog inputs';

export const COMMAND_FORMATS: Readonly<Record<CommandName, CommandFormat>> = {
  'replace catalog': REPLACE_CATALOG,
  'replace facts': REPLACE_FACTS,
  'store report': STORE_REPORT,
  'deactivate node': DEACTIVATE_NODE,
  'configure expiration': CONFIGURE_EXPIRATION,
  'replace catalog inputs': REPLACE_CATALOG_INPUTS,
};

export const isCommandName = (name: string): name is CommandName => Object.hasOwn(COMMAND_FORMATS, name);
