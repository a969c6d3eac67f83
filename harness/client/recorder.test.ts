import { createServer } from 'node:http';
import { expect, onTestFinished, test, vi } from 'vitest';
import { eventually } from '../../simulators/common/testing/scratch.ts';
import { telling } from '../common/excerpt.ts';
import { Redactor } from '../common/redact.ts';
import { sampleExchange } from '../reports/testing/samples.ts';
import { Recorder } from './recorder.ts';
import { curlLine } from './request-forms.ts';
import { openEvents } from './sse.ts';
import { clientOf } from './testing/served.ts';

function keepingSecret(): Recorder {
  const redactor = new Redactor();
  redactor.add('s3cret-token');
  return new Recorder(redactor);
}

const said = (recorder: Recorder): string[] | undefined =>
  recorder.steps?.map((step) => ('drive' in step ? step.drive.what : step.exchange.url));

test('a recorder keeps drives between the exchanges, without secrets', () => {
  const recorder = keepingSecret();
  recorder.add(sampleExchange({ url: 'http://localhost/1' }));
  recorder.drove({ what: 'POST /events s3cret-token', line: "curl -H 'x: s3cret-token' http://localhost/events" });
  recorder.add(sampleExchange({ url: 'http://localhost/2' }));
  expect(said(recorder)).toEqual(['http://localhost/1', 'POST /events ***', 'http://localhost/2']);
  expect(recorder.steps?.[1]).toEqual({ drive: { what: 'POST /events ***' } });
  recorder.drove({ what: 'x', line: 'curl http://localhost/' });
  expect(recorder.steps?.at(-1)).toEqual({ drive: { what: 'x', line: 'curl http://localhost/' } });
});

test('a property run starts from the drives before it', () => {
  const recorder = new Recorder();
  recorder.drove({ what: 'before' });
  recorder.add(sampleExchange());
  const kept = recorder.keepDrives();
  for (const run of ['first', 'second']) {
    recorder.restore(kept);
    recorder.drove({ what: run });
    recorder.add(sampleExchange({ url: `http://localhost/${run}` }));
  }
  expect(said(recorder)).toEqual(['before', 'second', 'http://localhost/second']);
  const found = recorder.snapshot();
  recorder.restore(kept);
  recorder.restore(found);
  expect(said(recorder)).toEqual(['before', 'second', 'http://localhost/second']);
  expect(kinds(recorder)).toEqual(['drive', 'drive', 'request']);
  expect(recorder.exchanges).toHaveLength(1);
});

test('a recorder keeps its counts across property runs until it forgets all', () => {
  const recorder = new Recorder();
  recorder.add(sampleExchange());
  recorder.restore(recorder.keepDrives());
  recorder.add(sampleExchange());
  expect(recorder.counts).toEqual({ requests: 2 });
  recorder.forget();
  expect(recorder.counts).toEqual({});
});

test('a recorder drops all steps when there are too many', () => {
  const recorder = new Recorder();
  for (let index = 0; index < 5000; index += 1) recorder.drove({ what: String(index) });
  expect(recorder.steps).toBeUndefined();
  expect(recorder.snapshot().steps.length).toBeLessThan(200);
});

test('a recorder cuts long values everywhere, and states their length', () => {
  const recorder = new Recorder();
  const long = 'x'.repeat(10_000);
  const given = sampleExchange({
    url: `http://localhost/v0.2/events?after=${long}`,
    request_headers: { accept: 'text/event-stream', 'last-event-id': long },
    response_headers: { 'x-echo': long },
    error: `GET /events?after=${long}: no answer within 10 ms`,
    request_body: long,
    response_body: long,
  });
  const { url, request_headers, request_body, response_headers, response_body, error } = recorder.add(given);
  const headers = [request_headers['last-event-id'], response_headers?.['x-echo']];
  for (const text of [url, request_body, response_body, error, ...headers]) {
    expect(text?.length).toBeLessThan(4200);
    expect(text).toMatch(/… \(10\d\d\d characters\)$/);
  }
  expect(request_headers['accept']).toBe('text/event-stream');
  const many = Object.fromEntries(Array.from({ length: 5000 }, (_, at) => [`x-${at}`, '']));
  expect(recorder.headers(many)).not.toHaveProperty('x-200');
});

