/**
 * HAR 1.2: the exchanges of each finding, for tools that show or send them again. A page for each finding. Muster keeps
 * no time of a single exchange, so that all of them begin with the run.
 */
import { printableJson } from '../common/terminal.ts';
import type { CheckResult, Report } from '../runner/types.ts';
import type { DocumentFormat } from './format.ts';

/** `--report har`. */
export const harFormat: DocumentFormat = {
  name: 'har',
  document: (report) => `${printableJson(documentOf(report), 2)}\n`,
};

function documentOf(report: Report): object {
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
}

type Exchange = NonNullable<CheckResult['exchanges']>[number];

const UNKNOWN = -1;

function entryOf(exchange: Exchange): object {
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
    comment: error ?? curl,
  };
}

/** Status 0 says that there is no answer. */
function responseOf({ status = 0, response_headers: received = {}, response_body: body }: Exchange): object {
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
