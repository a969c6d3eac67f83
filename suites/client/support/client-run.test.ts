import { expect, test } from 'vitest';
import { Recorder } from '../../../harness/client/recorder.ts';
import { CLIENT_VARIABLES } from '../../../harness/contract/client.ts';
import { Session } from '../../../harness/runner/session.ts';
import type { Client } from './check.ts';
import { printedLineIn } from './client-run.ts';
import { StreamRun } from './stream-run.ts';
import { Timeline } from './timeline.ts';

const textOf = (timeline: Timeline): string => timeline.text.replaceAll(/\d+\.\d+ s {2}/g, '');

test('a timeline shows acts of server and client, without secrets, until it closes', () => {
  const recorder = new Recorder();
  const timeline = new Timeline(recorder.axis);
  timeline.hide('t0ken');
  timeline.starts('starts the client');
  timeline.drives('writes t0ken');
  const asked = timeline.request('GET /events');
  asked.opens('200');
  asked.sends('"id: 1"');
  asked.ends('server', 'cuts the connection');
  timeline.request('GET /t0ken', ' (elsewhere)').answers('404');
  timeline.silence(3000);
  timeline.ended('ended with exit code 3');
  timeline.close();
  timeline.printed('too late');
  expect(textOf(timeline).split('\n')).toEqual([
    'muster: starts the client',
    'server: writes …',
    'client: GET /events',
    'server: 200',
    'server: sends "id: 1"',
    'server: cuts the connection',
    'client: GET /… (elsewhere)',
    'server: 404 (elsewhere)',
    'muster: has waited 3 s for a sign of the client',
    'client: ended with exit code 3',
  ]);
  expect(recorder.timeline.map(({ kind, what }) => `${kind} ${what}`)).toEqual([
    'restart starts the client',
    'drive writes …',
    'stream GET /events → 200',
    'sent "id: 1"',
    'cut cuts the connection',
    'request GET /… (elsewhere) → 404',
    'drive has waited 3 s for a sign of the client',
    'end ended with exit code 3',
  ]);
});

test('a timeline shows the first and the last of many printed lines', () => {
  const timeline = new Timeline(new Recorder().axis);
  const page = (from: number): void => {
    timeline.request(`GET ${from}`).answers('200');
    for (let index = from; index < from + 100; index += 1) timeline.printed(`item ${index}`);
  };
  page(0);
  page(100);
  expect(textOf(timeline).split('\n')).toEqual([
    ...['client: GET 0', 'server: 200', 'client: prints item 0', 'client: prints 98 more lines, and item 99'],
    ...['client: GET 100', 'server: 200', 'client: prints item 100', 'client: prints 98 more lines, and item 199'],
  ]);
});

const HUGE = '{"saw":"item","item":{"id":"a","serial":9007199254740993,"of":[18446744073709551616,1e300,0.10]}}';

test.each<[string, object]>([
  ['{"saw":"event","id":9007199254740993,"type":"a.b","data":{}}', { saw: 'event', id: '9007199254740993' }],
  ['{"saw":"event","id":"9007199254740993","type":"a.b","data":{}}', { saw: 'event', id: '9007199254740993' }],
  ['{"id":7,"type":"a.b","data":null,"saw":"event"}', { saw: 'event', id: '7' }],
  ['{"type":"a.b","id":12345678901234567890,"data":{"id":3},"saw":"event"}', { id: '12345678901234567890' }],
  ['{"saw":"event","id":7,"type":"a.b","data":{"id":3,"saw":true}}', { data: { id: 3, saw: true } }],
  ['{"saw":"event","id":7,"type":"a.b","data":{"n":9007199254740992}}', { data: { n: 9007199254740992 } }],
  [HUGE, { item: { serial: '9007199254740993', of: ['18446744073709551616', 1e300, 0.1] } }],
])('the printed line %s keeps its numbers, and integers beyond 2^53 as text', (text, kept) => {
  expect(printedLineIn(text)).toMatchObject(kept);
});

test.each([
  ...['', 'connected', '[]', 'null', '{"saw":"event"', '{"saw":"nothing"}', '{"saw":"event","type":"a.b","data":1}'],
])('%j is no line of the contract', (text) => {
  expect(printedLineIn(text)).toBeUndefined();
});

test.each(['{"saw":"gap"}', '{"saw":"end"}', '{"saw":"end","reason":"410","status":410}'])('%s is valid', (text) => {
  expect(printedLineIn(text)?.saw).toBe(JSON.parse(text).saw);
});

test('a client may follow each type on a stream of its own, also after both have ended', async () => {
  const address = Promise.withResolvers<string | undefined>();
  const start: Client['start'] = ({ variables }) => {
    address.resolve(variables[CLIENT_VARIABLES.deviceUrl]);
    return { how: undefined, code: undefined, diagnostics: '', stop: async () => {} };
  };
  const { signal } = new AbortController();
  const tools = { recorder: new Recorder(), session: new Session(), signal, capabilities: new Set(), start };
  const t = { ...tools, patienceMs: 20_000, checkTimeLeftMs: () => 60_000 } as unknown as Client;
  await using run = await StreamRun.follow(t);
  const ask = async (types: string) => fetch(`${await address.promise}/events?types=${types}`);
  const typesKept = () => run.requests.map(({ query }) => query.get('types'));
  const first = ask('a.b');
  const kept = await run.stream();
  expect((await ask('c.d')).status).toBe(200);
  expect(typesKept()).toEqual(['a.b']);
  kept.end();
  await (await first).text();
  expect((await ask('c.d')).status).toBe(200);
  const again = ask('a.b');
  await run.stream();
  expect((await again).status).toBe(200);
  expect(typesKept()).toEqual(['a.b', 'a.b']);
});
