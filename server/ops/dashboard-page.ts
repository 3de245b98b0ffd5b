// The dashboard as one self-contained page: no other file, no library, only relative addresses, so that it works over
// HTTPS, behind proxies that rewrite paths, and inside other pages. One sparkline per meter of `data`.
//
// URL parameters: width, height (pixels of a sparkline), nHistorical (points kept), pollingInterval (milliseconds), token
// (sent as X-Authentication).

const style = `
:root { color-scheme: light dark; --ink: #1d2433; --faint: #68707f; --line: #2f6f9f; --fill: #2f6f9f22; --rule: #d9dde5; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e6e9ef; --faint: #98a1b3; --line: #7cb8e4; --fill: #7cb8e422; --rule: #343b49; --paper: #171b23; }
}
body { margin: 2rem auto; max-width: 60rem; padding: 0 1rem; background: var(--paper, #fff); color: var(--ink);
  font: 15px/1.4 system-ui, sans-serif; }
header { display: flex; justify-content: space-between; align-items: baseline; border-bottom: 1px solid var(--rule); }
h1 { font-size: 1.2rem; margin: 0 0 .5rem; }
#state { color: var(--faint); }
#state.lost { color: #c0392b; }
table { border-collapse: collapse; width: 100%; }
td { border-bottom: 1px solid var(--rule); padding: .35rem .75rem .35rem 0; vertical-align: middle; }
td.value { font-size: 1.6rem; text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
td.name small { display: block; color: var(--faint); }
td.bounds { color: var(--faint); font-size: .75rem; white-space: nowrap; }
td.bounds span { display: block; }
svg { display: block; overflow: visible; }
polyline { fill: none; stroke: var(--line); stroke-width: 1.5; vector-effect: non-scaling-stroke; }
polygon { fill: var(--fill); stroke: none; }
`;

const script = `
const parameters = new URLSearchParams(location.search);
const number = (name, fallback, least) => {
  const value = Number(parameters.get(name) ?? fallback);
  return Number.isFinite(value) && value >= least ? value : fallback;
};
const width = number('width', 400, 10);
const height = number('height', 60, 10);
const kept = Math.floor(number('nHistorical', 60, 2));
const interval = number('pollingInterval', 5000, 250);
const token = parameters.get('token');
const headers = token === null ? {} : { 'X-Authentication': token };
const state = document.getElementById('state');
const rows = new Map();

const prefixes = ['y', 'z', 'a', 'f', 'p', 'n', '\\u00b5', 'm', '', 'k', 'M', 'G', 'T', 'P', 'E', 'Z', 'Y'];

/** The notations that meters use: '', 's', '.3s', '.1%'. */
function format(value, notation) {
  if (value === null) return '\\u2013';
  const match = /^(?:\\.(\\d+))?([s%]?)$/.exec(notation) ?? [null, undefined, ''];
  const digits = match[1] === undefined ? null : Number(match[1]);
  if (match[2] === '%') return (value * 100).toFixed(digits ?? 0) + '%';
  if (match[2] !== 's') return Number.isInteger(value) ? String(value) : String(Number(value.toPrecision(12)));
  if (value === 0) return '0';
  // Rounded first: it may need the next prefix then.
  const rounded = Number(value.toPrecision(digits ?? 6));
  const step = Math.max(-8, Math.min(8, Math.floor(Math.log10(Math.abs(rounded)) / 3 + 1e-9)));
  const scaled = rounded / 1000 ** step;
  const whole = Math.floor(Math.log10(Math.abs(scaled)) + 1e-9) + 1;
  const text = digits === null ? String(Number(scaled.toPrecision(6))) : scaled.toFixed(Math.max(0, digits - whole));
  return text + prefixes[step + 8];
}

function element(name, attributes, ...children) {
  const made = document.createElement(name);
  Object.assign(made, attributes);
  made.append(...children);
  return made;
}

function drawing(name) {
  return document.createElementNS('http://www.w3.org/2000/svg', name);
}

function addRow(meter) {
  const value = element('td', { className: 'value' });
  const most = element('span', {});
  const least = element('span', {});
  const svg = drawing('svg');
  svg.setAttribute('width', width);
  svg.setAttribute('height', height);
  svg.setAttribute('role', 'img');
  svg.setAttribute('aria-label', meter.description + ', ' + meter.addendum);
  const area = drawing('polygon');
  const line = drawing('polyline');
  svg.append(area, line);
  const name = element('td', { className: 'name' }, meter.description, element('small', {}, meter.addendum));
  const bounds = element('td', { className: 'bounds' }, most, least);
  document.getElementById('meters').append(element('tr', {}, name, value, element('td', {}, svg), bounds));
  const row = { value, most, least, area, line, history: [] };
  rows.set(meter.id, row);
  return row;
}

function update(meter) {
  const row = rows.get(meter.id) ?? addRow(meter);
  const clamp = meter.clampToZero;
  const value = meter.value !== null && clamp !== undefined && meter.value < clamp ? 0 : meter.value;
  row.value.textContent = format(value, meter.format);
  row.history.push(value);
  if (row.history.length > kept) row.history.shift();
  const known = row.history.filter((point) => point !== null);
  if (known.length === 0) return;
  const most = Math.max(...known);
  const least = Math.min(...known);
  row.most.textContent = format(most, meter.format);
  row.least.textContent = format(least, meter.format);
  const span = most - least;
  const points = [];
  row.history.forEach((point, index) => {
    if (point === null) return;
    const x = width - ((row.history.length - 1 - index) * width) / (kept - 1);
    const y = span === 0 ? height / 2 : height - ((point - least) / span) * (height - 2) - 1;
    points.push(x.toFixed(1) + ',' + y.toFixed(1));
  });
  row.line.setAttribute('points', points.join(' '));
  const first = points[0].split(',')[0];
  const last = points[points.length - 1].split(',')[0];
  row.area.setAttribute('points', first + ',' + height + ' ' + points.join(' ') + ' ' + last + ',' + height);
}

async function fetchJson(address) {
  const answer = await fetch(address, { headers, cache: 'no-store' });
  if (!answer.ok) throw new Error('status ' + answer.status);
  return answer.json();
}

async function poll() {
  try {
    for (const meter of await fetchJson('data')) update(meter);
    state.textContent = '';
    state.className = '';
  } catch (error) {
    state.textContent = 'no answer: ' + error.message;
    state.className = 'lost';
  }
  setTimeout(poll, interval);
}

fetchJson('../meta/v1/version').then(
  ({ version }) => { document.getElementById('version').textContent = 'as PuppetDB ' + version; },
  () => {},
);
poll();
`;

export const dashboardPage = `<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Muster: dashboard</title>
<style>${style}</style>
</head>
<body>
<header><h1>Muster <small id="version"></small></h1><span id="state"></span></header>
<table><tbody id="meters"></tbody></table>
<noscript><p>The figures are drawn by a script. Without it, see <a href="data">the figures themselves</a>.</p></noscript>
<script>${script}</script>
</body>
</html>
`;
