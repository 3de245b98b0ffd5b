// A thread of the floor server: takes bodies, does the floor's work for each, and says how many they were.

import { parentPort } from 'node:worker_threads';
import { hash, parse, unpack } from './floor-work.ts';

parentPort!.on('message', (bodies: readonly Uint8Array[]) => {
  for (const body of bodies) {
    const plain = unpack(body);
    parse(plain);
    hash(plain);
  }
  parentPort!.postMessage(bodies.length);
});