test('a curl line has a time limit, and becomes a comment when too long', () => {
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
  expect(line('/x?a[]={b}')).toBe("curl -s -i --max-time 2 -g 'http://localhost/x?a[]={b}'");
  expect(line('/x', { headers: { 'x-empty': '', 'user-agent': '' } })).toContain(" -H 'x-empty;' -H 'user-agent;' ");
  const long = 'x'.repeat(10_000);
  const posted = line('/x', { method: 'POST', body: `{"a":\n"${long}"}` });
  for (const text of [line(`/${long}`), line('/x', { headers: { 'x-long': long } }), posted]) {
    expect(text).toMatch(/^# too long for a command line: (GET|POST) http:\/\/localhost\/[^\n]*$/);
    expect(text.length).toBeLessThan(300);
  }
  expect(line('/x', { method: 'POST', body: long })).toContain('with a body of 10000 characters');
});

const kinds = (recorder: Recorder): string[] => recorder.timeline.map(({ kind }) => kind);

test('a recorder puts drives, requests and events of a check on one timeline', async () => {
  const server = createServer((request, response) => {
    if (!request.url?.startsWith('/events')) return void response.end('ok');
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.write(': heartbeat\n\nid: 1\nevent: a.b\ndata: {}\n\nid: 2\nevent: a.b\ndata: {}\n\n');
  });
  const recorder = keepingSecret();
  const http = await clientOf(server, { recorder });
  recorder.ended(recorder.drove({ what: 'publish 2 events' }));
  await http.get('/deployments/current?token=s3cret-token');
  const stream = await openEvents(http, { after: 0 });
  await eventually(() => expect(stream.frames.length).toBe(2));
  recorder.ended(recorder.drove({ what: 'stop the agent', restarts: true }));
  await stream.close();
  const order = ['drive', 'request', 'stream', 'heartbeat', 'frame', 'restart', 'cut'];
  // Removes duplicates, because a busy machine may split a burst of frames.
  expect([...new Set(kinds(recorder))]).toEqual(order);
  const [drive, request, opened, , , , cut] = order.map((kind) => recorder.timeline.find((mark) => mark.kind === kind));
  const frames = recorder.timeline.filter(({ kind }) => kind === 'frame');
  expect(drive).toMatchObject({ what: 'publish 2 events', until_ms: expect.any(Number) });
  expect(request?.what).toBe('GET /deployments/current?token=*** → 200');
  expect(opened).toMatchObject({ what: 'GET /events?after=0 → 200', stream: 1 });
  expect(frames.reduce((sum, { count = 1 }) => sum + count, 0)).toBe(2);
  expect(frames[0]).toMatchObject({ what: expect.stringMatching(/^1 a\.b/), stream: 1 });
  expect(cut).toMatchObject({ what: 'closed by this client', stream: 1 });
  expect(opened?.until_ms).toBe(cut?.at_ms);
  const times = recorder.timeline.map(({ at_ms }) => at_ms);
  expect(times).toEqual(times.toSorted((a, b) => a - b));
});

test('a property run drops all marks of the run before it, late ones included', () => {
  const recorder = new Recorder();
  recorder.drove({ what: 'before' });
  const kept = recorder.keepDrives();
  const old = recorder.stream(recorder.add(sampleExchange()));
  recorder.restore(kept);
  old?.came('frame', '1 a.b');
  old?.ended('cut', 'closed');
  expect(recorder.timeline.map(({ what }) => what)).toEqual(['before']);
});

test('a serving check records sent and printed lines in bursts, without secrets', () => {
  // Uses fake time, because a pause of a busy machine ends a burst.
  vi.useFakeTimers({ toFake: ['performance'] });
  onTestFinished(() => void vi.useRealTimers());
  const recorder = keepingSecret();
  const { axis } = recorder;
  axis.add('restart', 'starts the client');
  const request = axis.add('request', 'GET /events');
  axis.ended(request, '→ 200');
  const stream = axis.stream(request);
  for (const piece of ['"id: 1"', '"data: s3cret-token"', '""']) stream.came('sent', piece);
  for (const line of ['one', 'two', 'three']) axis.printed(line);
  stream.ended('end', 'closes the connection');
  axis.add('end', 'ended with exit code 3');
  recorder.add(sampleExchange(), { isOnAxis: true });
  expect(kinds(recorder)).toEqual(['restart', 'stream', 'sent', 'printed', 'end', 'end']);
  const [, , sent, printed] = recorder.timeline;
  expect(sent).toMatchObject({ what: '"id: 1" "data: ***" ""', count: 3, stream: 1 });
  expect(printed).toMatchObject({ what: 'one … three', count: 3 });
  expect(printed).not.toHaveProperty('stream');
});

test('a recorder bounds its timeline, and keeps each stream with marks on it', () => {
  const recorder = new Recorder();
  const stream = recorder.stream(recorder.add(sampleExchange({ url: 'http://x/events' })));
  for (let index = 0; index < 500; index += 1) {
    recorder.drove({ what: `drive ${index}` });
    stream?.came(index % 2 === 0 ? 'frame' : 'heartbeat', 'x'.repeat(100_000));
  }
  expect(recorder.timeline).toHaveLength(150);
  expect(recorder.timeline[0]?.kind).toBe('stream');
  expect(JSON.stringify(recorder.timeline).length).toBeLessThan(50_000);
});

test('evidence shows the part of a body that the finding names, masked', () => {
  const recorder = keepingSecret();
  const items = (count: number): object[] =>
    Array.from({ length: count }, (_, at) => ({ id: `dvc_${at}`, status: 'online', note: 's3cret-token' }));
  for (const count of [100, 5000]) {
    const exchange = recorder.add(sampleExchange({ url: `http://x/devices?limit=${count}` }));
    recorder.received(exchange, Buffer.from(JSON.stringify({ data: items(count) })));
  }
  const bodies = (actual: string): (string | undefined)[] =>
    recorder.evidence(telling({ actual }), 8).map(({ response_body }) => response_body);
  for (const wrong of ['dvc_0', 'dvc_50', 'dvc_99']) {
    for (const body of bodies(`${wrong} has no name`)) {
      expect(body).toContain(`{"id":"${wrong}","status":"online","note":"***"}`);
      expect(body?.length).toBeLessThan(4200);
    }
  }
  const [, second] = bodies('dvc_4321 has no name');
  expect(second).toMatch(/^….*"dvc_4321".*… \(\d+ characters\)$/);
  expect(recorder.exchanges[0]?.response_body).toMatch(/^\{"data":\[\{"id":"dvc_0"/);
});

test('evidence shows both ends of a long stream', async () => {
  const frames = Array.from({ length: 5000 }, (_, id) => `id: ${id}\nevent: a.b\ndata: {"id":${id}}\n\n`).join('');
  const server = createServer((_, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.end(frames);
  });
  const recorder = new Recorder();
  const stream = await openEvents(await clientOf(server, { recorder }));
  while (stream.ended === undefined) await stream.next({ within: 10_000, for: 'a frame' }).catch(() => {});
  for (const id of [7, 4999])
    expect(recorder.evidence(telling({ actual: `event ${id} again` }), 8)[0]?.response_body).toContain(`\nid: ${id}\n`);
});

test('a recorder bounds its whole bodies, and keeps those of a snapshot', () => {
  const recorder = new Recorder();
  const large = (wrong: string): Buffer => Buffer.from(`${'word '.repeat(100_000)}${wrong}`);
  const add = (wrong: string): void =>
    recorder.received(recorder.add(sampleExchange({ url: `http://x/${wrong}` })), large(wrong));
  const lastOf = (wrong: string): string | undefined =>
    recorder.evidence(telling({ actual: wrong }), 50).find(({ url }) => url.endsWith(wrong))?.response_body;
  add('first');
  const found = recorder.snapshot();
  for (let index = 0; index < 20; index += 1) add(`number${index}`);
  expect(lastOf('number19')).toMatch(/ number19$/);
  expect(lastOf('first')).toMatch(/^word .*… \(500005 bytes\)$/);
  recorder.restore(found);
  expect(lastOf('first')).toMatch(/ first$/);
});

test('evidence counts repeated polls with the same answer as one exchange', () => {
  const recorder = new Recorder();
  const poll = (response_body: string): void =>
    void recorder.add(sampleExchange({ url: 'http://x/deployments/dpl_1', response_body }));
  recorder.add(sampleExchange({ method: 'POST', response_body: 'posted' }));
  for (let index = 0; index < 20; index += 1) poll('queued');
  poll('deployed');
  const told = recorder.evidence(new Map(), 8).map(({ response_body: body, times = 1 }) => `${body} ${times}`);
  expect(told).toEqual(['posted 1', 'queued 20', 'deployed 1']);
});
