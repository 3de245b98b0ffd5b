// Entry of the process that checks one partition for `muster check`: arguments are the data directory and the slot, the
// message to the parent is the list of problems.

import { checkPartition } from '../../engine/store/check.ts';

const [data, slot] = process.argv.slice(2);
if (data === undefined || slot === undefined) throw new Error('started by `muster check` only');
void checkPartition(data, Number(slot)).then((problems) => process.send?.(problems, () => process.exit(0)));
