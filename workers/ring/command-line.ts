// The log's line about a command (spec/operations.md 11.1).

import type { Envelope } from '../../engine/inbox/envelope.ts';
import type { Handled } from '../actor/messages.ts';
import type { Log } from '../log.ts';

type Sent = Pick<Envelope, 'received' | 'producerTimestamp' | 'command' | 'certname'>;
type Done = Pick<Handled, 'outcome' | 'decision' | 'duration'>;

/** `attempt`: 1 for the first. */
export function logCommand(log: Log, seq: number, envelope: Sent, handled: Done, attempt: number): void {
  const { outcome, decision, duration } = handled;
  const { received, producerTimestamp, command, certname } = envelope;
  if (outcome.kind === 'reroute') return;
  const ms = Math.round(duration);
  const id = producerTimestamp === null ? `${seq}-${received}` : `${seq}-${received}-${producerTimestamp}`;
  if (outcome.kind === 'failed') {
    const what = decision === 'waiting' ? 'will be tried again' : 'is given up';
    const text = `failed, attempt ${attempt}, ${what}: ${outcome.error}`;
    log.warn(
      { command: { name: command, certname, ms, outcome: decision } },
      `[${id}] '${command}' command for ${certname} ${text}`,
    );
    return;
  }
  if (!log.isLevelEnabled('info')) return;
  const agent = outcome.agentVersion === undefined ? '' : ` puppet v${outcome.agentVersion}`;
  const hash = outcome.hash === null ? '' : ` (${outcome.hash.slice(0, 8)})`;
  const done = outcome.detail === 'stored' ? 'processed' : `ignored (${outcome.detail})`;
  log.info(
    { command: { name: command, certname: outcome.certname, ms, outcome: outcome.detail, hash: outcome.hash } },
    `[${id}] [${ms} ms] '${command}'${agent} command${hash} ${done} for ${outcome.certname}`,
  );
}
