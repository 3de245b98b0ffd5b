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

  /** Resolves when the condition holds or the connection is closed; rejects when neither happens. */
  async until(condition: (received: string) => boolean, maxMs = 30_000): Promise<string> {
    const deadline = Date.now() + maxMs;
    while (!condition(this.received) && !this.isClosed) {
      const left = deadline - Date.now();
      if (left <= 0)
        throw new Error(`in vain for ${maxMs} ms; received ${JSON.stringify(this.received.slice(0, 500))}`);
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, left);
        this.#changed.push(() => {
          clearTimeout(timer);
          resolve();
        });
      });
    }
    return this.received;
  }

  /** Status of the first answer, once its head is there; null when the connection was closed without one. */
  async status(maxMs?: number): Promise<number | null> {
    const text = await this.until((received) => received.includes('\r\n\r\n'), maxMs);
    const match = /^HTTP\/1\.[01] (\d{3})/.exec(text);
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

  #wake(): void {
    const waiting = this.#changed;
    this.#changed = [];
    for (const wake of waiting) wake();
  }
}
