// The reference of all settings as Markdown, from the table. docs/configure.md holds it; a test keeps the two equal.

import { environmentOf, flagOf, type SettingRow, settingEntries } from '../../schemas/config.ts';
import { rangeText } from './values.ts';

const kinds: Readonly<Record<SettingRow['type'], string>> = {
  duration: 'time span: `14d`, `6h`, `30m`, `45s`, `500ms`',
  minutes: 'minutes, fractions allowed',
  seconds: 'seconds, fractions allowed',
  milliseconds: 'milliseconds',
  integer: 'whole number',
  bytes: 'bytes, or `64K`, `64M`, `1G`',
  boolean: '`true` or `false`',
  text: 'text',
  path: 'path',
  choice: '',
  list: 'list, separated by commas',
};

/** One section of the document for each section of the files, settings in the order of the table. */
export function settingsReference(): string {
  const sections = new Map<string, SettingRow[]>();
  for (const [, row] of settingEntries) {
    sections.set(row.section, [...(sections.get(row.section) ?? []), row]);
  }
  const parts: string[] = [];
  for (const [section, rows] of sections) {
    parts.push(
      `### \`[${section}]\`\n\n| Setting | Default | Meaning |\n|---|---|---|\n${rows.map(tableRow).join('\n')}\n`,
    );
  }
  return parts.join('\n');
}

function tableRow(row: SettingRow): string {
  const names = [`\`${row.name}\``];
  if (flagOf(row) !== row.name) names.push(`\`--${flagOf(row)}\``);
  names.push(`\`${environmentOf(row)}\``, ...(row.environment ?? []).map((name) => `\`${name}\``));
  const kind = row.choices === undefined ? kinds[row.type] : row.choices.map((choice) => `\`${choice}\``).join(', ');
  const range = row.min === undefined && row.max === undefined ? '' : `; ${rangeText(row)}`;
  const byDefault = row.default !== null && row.default !== '' ? `\`${row.default}\`` : (row.derived?.text ?? 'none');
  const former = row.formerly === undefined ? '' : ` Formerly ${row.formerly.map((name) => `\`${name}\``).join(', ')}.`;
  const meaning = `${row.doc}${former} (${kind}${range})`.replaceAll('|', '\\|');
  return `| ${names.join('<br>')} | ${byDefault} | ${meaning} |`;
}
