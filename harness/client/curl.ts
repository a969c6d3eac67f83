/** Shell lines that repeat a request. */
import { cut } from './recorder.ts';

/** A request, as far as `curl` needs it. */
export interface CurlParts {
  method: string;
  /** With the socket transport the URL's host is `localhost`. */
  url: string;
  socketPath?: string | undefined;
  caFile?: string | undefined;
  headers: Record<string, string>;
  body?: string | undefined;
  /** How long the request waited for its answer, milliseconds. */
  timeoutMs: number;
  /** An event stream: curl must not buffer. */
  stream?: boolean;
  /** Name of the environment variable that holds a secret; undefined for a made-up one that is wrong on purpose. */
  variable(secret: string): string | undefined;
}

/** A word as a shell takes it. */
export const quote = (text: string): string =>
  /^[A-Za-z0-9_/:=.,@%+-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
const CREDENTIALS = new Set(['x-api-key', 'authorization']);

/** A credential is written as the variable that holds it, so that the line can be pasted and the report shared. */
function credential(name: string, value: string, { variable }: CurlParts): string | undefined {
  if (!CREDENTIALS.has(name.toLowerCase())) return undefined;
  const [, scheme = '', secret = ''] = /^(Bearer )?(.*)$/s.exec(value) ?? [];
  const known = variable(secret);
  return known === undefined ? undefined : `"${name}: ${scheme}$${known}"`;
}

/** Long enough for a usual heartbeat, every 30 s, to be seen on a stream that never ends. */
const STREAM_SECONDS = 45;
const LONGEST_NAME = 200;
/** Characters; no person pastes a longer line, and a shell may not take it. */
export const LONGEST_LINE = 4000;

/** A shell line that repeats a request and ends by itself; a comment of the shell where the line would be too long. */
export function curlLine(parts: CurlParts): string {
  const { body } = parts;
  const request = `${parts.method} ${parts.url}${body === undefined ? '' : ` with a body of ${body.length} characters`}`;
  const seconds = parts.stream === true ? STREAM_SECONDS : Math.max(1, Math.ceil(parts.timeoutMs / 1000));
  const words = ['curl', parts.stream === true ? '-sN' : '-s', '-i', '--max-time', String(seconds)];
  if (parts.socketPath !== undefined) words.push('--unix-socket', quote(parts.socketPath));
  if (parts.caFile !== undefined) words.push('--cacert', quote(parts.caFile));
  if (parts.method !== 'GET') words.push('-X', quote(parts.method));
  for (const [name, value] of Object.entries(parts.headers)) {
    words.push('-H', credential(name, value, parts) ?? quote(`${name}: ${value}`));
  }
  if (body !== undefined) words.push('--data-raw', quote(body));
  words.push(quote(parts.url));
  return runnable(words.join(' '), request);
}

/** The line, or a comment of the shell that names the request when the line is too long to paste. */
export const runnable = (line: string, request: string): string =>
  line.length <= LONGEST_LINE ? line : `# too long for a command line: ${shortened(request.replaceAll(/\s+/g, ' '))}`;

const shortened = (text: string): string =>
  text.length <= LONGEST_NAME ? text : `${cut(text, LONGEST_NAME)} (${text.length} characters)`;
