import { createLogs, type Logs } from '../../server/log.ts';

export const silentLogs = (): Logs => createLogs({ level: 'silent', areas: {}, format: 'json', file: null });
