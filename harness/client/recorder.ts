/** Keeps what was sent and received, so that a failure can show its exchanges and a `curl` line that repeats it. */
import { Redactor } from './redact.ts';

/** One exchange, already redacted. Bodies are cut to `BODY_LIMIT` characters. */
export interface Recorded {
  method: string;
  url: string;
  request_headers: Record<string, string>;
  request_body?: string;
  status?: number;
  response_headers?: Record<string, string>;
  response_body?: string;
  /** Why there is no answer, or why it ended early. */
  error?: string;
  duration_ms: number;
  curl: string;
}

const BODY_LIMIT = 4096;
/** Of a long check only the last exchanges are kept. */
const KEPT = 50;

export function cut(text: string, limit = BODY_LIMIT): string {
  return text.length <= limit ? text : `${text.slice(0, limit)}… (${text.length} characters)`;
}

export interface CurlParts {
  method: string;
  /** With the socket transport the URL's host is `localhost`. */
  url: string;
  socketPath?: string | undefined;
  headers: Record<string, string>;
  body?: string | undefined;
  /** An event stream: curl must not buffer. */
  stream?: boolean;
}

const quote = (text: string): string =>
  /^[A-Za-z0-9_/:=.,@%+-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
/** Headers that name a credential are written as shell variables, so that the line can be pasted and the report shared. */
const CREDENTIALS: Record<string, string> = { 'x-api-key': '$MUSTER_API_KEY', authorization: 'Bearer $MUSTER_TOKEN' };

export function curlLine(parts: CurlParts): string {
  const words = ['curl', parts.stream === true ? '-sN' : '-s', '-i'];
  if (parts.socketPath !== undefined) words.push('--unix-socket', quote(parts.socketPath));
  if (parts.method !== 'GET') words.push('-X', quote(parts.method));
  for (const [name, value] of Object.entries(parts.headers)) {
    const variable = CREDENTIALS[name.toLowerCase()];
    words.push('-H', variable === undefined ? quote(`${name}: ${value}`) : `"${name}: ${variable}"`);
  }
  if (parts.body !== undefined) words.push('--data-raw', quote(cut(parts.body, 2000)));
  words.push(quote(parts.url));
  return words.join(' ');
}

export class Recorder {
  readonly redactor: Redactor;
  readonly #exchanges: Recorded[] = [];

  constructor(redactor: Redactor = new Redactor()) {
    this.redactor = redactor;
  }

  get exchanges(): readonly Recorded[] {
    return this.#exchanges;
  }

  /** Keeps an exchange, redacted; the object comes back so that a stream can go on filling it. */
  add(exchange: Recorded): Recorded {
    const clean: Recorded = {
      ...this.redactor.value(exchange),
      request_headers: this.redactor.headers(exchange.request_headers),
    };
    if (exchange.response_headers !== undefined)
      clean.response_headers = this.redactor.headers(exchange.response_headers);
    if (clean.request_body !== undefined) clean.request_body = cut(clean.request_body);
    if (clean.response_body !== undefined) clean.response_body = cut(clean.response_body);
    this.#exchanges.push(clean);
    if (this.#exchanges.length > KEPT) this.#exchanges.shift();
    return clean;
  }

  clear(): void {
    this.#exchanges.length = 0;
  }
}
