// Small line charts, one below the other, from zero upwards: flat is flat.

import { show } from './figures.ts';

interface Chart {
  readonly title: string;
  readonly x: readonly number[];
  readonly y: readonly number[];
}

const WIDTH = 640;
const HEIGHT = 150;
const LEFT = 70;
const RIGHT = 20;
const TOP = 30;
const BOTTOM = 30;

/** An SVG document; the x axis is the same in all charts and logarithmic. */
export function drawCharts(xTitle: string, charts: readonly Chart[]): string {
  const parts = charts.map((chart, i) => `<g transform="translate(0 ${i * HEIGHT})">${drawChart(chart)}</g>`);
  const height = charts.length * HEIGHT + 24;
  const caption = `<text x="${WIDTH / 2}" y="${height - 8}" text-anchor="middle">${xTitle}</text>`;
  return (
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" font-family="sans-serif" font-size="11">\n` +
    `<rect width="100%" height="100%" fill="white"/>\n${parts.join('\n')}\n${caption}\n</svg>\n`
  );
}

function drawChart({ title, x, y }: Chart): string {
  const [low, high] = [Math.log(Math.min(...x)), Math.log(Math.max(...x))];
  const top = Math.max(...y) * 1.15 || 1;
  const px = (value: number): number => LEFT + ((Math.log(value) - low) / (high - low || 1)) * (WIDTH - LEFT - RIGHT);
  const py = (value: number): number => HEIGHT - BOTTOM - (value / top) * (HEIGHT - TOP - BOTTOM);
  const points = x.map((value, i) => [px(value), py(y[i]!)] as const);
  const line = points.map(([a, b]) => `${a.toFixed(1)},${b.toFixed(1)}`).join(' ');
  const marks = points.map(([a, b], i) => {
    const anchor = i === 0 ? 'start' : i === points.length - 1 ? 'end' : 'middle';
    return (
      `<circle cx="${a.toFixed(1)}" cy="${b.toFixed(1)}" r="3" fill="#26547c"/>` +
      `<text x="${a.toFixed(1)}" y="${(b - 7).toFixed(1)}" text-anchor="${anchor}">${show(y[i]!)}</text>` +
      `<text x="${a.toFixed(1)}" y="${HEIGHT - BOTTOM + 14}" text-anchor="${anchor}" fill="#666">${x[i]}</text>`
    );
  });
  const axis = `<path d="M${LEFT} ${TOP}V${HEIGHT - BOTTOM}H${WIDTH - RIGHT}" fill="none" stroke="#bbb"/>`;
  const zero = `<text x="${LEFT - 6}" y="${HEIGHT - BOTTOM}" text-anchor="end" fill="#666">0</text>`;
  const heading = `<text x="${LEFT}" y="16" font-weight="bold">${title}</text>`;
  return `${heading}${axis}${zero}<polyline points="${line}" fill="none" stroke="#26547c" stroke-width="1.5"/>${marks.join('')}`;
}
