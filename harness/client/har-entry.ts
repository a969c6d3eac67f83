/** Converts recorded exchanges to HAR 1.2 entries. */
import { defined } from '../common/defined.ts';
import type { Recorded } from './recorder.ts';

export type HarExchange = Omit<Recorded, 'curl' | 'raw' | 'times'> & { curl?: string };

const UNKNOWN = -1;

export function harEntry(exchange: HarExchange): object {
  const { method, url, request_headers: sent, request_body: body, duration_ms: time, error, curl } = exchange;
  const mimeType = sent['content-type'] ?? '';
  return {
    time,
    request: {
      method,
      url,
      httpVersion: 'HTTP/1.1',
      cookies: [],
      headers: pairs(sent),
      queryString: URL.canParse(url) ? named(new URL(url).searchParams) : [],
      ...(body !== undefined && { postData: { mimeType, text: body } }),
      headersSize: UNKNOWN,
      bodySize: body === undefined ? 0 : Buffer.byteLength(body),
    },
    response: responseOf(exchange),
    cache: {},
    timings: { send: 0, wait: time, receive: 0 },
    ...defined({ comment: error ?? curl }),
  };
}

/** HAR uses status 0 for a missing response. */
function responseOf({ status = 0, response_headers: received = {}, response_body: body }: HarExchange): object {
  const size = body === undefined ? 0 : Buffer.byteLength(body);
  return {
    status,
    statusText: '',
    httpVersion: 'HTTP/1.1',
    cookies: [],
    headers: pairs(received),
    content: { size, mimeType: received['content-type'] ?? '', ...(body !== undefined && { text: body }) },
    redirectURL: received['location'] ?? '',
    headersSize: UNKNOWN,
    bodySize: size,
  };
}

const named = (values: Iterable<[string, string]>): { name: string; value: string }[] =>
  [...values].map(([name, value]) => ({ name, value }));
const pairs = (values: Readonly<Record<string, string>>): object[] => named(Object.entries(values));
