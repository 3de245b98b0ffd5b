// Entry of the process that checks one partition for `muster check`: arguments are the data directory and the slot, the
// message to the parent is what the check says.

import { isBackup } from '../../engine/backup/manifest.ts';
import { checkPartition } from '../../engine/store/check/check.ts';

const [data, slot] = process.argv.slice(2);
if (data === undefined || slot === undefined) throw new Error('started by `muster check` only');
void checkPartition(data, Number(slot), isBackup(data)).then((check) => process.send?.(check, () => process.exit(0)));
