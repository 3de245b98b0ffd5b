// The partition's state record, msgpack. Bodies, nodes, reports and events have codecs of their own beside this file.

import { Packr } from 'msgpackr';

const packr = new Packr({ useRecords: false, int64AsType: 'number' });

export const encodeState = (state: object): Buffer => packr.pack(state);
export const decodeState = (bytes: Uint8Array): Record<string, unknown> =>
  packr.unpack(bytes) as Record<string, unknown>;
