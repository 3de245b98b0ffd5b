// A small fleet of clients that submit facts, catalogs, reports and deactivations for their own nodes until their server is
// gone or they are told to stop, and know afterwards what the server must show (model.ts).

import assert from 'node:assert/strict';
import { deactivateNode, replaceCatalog, replaceFacts, respelled, storeReport } from '../support/commands.ts';
import type { Random } from '../support/random.ts';
import type { ClientCommand, TestServer } from '../support/server.ts';
import { pause } from '../support/waiting.ts';
import { type Kind, NodeModel, type NodeState, type Sent } from './model.ts';

const DAY = 86_400_000;

/** Whatever takes commands. */
export interface Target {
  /** Resolves with whether it was taken; rejects when nobody knows. */
  submit(command: ClientCommand, options: { readonly gzip: boolean; readonly wait: boolean }): Promise<boolean>;
  /** false: sending has no sense any more. */
  readonly running: boolean;
}

export function overHttp(server: TestServer): Target {
  return {
    get running() {
      return server.running;
    },
    submit: async (command, { gzip, wait }) => {
      const answer = await server.submit(command, { gzip, wait: wait ? 20 : 0 });
      assert.ok(answer.status === 200 || answer.status === 503, `${answer.status} ${answer.text}`);
      return answer.acknowledged;
    },
  };
}

const NODES = 50;
const CLIENTS = 10;

/** Clients that submit for their own nodes until the server is gone, and note what was acknowledged. */
export class Fleet {
  readonly #target: Target;
  readonly #random: Random;
  readonly #models = Array.from(
    { length: NODES },
    (_, i) => new NodeModel(`node-${String(i).padStart(2, '0')}.example.com`),
  );
  readonly #start = Date.now() - DAY;
  #clock = 0;
  #version = 0;
  acknowledged = 0;
  unanswered = 0;
  refused = 0;

  constructor(target: Target, random: Random) {
    this.#target = target;
    this.#random = random;
  }

  /** Resolves when every client has lost its connection, or the target has stopped running. */
  async run(): Promise<void> {
    const clients = Array.from({ length: CLIENTS }, (_, client) => {
      return this.#client(
        this.#models.filter((_, i) => i % CLIENTS === client),
        this.#random.fork(),
      );
    });
    await Promise.all(clients);
  }

  async #client(models: readonly NodeModel[], random: Random): Promise<void> {
    while (this.#target.running) {
      const model = random.pick(models);
      const kind: Kind = random.chance(0.06)
        ? 'deactivate'
        : random.pick(['facts', 'catalog', 'catalog', 'report', 'report'] as const);
      // Now and then something old arrives late.
      const isLate = (kind === 'facts' || kind === 'catalog') && random.chance(0.05);
      const time = isLate ? this.#start - random.between(1, 1000) : this.#start + ++this.#clock;
      if (!(await this.#send(model, model.send(kind, ++this.#version, time), random))) return;
    }
  }

  /** false: the connection was lost. */
  async #send(model: NodeModel, sent: Sent, random: Random): Promise<boolean> {
    const options = { gzip: random.chance(0.5), wait: random.chance(0.2) };
    try {
      const style = random.pick([null, null, 'reversed', 'indented'] as const);
      const command = commandOf(model.certname, sent);
      if (await this.#target.submit(style === null ? command : respelled(command, style), options)) {
        sent.acknowledged = true;
        this.acknowledged++;
      } else {
        this.refused++;
        await pause(5);
      }
      return true;
    } catch (error) {
      if (error instanceof assert.AssertionError) throw error;
      this.unanswered++;
      return false;
    }
  }

  /** Compares every node with what the server shows, and sends some of the unanswered commands again, as clients do. */
  async settle(states: ReadonlyMap<string, NodeState>): Promise<void> {
    for (const model of this.#models) {
      const nothing: NodeState = { facts: null, catalog: null, deactivated: null, reports: [] };
      for (const { kind, version, time } of model.settle(states.get(model.certname) ?? nothing)) {
        if (!this.#random.chance(0.5)) continue;
        const again = model.send(kind, version, time);
        assert.ok(await this.#send(model, again, this.#random), 'the server is gone');
      }
    }
    for (const certname of states.keys()) {
      assert.ok(
        this.#models.some((model) => model.certname === certname),
        `${certname} was never sent`,
      );
    }
  }
}

function commandOf(certname: string, { kind, version, time }: Sent): ClientCommand {
  switch (kind) {
    case 'facts':
      return replaceFacts(certname, version, time);
    case 'catalog':
      return replaceCatalog(certname, version, time);
    case 'report':
      return storeReport(certname, version, time);
    case 'deactivate':
      return deactivateNode(certname, time);
  }
}
