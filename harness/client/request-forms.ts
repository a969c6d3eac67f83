import { quote } from '../common/usage.ts';
import { cut } from './timeline.ts';

export type Parameters = Readonly<Record<string, string | number | readonly string[]>>;
export type Query = Parameters | string;

/** Lower-case names; `undefined` in `change` removes a header. */
export function mergeHeaders(
  base: Record<string, string>,
  change: Record<string, string | undefined> = {},
): Record<string, string> {
  const merged = new Map(Object.entries(base).map(([name, value]) => [name.toLowerCase(), value]));
  for (const [name, value] of Object.entries(change)) {
    if (value === undefined) merged.delete(name.toLowerCase());
    else merged.set(name.toLowerCase(), value);
  }
  return Object.fromEntries(merged);
}

export function queryText(query: Query | undefined): string {
  if (query === undefined) return '';
  if (typeof query === 'string') return query === '' ? '' : `?${query}`;
  const pairs = Object.entries(query).flatMap(([name, value]) =>
    (Array.isArray(value) ? value : [value]).map(
      (item) => `${encodeURIComponent(name)}=${encodeURIComponent(String(item))}`,
    ),
  );
  return pairs.length === 0 ? '' : `?${pairs.join('&')}`;
}

export function bodyOf(body: unknown, headers: Record<string, string>): string | Buffer | undefined {
  if (body === undefined) return undefined;
  if (body instanceof Uint8Array) return Buffer.from(body);
  headers['content-type'] ??= 'application/json';
  return typeof body === 'string' ? body : JSON.stringify(body);
}

/**
 * Lower-case names; repeated headers are joined with `, `. `raw`: names and values in turn, each byte as a character.
 */
export function flatten(raw: readonly string[]): Record<string, string> {
  const headers: Record<string, string> = {};
  for (let at = 0; at + 1 < raw.length; at += 2) {
    const name = (raw[at] ?? '').toLowerCase();
    const value = Buffer.from(raw[at + 1] ?? '', 'latin1').toString();
    headers[name] = Object.hasOwn(headers, name) ? `${headers[name]}, ${value}` : value;
  }
  return headers;
}

/** Leaves commas between types unescaped, because an escaped comma belongs to a type. */
export function eventsQuery({ after, types }: { after?: string | number | bigint; types?: readonly string[] }): string {
  const pairs: string[] = [];
  if (after !== undefined) pairs.push(`after=${encodeURIComponent(String(after))}`);
  if (types !== undefined) pairs.push(`types=${types.map(encodeURIComponent).join(',')}`);
  return pairs.join('&');
}

export interface CurlParts {
  method: string;
  url: string;
  socketPath?: string | undefined;
  caFile?: string | undefined;
  headers: Record<string, string>;
  body?: string | undefined;
  timeoutMs: number;
  stream?: boolean;
  /** Environment variable that holds `secret`; undefined for a secret that is wrong on purpose. */
  variable(secret: string): string | undefined;
}

const LONGEST_NAME = 200;
/** Characters; shells may reject longer lines. */
export const LONGEST_LINE = 4000;

/** Command line that repeats a request and ends by itself; a shell comment if the line would be too long. */
export function curlLine(parts: CurlParts): string {
  const { body } = parts;
  const sent = body === undefined ? '' : ` with a body of ${body.length} characters`;
  const request = `${parts.method} ${parts.url}${sent}`;
  // Limits an endless stream to 45 s, because a heartbeat comes every 30 s.
  const seconds = parts.stream === true ? 45 : Math.max(1, Math.ceil(parts.timeoutMs / 1000));
  const words = ['curl', parts.stream === true ? '-sN' : '-s', '-i', '--max-time', String(seconds)];
  if (parts.socketPath !== undefined) words.push('--unix-socket', quote(parts.socketPath));
  if (parts.caFile !== undefined) words.push('--cacert', quote(parts.caFile));
  // Keeps curl from expanding brackets and braces.
  if (/[[\]{}]/.test(parts.url)) words.push('-g');
  if (parts.method !== 'GET') words.push('-X', quote(parts.method));
  if ('accept-encoding' in parts.headers) words.push('--compressed');
  for (const [name, value] of Object.entries(parts.headers)) {
    const [, scheme = '', secret = ''] = /^(Bearer )?(.*)$/s.exec(value) ?? [];
    const known = ['x-api-key', 'authorization'].includes(name.toLowerCase()) ? parts.variable(secret) : undefined;
    // curl sends this header by itself.
    if (name === 'accept' && value === '*/*') continue;
    // curl removes a header without a value unless it ends with a semicolon.
    if (value === '') words.push('-H', quote(`${name};`));
    else if (name === 'user-agent') words.push('-A', quote(value));
    else words.push('-H', known === undefined ? quote(`${name}: ${value}`) : `"${name}: ${scheme}$${known}"`);
  }
  if (body !== undefined) words.push('--data-raw', quote(body));
  words.push(quote(parts.url));
  return runnable(words.join(' '), request);
}

export const runnable = (line: string, request: string): string =>
  line.length <= LONGEST_LINE ? line : `# too long for a command line: ${shortened(request.replaceAll(/\s+/g, ' '))}`;

const shortened = (text: string): string =>
  text.length <= LONGEST_NAME ? text : `${cut(text, LONGEST_NAME)} (${text.length} characters)`;
