/** The copy cannot be made or put back. The message is for people. */
export class BackupFailed extends Error {}
