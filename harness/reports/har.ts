/** Writes HAR 1.2, a page for each finding; exchanges are dated at the run's start, as only their duration is known. */
import type { Recorded } from '../client/recorder.ts';
import { jsonDocument } from './format.ts';

export const harFormat = jsonDocument('har', (report) => {
  const found = report.checks.filter(({ exchanges = [], outcome }) => exchanges.length > 0 && outcome !== 'pass');
  const startedDateTime = new Date(Date.parse(report.started_at)).toISOString();
  const pages = found.map(({ id, outcome, actual, reason }) => ({
    id,
    title: `${id}: ${outcome}: ${actual ?? reason ?? ''}`,
    startedDateTime,
    pageTimings: {},
  }));
  const entries = found.flatMap(({ id, exchanges = [] }) =>
    exchanges.map((exchange) => ({ pageref: id, startedDateTime, ...entryOf(exchange) })),
  );
  const creator = { name: 'muster', version: report.muster };
  const comment = 'the exchanges of each finding; their times are that of the run';
  return { log: { version: '1.2', creator, pages, entries, comment } };
});

const UNKNOWN = -1;

function entryOf(exchange: Recorded): object {
  const { method, url, request_headers: sent, request_body: body, duration_ms: time, error, curl } = exchange;
  // HAR uses status 0 for a missing response.
  const { status = 0, response_headers: received = {}, response_body: answer } = exchange;
  const mimeType = sent['content-type'] ?? '';
  const size = Buffer.byteLength(answer ?? '');
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
      bodySize: Buffer.byteLength(body ?? ''),
    },
    response: {
      status,
      statusText: '',
      httpVersion: 'HTTP/1.1',
      cookies: [],
      headers: pairs(received),
      content: { size, mimeType: received['content-type'] ?? '', ...(answer !== undefined && { text: answer }) },
      redirectURL: received['location'] ?? '',
      headersSize: UNKNOWN,
      bodySize: size,
    },
    cache: {},
    timings: { send: 0, wait: time, receive: 0 },
    comment: error ?? curl,
  };
}

const named = (values: Iterable<[string, string]>): { name: string; value: string }[] =>
  [...values].map(([name, value]) => ({ name, value }));
const pairs = (values: Readonly<Record<string, string>>): object[] => named(Object.entries(values));
