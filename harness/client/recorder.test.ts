import { expect, test } from 'vitest';
import { sampleExchange } from '../reports/samples.ts';
import { curlLine } from './curl.ts';
import { Recorder } from './recorder.ts';
import { Redactor } from './redact.ts';

const said = (recorder: Recorder): string[] | undefined =>
  recorder.steps?.map((step) => ('drive' in step ? step.drive.what : step.exchange.url));

test('what drove the target stands between the exchanges, without secrets', () => {
  const redactor = new Redactor();
  redactor.add('s3cret-token');
  const recorder = new Recorder(redactor);
  recorder.add(sampleExchange({ url: 'http://localhost/1' }));
  recorder.drove({ what: 'POST /events s3cret-token', line: "curl -H 'x: s3cret-token' http://localhost/events" });
  recorder.add(sampleExchange({ url: 'http://localhost/2' }));
  expect(said(recorder)).toEqual(['http://localhost/1', 'POST /events ***', 'http://localhost/2']);
  // A line without its secret would not work.
  expect(recorder.steps?.[1]).toEqual({ drive: { what: 'POST /events ***' } });
  recorder.drove({ what: 'x', line: 'curl http://localhost/' });
  expect(recorder.steps?.at(-1)).toEqual({ drive: { what: 'x', line: 'curl http://localhost/' } });
});

test('each run of a property begins with what drove the target before it', () => {
  const recorder = new Recorder();
  recorder.drove({ what: 'before' });
  recorder.add(sampleExchange());
  const kept = recorder.keepDrives();
  for (const run of ['first', 'second']) {
    recorder.clear(kept);
    recorder.drove({ what: run });
    recorder.add(sampleExchange({ url: `http://localhost/${run}` }));
  }
  expect(said(recorder)).toEqual(['before', 'second', 'http://localhost/second']);
  const found = recorder.snapshot();
  recorder.clear(kept);
  recorder.restore(found);
  expect(said(recorder)).toEqual(['before', 'second', 'http://localhost/second']);
  expect(recorder.exchanges).toHaveLength(1);
});

test('too many steps are none, and a check without end fills no memory', () => {
  const recorder = new Recorder();
  for (let index = 0; index < 5000; index += 1) recorder.drove({ what: String(index) });
  expect(recorder.steps).toBeUndefined();
  expect(recorder.snapshot().steps.length).toBeLessThan(200);
});

test('a value of 10,000 characters is cut wherever it stands, and says how long it was', () => {
  const recorder = new Recorder();
  const long = 'x'.repeat(10_000);
  const { url, request_headers, request_body, response_headers, response_body, error } = recorder.add({
    method: 'GET',
    url: `http://localhost/v0.2/events?after=${long}`,
    request_headers: { accept: 'text/event-stream', 'last-event-id': long },
    request_body: long,
    response_headers: { 'x-echo': long },
    response_body: long,
    error: `GET /events?after=${long}: no answer within 10 ms`,
    duration_ms: 1,
    curl: '',
  });
  for (const text of [
    ...[url, request_headers['last-event-id'], request_body, response_headers?.['x-echo'], response_body, error],
  ]) {
    expect(text?.length).toBeLessThan(4200);
    expect(text).toMatch(/… \(10\d\d\d characters\)$/);
  }
  expect(request_headers['accept']).toBe('text/event-stream');
  expect(
    recorder.headers(Object.fromEntries(Array.from({ length: 5000 }, (_, at) => [`x-${at}`, '']))),
  ).not.toHaveProperty('x-200');
});

test('a curl line ends by itself, and is a comment when it is too long to be pasted', () => {
  const line = (path: string, more: object = {}): string =>
    curlLine({
      method: 'GET',
      url: `http://localhost${path}`,
      headers: {},
      timeoutMs: 1500,
      variable: () => undefined,
      ...more,
    });
  expect(line('/x')).toBe('curl -s -i --max-time 2 http://localhost/x');
  expect(line('/events', { stream: true })).toBe('curl -sN -i --max-time 45 http://localhost/events');
  const long = 'x'.repeat(10_000);
  for (const text of [
    line(`/${long}`),
    line('/x', { headers: { 'x-long': long } }),
    line('/x', { method: 'POST', body: `{"a":\n"${long}"}` }),
  ]) {
    expect(text).toMatch(/^# too long for a command line: (GET|POST) http:\/\/localhost\/[^\n]*$/);
    expect(text.length).toBeLessThan(300);
  }
  expect(line('/x', { method: 'POST', body: long })).toContain('with a body of 10000 characters');
});
