import { exchangeText, type Recorded } from '../client/recorder.ts';
import { mostTelling, type Telling, telling, tellingMost } from '../common/excerpt.ts';
import { literal } from '../common/redact.ts';
import { printable } from '../common/terminal.ts';
import { readableDuration } from '../common/units.ts';
import type { CheckResult } from '../runner/types.ts';

const ROWS = 6;
const URL = 200;
/** Headers of every client; reports hide them unless the finding names them. */
const USUAL = new Set([
  ...['host', 'connection', 'keep-alive', 'user-agent', 'accept-encoding', 'accept-language'],
  ...['content-length', 'transfer-encoding', 'sec-fetch-mode', 'cache-control', 'pragma'],
  ...['sec-ch-ua', 'sec-ch-ua-mobile', 'sec-ch-ua-platform', 'sec-fetch-site', 'sec-fetch-dest'],
]);
const SHOWN_BEFORE = 'content-type';

export function exchangesOf(
  result: CheckResult,
  { columns = 160, most = Number.POSITIVE_INFINITY }: { columns?: number; most?: number } = {},
): { headline: string; lines: string[] }[] {
  const { requirement, expected = '', actual = result.reason ?? '', exchanges = [] } = result;
  const about = telling({ expected, actual });
  // Finds names of headers in a text; the header `Date` differs from the word `date` by its capital or a colon.
  const names = (name: string): boolean => {
    const title = name.charAt(0).toUpperCase() + name.slice(1);
    const written = name.includes('-') ? [[name, 'i']] : [[`${name}:`], [title]];
    return written.some(([words = '', flags]) =>
      new RegExp(`(?<![\\w-])${literal(words)}(?![\\w-])`, flags).test(`${requirement} ${expected} ${actual}`),
    );
  };
  return tellingMost(exchanges, exchangeText, most, about).map((exchange) => {
    const sent = headersOf(exchange.request_headers, (name) => !USUAL.has(name) || names(name));
    const came = headersOf(exchange.response_headers, (name) => name !== SHOWN_BEFORE && names(name));
    const body = (text: string | undefined): string[] => rowsAbout(text ?? '', columns - 2, about);
    const error = problemOf(exchange);
    return {
      headline: headline(exchange),
      lines: [
        ...[...folded(sent, columns - 2), ...body(exchange.request_body)].map((line) => `> ${line}`),
        ...[...folded(came, columns - 2), ...body(exchange.response_body)].map((line) => `< ${line}`),
        ...(exchange.status === undefined || error === undefined ? [] : [`< ${printable(error)}`]),
      ],
    };
  });
}

function headline(exchange: Recorded): string {
  const { status, response_headers, duration_ms, times } = exchange;
  const about = response_headers?.[SHOWN_BEFORE] ?? '';
  const answer = status === undefined ? (problemOf(exchange) ?? 'no answer') : `${status} ${about}`.trim();
  const took = `${readableDuration(duration_ms)}${times === undefined ? '' : `, ${times} times`}`;
  return printable(`${asked(exchange)} → ${answer} (${took})`);
}

function asked({ method, url, raw, request_body = '' }: Recorded): string {
  const path = shortened(url.replace(/^[a-z]+:\/\/[^/?]*/, '') || '/', URL);
  if (raw !== true) return `${method} ${path}`;
  if (method === 'RAW') return 'bytes that are no request';
  const more = (request_body.match(/^[!-~]{1,20} [!-~]+ HTTP\/\d/gm) ?? []).length - 1;
  return `${method} ${path}${more > 0 ? ` and ${more} more` : ''}, as bytes`;
}

const problemOf = ({ method, url, error }: Recorded): string | undefined =>
  error?.startsWith(`${method} ${url}: `) === true ? error.slice(`${method} ${url}: `.length) : error;

/** Cuts a text to `limit` characters, and appends its original number; a text that was cut before keeps its number. */
export const shortened = (text: string, limit: number): string =>
  text.length <= limit
    ? text
    : `${text.slice(0, limit)}${/… \(\d+ characters\)$/.exec(text)?.[0] ?? `… (${text.length} characters)`}`;

const headersOf = (headers: Readonly<Record<string, string>> = {}, isShown: (name: string) => boolean): string[] =>
  Object.entries(headers)
    .filter(([name]) => isShown(name.toLowerCase()))
    .map(([name, value]) => printable(`${name}: ${shortened(value, URL)}`).replaceAll('\n', ' '));

function folded(items: readonly string[], columns: number): string[] {
  const rows: string[] = [];
  for (const item of items) {
    const row = rows.at(-1);
    if (row !== undefined && row.length + item.length + 5 <= columns) rows.splice(-1, 1, `${row} · ${item}`);
    else {
      if (row !== undefined) rows.splice(-1, 1, `${row} ·`);
      rows.push(...inRows(item, columns).map(({ text }) => text));
    }
  }
  return rows;
}

/** Breaks lines after spaces, commas and `&` where possible, so that names stay unbroken. */
function inRows(text: string, columns: number): { text: string; at: number }[] {
  const rows: { text: string; at: number }[] = [];
  for (let at = 0; at <= text.length; ) {
    const found = text.indexOf('\n', at);
    const line = text.slice(at, found === -1 ? text.length : found);
    const between = Math.max(...[' ', ',', '&'].map((sign) => line.lastIndexOf(sign, columns - 1))) + 1;
    const length = line.length <= columns ? line.length : between > columns * 0.6 ? between : columns;
    rows.push({ text: line.slice(0, length), at });
    at += length === line.length ? length + 1 : length;
  }
  return rows;
}

function rowsAbout(body: string, columns: number, about: Telling): string[] {
  const text = printable(body.replaceAll('\r\n', '\n'))
    .split('\n')
    .filter((line) => line.trim() !== '')
    .join('\n');
  if (text === '') return [];
  const rows = inRows(text, columns);
  if (rows.length <= ROWS + 1) return rows.map((row) => row.text);
  const [first, last] = mostTelling(text, (ROWS * text.length * 3) / (4 * rows.length), about) ?? [0, 1];
  const [from = 0, to = 0] = [first, last - 1].map((place) => rows.findLastIndex(({ at }) => at <= place));
  const before = Math.max(0, Math.floor((ROWS - (to - from + 1)) / 2));
  const start = to < ROWS ? 0 : Math.min(Math.max(0, from - before), rows.length - ROWS);
  const isCut = start + ROWS < rows.length;
  return rows
    .slice(start, start + ROWS)
    .map((row, index) => `${index === 0 && start > 0 ? '…' : ''}${row.text}${index === ROWS - 1 && isCut ? '…' : ''}`);
}
