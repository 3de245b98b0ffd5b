// The events inside a report, which show values as stored ones: the row of the same event has them as they came.

import assert from 'node:assert/strict';
import { after, before, it } from 'node:test';
import { ask, type Fleet, newFleet, report } from '../request/fleet.ts';

const VALUES: readonly (readonly [value: unknown, inReport: string, inEvent: string])[] = [
  [[1e21, 1e-7, 1.5], '[1000000000000000000000,0.00000010,1.5]', '[1.0E21,1.0E-7,1.5]'],
  [
    { bb: 1, a: 1e-7, ü: [], aa: { cc: null, d: 'x' } },
    '{"a":0.00000010,"aa":{"d":"x","cc":null},"bb":1,"ü":[]}',
    '{"a":1.0E-7,"aa":{"cc":null,"d":"x"},"bb":1,"ü":[]}',
  ],
  [1e-7, '0.00000010', '1.0E-7'],
  [-1e21, '-1000000000000000000000', '-1.0E21'],
  [12, '12', '12'],
  ['1e21', '"1e21"', '"1e21"'],
  [true, 'true', 'true'],
  [null, 'null', 'null'],
];

let fleet: Fleet;
before(() => {
  fleet = newFleet();
  const [resource] = report('a.example.com').resources;
  const events = VALUES.map(([value], i) => ({
    ...resource!.events[0],
    property: `p${i}`,
    new_value: value,
    old_value: VALUES.at(-1 - i)![0],
  }));
  fleet.apply('store report', 8, report('a.example.com', { resources: [{ ...resource, events }] }));
});
after(() => fleet.close());

it('values in a report are spelled as stored ones', () => {
  const [inReport, inEvent] = ['/reports', '/events'].map((path) => ask(fleet, { path }).text);
  const has = (text: string, member: string): boolean => text.includes(`${member},"`) || text.includes(`${member}}`);
  for (const [, shown, kept] of VALUES) {
    for (const key of ['new_value', 'old_value']) {
      assert.ok(has(inReport!, `"${key}":${shown}`), `${key} ${shown}`);
      assert.ok(has(inEvent!, `"${key}":${kept}`), `${key} ${kept}`);
    }
  }
});
