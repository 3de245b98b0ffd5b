// A plain connection, for tests that send what no HTTP client would, or read as slowly as they like.

import { once } from 'node:events';
import { connect, type Socket } from 'node:net';

export class RawClient {
  readonly socket: Socket;
  /** Everything received that was not thrown away, as latin1. */
  received = '';
  receivedBytes = 0;
  isClosed = false;
  readonly #keep: boolean;
  #changed: (() => void)[] = [];

  private constructor(socket: Socket, keep: boolean) {
    this.socket = socket;
    this.#keep = keep;
    socket.on('error', () => {});
    socket.on('close', () => {
      this.isClosed = true;
      this.#wake();
    });
  }

  /** `keep` false: what is received is counted and thrown away. */
  static async open(port: number, { keep = true, flowing = true } = {}): Promise<RawClient> {
    const socket = connect({ host: '127.0.0.1', port, noDelay: true });
    await once(socket, 'connect');
    const client = new RawClient(socket, keep);
    if (flowing) socket.on('data', (chunk: Buffer) => client.#took(chunk));
    return client;
  }

  send(text: string | Uint8Array): void {
    if (!this.isClosed) this.socket.write(text);
  }

  /** Reads at about that many bytes a second, until `stop` is called. Not for a client that is flowing. */
  readSlowly(bytesPerSecond: number): { stop(): void } {
    const portion = Math.max(1, Math.round(bytesPerSecond / 20));
    const timer = setInterval(() => {
      const chunk = (this.socket.read(portion) ?? this.socket.read()) as Buffer | null;
      if (chunk !== null) this.#took(chunk);
    }, 50);
    return { stop: () => clearInterval(timer) };
  }

  /** What was received once it satisfies the condition; rejects when the connection closes before, and when neither happens. */
  async until(condition: (received: string) => boolean, maxMs?: number): Promise<string> {
    await this.#wait(() => condition(this.received), maxMs);
    if (!condition(this.received)) throw new Error(`closed after ${this.#start}`);
    return this.received;
  }

  /** All that was received, once the connection is closed; rejects when it stays open. */
  async closed(maxMs?: number): Promise<string> {
    await this.#wait(() => false, maxMs);
    return this.received;
  }

  /** Status of the first answer, once its head is there; null when the connection was closed without one. */
  async status(maxMs?: number): Promise<number | null> {
    await this.#wait(() => this.received.includes('\r\n\r\n'), maxMs);
    const match = /^HTTP\/1\.[01] (\d{3})/.exec(this.received);
    return match === null ? null : Number(match[1]);
  }

  close(): void {
    this.socket.destroy();
  }

  #took(chunk: Buffer): void {
    this.receivedBytes += chunk.length;
    if (this.#keep) this.received += chunk.toString('latin1');
    this.#wake();
  }

  /** Until the condition holds or the connection is closed; rejects when neither happens. */
  async #wait(condition: () => boolean, maxMs = 30_000): Promise<void> {
    const deadline = performance.now() + maxMs;
    while (!condition() && !this.isClosed) {
      const left = deadline - performance.now();
      if (left <= 0) throw new Error(`in vain for ${maxMs} ms; received ${this.#start}`);
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, left);
        this.#changed.push(() => {
          clearTimeout(timer);
          resolve();
        });
      });
    }
  }

  get #start(): string {
    return JSON.stringify(this.received.slice(0, 500));
  }

  #wake(): void {
    const waiting = this.#changed;
    this.#changed = [];
    for (const wake of waiting) wake();
  }
}
