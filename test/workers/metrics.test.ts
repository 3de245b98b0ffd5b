import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Histogram, Meter, MetricsRegistry, Timer } from '../../workers/metrics.ts';

/** A clock that stands still until it is moved; milliseconds. */
function handClock(): { now: number; clock: () => number } {
  const hand = { now: 0, clock: () => hand.now };
  return hand;
}

/** Numerical Recipes' generator: enough for a reservoir, the same every run. */
function randomFrom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
}

test('meter: a steady rate shows in every average', () => {
  const hand = handClock();
  const meter = new Meter(hand.clock);
  for (let second = 0; second < 1800; second++) {
    meter.mark(10);
    hand.now += 1000;
  }
  const rates = meter.rates();
  assert.equal(rates.count, 18_000);
  assert.equal(rates.meanRate, 10);
  for (const rate of [rates.oneMinuteRate, rates.fiveMinuteRate, rates.fifteenMinuteRate]) {
    assert.ok(Math.abs(rate - 10) < 0.1, `${rate}`);
  }
});

test('meter: after a minute of silence the one-minute rate has fallen to 1/e', () => {
  const hand = handClock();
  const meter = new Meter(hand.clock);
  meter.mark(50);
  hand.now = 5000;
  assert.equal(meter.rates().oneMinuteRate, 10);
  hand.now = 65_000;
  const rates = meter.rates();
  assert.ok(Math.abs(rates.oneMinuteRate - 10 / Math.E) < 1e-9);
  assert.ok(Math.abs(rates.fiveMinuteRate - 10 * Math.exp(-60 / 300)) < 1e-9);
  assert.ok(Math.abs(rates.fifteenMinuteRate - 10 * Math.exp(-60 / 900)) < 1e-9);
});

test('meter: a clock that stood still for years costs nothing and leaves no rate', () => {
  const hand = handClock();
  const meter = new Meter(hand.clock);
  meter.mark();
  hand.now = 10 * 365 * 86_400_000;
  assert.equal(meter.rates().oneMinuteRate, 0);
});

test('histogram: few samples give exact percentiles', () => {
  const histogram = new Histogram(handClock().clock);
  for (let value = 1; value <= 1000; value++) histogram.update(value);
  const figures = histogram.snapshot();
  assert.equal(figures.count, 1000);
  assert.equal(figures.size, 1000);
  assert.equal(figures.min, 1);
  assert.equal(figures.max, 1000);
  assert.ok(Math.abs(figures.mean - 500.5) < 1e-9);
  assert.ok(Math.abs(figures.p50 - 500) <= 1);
  assert.ok(Math.abs(figures.p95 - 950) <= 1);
  assert.ok(Math.abs(figures.p999 - 999) <= 1);
});

test('histogram: old samples give way to new ones', () => {
  const hand = handClock();
  const histogram = new Histogram(hand.clock, randomFrom(7));
  for (let i = 0; i < 5000; i++) histogram.update(1);
  hand.now += 30 * 60_000;
  for (let i = 0; i < 5000; i++) histogram.update(100);
  const figures = histogram.snapshot();
  assert.equal(figures.size, 1028);
  assert.equal(figures.count, 10_000);
  assert.equal(figures.p50, 100);
  assert.ok(figures.mean > 99.9, `${figures.mean}`);
});

test('histogram: a uniform stream longer than the reservoir keeps its shape', () => {
  const histogram = new Histogram(handClock().clock, randomFrom(11));
  const random = randomFrom(13);
  for (let i = 0; i < 100_000; i++) histogram.update(random());
  const figures = histogram.snapshot();
  assert.ok(Math.abs(figures.p50 - 0.5) < 0.06, `${figures.p50}`);
  assert.ok(Math.abs(figures.p95 - 0.95) < 0.03, `${figures.p95}`);
});

test('histogram: without samples every figure is zero, and after a silent week none is NaN', () => {
  const hand = handClock();
  const histogram = new Histogram(hand.clock);
  assert.equal(histogram.snapshot().mean, 0);
  histogram.update(3);
  hand.now += 7 * 86_400_000;
  const figures = histogram.snapshot();
  assert.equal(figures.mean, 3);
  assert.equal(figures.stdDev, 0);
});

test('histogram: figures that are read again are of all samples, and sorted anew only if one came', (t) => {
  const hand = handClock();
  const histogram = new Histogram(hand.clock, randomFrom(5));
  for (let value = 1; value <= 2000; value++) histogram.update(value);
  const sort = t.mock.method(Uint16Array.prototype, 'sort');
  const first = histogram.snapshot();
  hand.now += 60_000;
  const again = histogram.snapshot();
  assert.deepEqual([again.min, again.max, again.p50], [first.min, first.max, first.p50]);
  assert.equal(sort.mock.callCount(), 1);
  hand.now += 60_000;
  for (let i = 0; i < 100; i++) histogram.update(5000);
  assert.equal(histogram.snapshot().max, 5000);
  assert.equal(sort.mock.callCount(), 2);
});

test('histogram: figures can be of the last seconds only', () => {
  const hand = handClock();
  const histogram = new Histogram(hand.clock);
  for (const value of [900, 700]) histogram.update(value);
  hand.now += 200_000;
  histogram.update(3);
  assert.equal(histogram.distribution(300).max, 900);
  hand.now += 100_001;
  const { size, max, p999 } = histogram.distribution(300);
  assert.deepEqual([size, max, p999], [1, 3, 3]);
  hand.now += 200_000;
  assert.equal(histogram.distribution(300).size, 0);
  assert.deepEqual([histogram.distribution().max, histogram.snapshot().max, histogram.count], [900, 900, 3]);
});

test('timer: counts, rates and durations belong together', () => {
  const hand = handClock();
  const timer = new Timer(hand.clock);
  timer.update(20);
  timer.update(40);
  hand.now = 10_000;
  const figures = timer.snapshot();
  assert.equal(figures.count, 2);
  assert.equal(figures.meanRate, 0.2);
  assert.equal(figures.mean, 30);
  assert.equal(figures.max, 40);
});

test('registry: a name is one metric of one kind', () => {
  const registry = new MetricsRegistry();
  registry.meter('mq', 'global.seen').mark(2);
  assert.equal(registry.meter('mq', 'global.seen').count, 2);
  assert.throws(() => registry.counter('mq', 'global.seen'), /metric mq:global.seen is not a counter/);
  assert.equal(registry.get('mq', 'other'), undefined);
});

test('registry: its entries are all metrics, whatever their names', () => {
  const registry = new MetricsRegistry();
  registry.counter('mq', '__proto__').inc(3);
  registry.gauge('population', 'num-nodes', () => 12);
  registry.gauge('population', 'broken', () => {
    throw new Error('store away');
  });
  assert.equal(registry.counter('mq', '__proto__').count, 3);
  assert.deepEqual(
    [...registry.entries()].map((entry) => entry.name),
    ['__proto__', 'num-nodes', 'broken'],
  );
});
