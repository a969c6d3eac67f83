/** Traces of a run: what is sent, what a target gets, and what becomes of it where nobody takes it. */
import { once } from 'node:events';
import { mkdtempSync, readFileSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { expect, onTestFinished, test } from 'vitest';
import { HttpClient } from '../client/http.ts';
import { Recorder } from '../client/recorder.ts';
import { headersIn } from '../common/otlp.ts';
import { Redactor } from '../common/redact.ts';
import { UsageError } from '../common/usage.ts';
import type { CheckResult } from '../runner/types.ts';
import { serve } from '../targets/testing/places.ts';
import { Traces } from './traces.ts';

interface Sent {
  resourceSpans: { scopeSpans: { spans: Record<string, unknown>[] }[] }[];
}
const spansIn = (message: Sent) =>
  message.resourceSpans.flatMap(({ scopeSpans }) => scopeSpans.flatMap((s) => s.spans));
const redactor = new Redactor();
redactor.add('key_0123456789abcdefghij');
const about = { name: 'muster check device', version: '1.2.3', redactor };
const passed = { outcome: 'pass', level: 'MUST', section: '6.1' } as CheckResult;
const failed = { ...passed, outcome: 'fail', expected: 'an answer', actual: 'none' } as CheckResult;

/** A collector that answers with that status, and what it got. */
async function collector(status = 200) {
  const messages: { path: string | undefined; headers: Record<string, unknown>; body: Sent }[] = [];
  const url = await serve(async (request, response) => {
    messages.push({ path: request.url, headers: request.headers, body: JSON.parse(await text(request)) });
    response.writeHead(status).end('{}');
  });
  return { url, messages };
}

test('a check has a span, its requests have theirs, and carry them to the target', async () => {
  const { url, messages } = await collector();
  const traces = new Traces({ ...about, where: url, headers: headersIn('api-key=a%20b, other=2') });
  const got: (string | undefined)[] = [];
  const target = await serve((request, response) => {
    got.push(request.headers['traceparent'] as string);
    response.end('{}');
  });
  const trace = traces.of('device.events.frame');
  const recorder = new Recorder(new Redactor(), () => {}, undefined, trace);
  const http = new HttpClient({ endpoint: { origin: target }, recorder });
  onTestFinished(() => http.close());
  await http.get('/events');
  await http.get('/events');
  trace.end(failed);
  expect(await traces.close()).toBeUndefined();

  const spans = messages.flatMap(({ body }) => spansIn(body));
  expect(messages[0]).toMatchObject({ path: '/v1/traces', headers: { 'api-key': 'a b', other: '2' } });
  const [first, second, check, run] = spans;
  expect([first, second, check, run].map((span) => span?.['name'])).toEqual([
    'GET /events',
    'GET /events',
    'device.events.frame',
    'muster check device',
  ]);
  expect(got).toEqual([first, second].map((span) => `00-${span?.['traceId']}-${span?.['spanId']}-01`));
  expect(new Set(spans.map(({ traceId }) => traceId)).size).toBe(1);
  expect([first, check].map((span) => span?.['parentSpanId'])).toEqual([check?.['spanId'], run?.['spanId']]);
  expect(check?.['status']).toEqual({ code: 2, message: 'expected an answer, got none' });
  expect(first?.['attributes']).toContainEqual({ key: 'http.response.status_code', value: { intValue: '200' } });
  // The line that repeats a request begins no span, and polls with one answer are shown once.
  expect(recorder.exchanges[0]?.curl).not.toContain('traceparent');
  expect(recorder.evidence({ actual: '' } as never, 8)).toHaveLength(1);
});

test('a file gets one message on each line, which any collector reads', async () => {
  const file = join(mkdtempSync(join(tmpdir(), 'muster-test-')), 'deep/traces.jsonl');
  const traces = new Traces({ ...about, where: file });
  for (let check = 0; check < 600; check += 1) traces.of(`device.check-${check}`).end(passed);
  expect(await traces.close()).toBeUndefined();
  const lines = readFileSync(file, 'utf8').trimEnd().split('\n');
  expect(lines.map((line) => spansIn(JSON.parse(line)).length)).toEqual([500, 101]);
});

test('a secret in what a check says is in no span', async () => {
  const { url, messages } = await collector();
  const traces = new Traces({ ...about, where: url });
  traces
    .of('device.a')
    .end({ ...failed, expected: 'no key_0123456789abcdefghij', reason: 'key_0123456789abcdefghij was refused' });
  await traces.close();
  expect(JSON.stringify(messages)).toContain('expected no ***');
  expect(JSON.stringify(messages)).not.toContain('key_0123456789abcdefghij');
});

test.each([
  ['other=1,api-key=50%off', 'the value of api-key must be percent-encoded, on one line'],
  ['api-key=a%0Ab', 'the value of api-key must be percent-encoded, on one line'],
  ['a=1,Bearer secret', 'header 2 must be name=value'],
  ['my secret=1', 'header 1 must be name=value'],
])('a wrong header is refused, and nothing of it is printed that may be secret: %s', (text, refused) => {
  expect(() => headersIn(text)).toThrow(new UsageError(`OTEL_EXPORTER_OTLP_HEADERS: ${refused}`));
});

test('what nobody takes is told of once, and stops nothing', async () => {
  const { url } = await collector(503);
  const refused = new Traces({ ...about, where: url });
  refused.of('device.a').end(passed);
  expect(await refused.close()).toBe(`--traces: 2 spans are lost: ${url} answered 503`);
  const closed = createServer().listen(0, '127.0.0.1');
  await once(closed, 'listening');
  const { port } = closed.address() as AddressInfo;
  closed.close();
  const absent = new Traces({ ...about, where: `http://127.0.0.1:${port}` });
  expect(await absent.close()).toMatch(/^--traces: 1 span is lost: .*ECONNREFUSED/);
});

test.each(['ftp://host', 'http://user:pass@host', 'http://'])('the address %s is refused', (where) => {
  expect(() => new Traces({ ...about, where })).toThrow(UsageError);
});
