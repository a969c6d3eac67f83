import { describe, expect, it, test } from 'vitest';
import type { Recorded } from '../client/recorder.ts';
import type { CheckResult } from '../runner/types.ts';
import { ctrfFormat } from './ctrf.ts';
import { exchangesOf } from './exchanges.ts';
import { findingText } from './findings.ts';
import { markdownReport } from './github.ts';
import { htmlFormat } from './html.ts';
import { junitFormat } from './junit.ts';
import { prettyText } from './pretty.ts';
import { sampleExchange, sampleFailure, sampleReport } from './testing/samples.ts';

const FORMATS: Record<string, (check: CheckResult) => string> = {
  pretty: (check) => prettyText(sampleReport([check]), { paint: (_, text) => text, columns: 100 }),
  html: (check) =>
    htmlFormat
      .document(sampleReport([check]))
      .replaceAll('&quot;', '"')
      .replaceAll('&gt;', '>'),
  junit: (check) => junitFormat.document(sampleReport([check])).replaceAll('&gt;', '>'),
  ctrf: (check) => JSON.parse(ctrfFormat.document(sampleReport([check]))).results.tests[0].trace,
  markdown: (check) => markdownReport(sampleReport([check])),
};

const shown = (change: Partial<CheckResult>, exchange: Partial<Recorded>): string[] => {
  const failure = sampleFailure({ ...change, exchanges: [sampleExchange(exchange)] });
  return exchangesOf(failure, { columns: 80 }).flatMap(({ lines }) => lines);
};

describe.each(Object.keys(FORMATS))('%s', (name) => {
  const text = (change: Partial<CheckResult>): string => FORMATS[name]?.(sampleFailure(change)) ?? '';

  it('shows the header with the cursor of a finding', () => {
    const request_headers = { accept: 'text/event-stream', 'last-event-id': '16' };
    const actual = '[17], missing [2, 3, 4]';
    expect(text({ actual, exchanges: [sampleExchange({ request_headers })] })).toMatch(/> .*last-event-id: 16/);
  });

  it('shows the wrong member of a payload longer than a line', () => {
    const payload = `"description":"${'long '.repeat(30)}","deployed_at":17`;
    const response_body = `id: 7\nevent: deployment.deployed\ndata: {"object":"event","id":7,"data":{${payload}}}\n\n`;
    const actual = `/data/deployed_at must be string in {"object":"event","id":7,"data":{${payload}}}`;
    const written = text({ actual, exchanges: [sampleExchange({ response_body })] });
    expect(written.slice(written.lastIndexOf('event: deployment.deployed'))).toMatch(/"deployed_at":\s*17/);
  });
});

test('headers that Muster chose are shown, and default headers are hidden', () => {
  const request_headers = {
    host: 'localhost',
    'user-agent': 'x',
    'service-version': '2026-08-17.everglades',
    'x-api-key': '***',
    'content-type': 'application/json',
  };
  expect(shown({}, { request_headers })[0]).toBe('> service-version: 2026-08-17.everglades · x-api-key: *** ·');
  expect(shown({}, { request_headers })[1]).toBe('> content-type: application/json');
  expect(shown({ actual: 'no User-Agent' }, { request_headers }).join()).toContain('> user-agent: x · ');
});

test('a response header is shown where the finding names it', () => {
  const response_headers = { 'content-type': 'text/plain', 'retry-after': '-3', date: 'today', location: '/other' };
  expect(shown({}, { response_headers }).join('\n')).not.toMatch(/retry|today|other/);
  expect(shown({ actual: 'Retry-After: -3' }, { response_headers })).toContain('< retry-after: -3');
  expect(shown({ expected: 'an up-to-date answer', actual: 'x' }, { response_headers }).join()).not.toContain('today');
  expect(shown({ actual: 'a Location elsewhere' }, { response_headers })).toContain('< location: /other');
});

test('a short body is shown whole, even with long lines', () => {
  const response_body = `{"a":"${'x'.repeat(300)}","end":true}`;
  const lines = shown({ actual: 'b' }, { response_body, request_headers: {} });
  expect(lines.map((line) => line.slice(2)).join('')).toBe(response_body);
});

test.each([5, 50, 195])('a long body is cut to the lines of its finding: event %i', (wrong) => {
  const frame = (id: number): string => `id: ${id}\nevent: a.b\ndata: {"id":${id === wrong ? `"${id}"` : id}}\n\n`;
  const response_body = Array.from({ length: 200 }, (_, id) => frame(id)).join('');
  const actual = `/id must be integer in the data of event ${wrong}`;
  const lines = shown({ expected: 'an Event', actual }, { response_body });
  expect(lines).toContain(`< data: {"id":"${wrong}"}`);
  expect(lines.length).toBeLessThanOrEqual(9);
  expect(lines[1]).toMatch(/^< …/);
  expect(lines.at(-1)).toMatch(/…$/);
});

test('a long text is cut to its own limit, and keeps the number of characters that it had', () => {
  const counterexample = `${'x'.repeat(1999)}… (3002 characters)`;
  const written = findingText(sampleFailure({ curl: 'c'.repeat(5000), counterexample }));
  expect(written).toContain(` ${'c'.repeat(4000)}… (5000 characters)\n`);
  expect(written).toContain(` ${'x'.repeat(1000)}… (3002 characters)\n`);
});

test('a repeated poll is shown as one', () => {
  const [first] = exchangesOf(sampleFailure({ exchanges: [sampleExchange({ times: 14 })] }));
  expect(first?.headline).toMatch(/\(12 ms, 14 times\)$/);
});

describe('the headline of an exchange', () => {
  const headline = (exchange: Partial<Recorded>): string | undefined =>
    exchangesOf(sampleFailure({ exchanges: [{ ...sampleExchange(exchange) }] }))[0]?.headline;
  const url = 'http://127.0.0.1:9/beta/devices/dvc_1/ping';

  it('has its address once', () => {
    const { status: _, ...unanswered } = sampleExchange({ method: 'POST', url, error: `POST ${url}: refused` });
    const [shownOnce] = exchangesOf(sampleFailure({ exchanges: [unanswered] }));
    expect(shownOnce?.headline).toBe('POST /beta/devices/dvc_1/ping → refused (12 ms)');
  });

  it('names the request sent as bytes', () => {
    const request_body = 'GET /a HTTP/1.1\r\nHost: x\r\n\r\nGET /b HTTP/1.1\r\nHost: x\r\n\r\n';
    const sent = { url: 'http://h/a', request_body, raw: true } as const;
    expect(headline(sent)).toMatch(/^GET \/a and 1 more, as bytes → 200/);
    expect(headline({ ...sent, method: 'RAW', url: 'http://h' })).toMatch(/^bytes that are no request → 200/);
  });
});
