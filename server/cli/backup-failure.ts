// How a backup, or what is made of one again, fails.

import { BackupFailed } from '../../engine/backup/errors.ts';
import { fileAndReason } from '../../engine/reason.ts';
import { CliFailure, exitStatus } from './command.ts';

/** `what`: how its line begins. */
export const backupFailure = (what: string, error: unknown): CliFailure =>
  new CliFailure(
    error instanceof BackupFailed ? exitStatus.usage : exitStatus.failed,
    `${what}: ${fileAndReason(error)}`,
  );
