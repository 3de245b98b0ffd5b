// What a write of a partition threw: told apart by whether the store failed, or what was to be written is no good.

/** Errors of the file system and of LMDB about its files, by code or number (28: no space, 5: input/output, 30: read only). */
const SYSTEM_CODES: ReadonlySet<unknown> = new Set<unknown>([
  'ENOSPC',
  'EIO',
  'EROFS',
  'EDQUOT',
  'ENOMEM',
  'EMFILE',
  'EAGAIN',
  5,
  12,
  28,
  30,
  122,
  -30792, // MDB_MAP_FULL
]);

/** Whether a write was refused for want of room: less of it may fit. */
export const isOutOfRoom = (error: unknown): boolean =>
  error instanceof Error && (error as { code?: unknown }).code === 'ENOSPC';

/** Whether the store is what failed, not what was written to it. */
export function isSystemError(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  return SYSTEM_CODES.has((error as { code?: unknown }).code) || /^No space left|MDB_MAP_FULL/.test(error.message);
}
