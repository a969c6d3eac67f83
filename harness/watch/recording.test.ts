import { execFileSync } from 'node:child_process';
import {
  appendFileSync,
  closeSync,
  lstatSync,
  openSync,
  readdirSync,
  readFileSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { useScratch } from '../../simulators/common/testing/scratch.ts';
import { TrafficRedactor } from '../common/traffic-redactor.ts';
import { recordTo, withoutSecrets } from './recording.ts';
import { HEAD, JWT, recordedTo, replayed, SECRET, TRAFFIC } from './testing/recordings.ts';
import { type Traffic, wholeText } from './traffic.ts';

const home = useScratch();
const recorded = (options?: Parameters<typeof recordedTo>[1]): string =>
  recordedTo(join(home.path, 'day.jsonl'), options);

test('a recording holds no secret, and replays its traffic in order', async () => {
  const path = recorded();
  const text = readFileSync(path, 'utf8');
  for (const secret of [SECRET, JWT, SECRET.slice(3)]) expect(text).not.toContain(secret);
  expect(text).toContain('a=1');
  const { traffic, lacks } = await replayed(path);
  expect(lacks).toEqual([]);
  const shape = (all: readonly Traffic[]): unknown[] => all.map(({ kind, at }) => [kind, at]);
  expect(shape(traffic)).toEqual(shape(TRAFFIC));
});

const UNKNOWN: readonly Traffic[] = [[{ size: 26 }], [{ size: 5e6, text: '[1, ', cut: { sha256: 'x' } }], []].flatMap(
  ([body], exchange): Traffic[] => {
    const headers = [['Content-Length', `${body?.size ?? 26}`]] as const;
    return [
      { kind: 'request', at: 1, connection: 1, exchange, method: 'POST', target: '/beta', headers },
      ...(body === undefined ? [] : [{ kind: 'asked', at: 2, exchange, body } as const]),
      { kind: 'response', at: 3, exchange, status: 200, headers },
      { kind: 'over', at: 4, exchange, ended: 'whole', ...(body && { body }) },
    ];
  },
);

test('a recording replays only bodies that were known whole', async () => {
  const { traffic } = await replayed(recorded({ traffic: UNKNOWN }));
  const bodies = (wanted: string): unknown[] =>
    traffic.flatMap((each) => (each.kind === wanted && 'body' in each ? [wholeText(each.body)] : []));
  expect(bodies('asked').every((text) => text === undefined)).toBe(true);
  expect(bodies('over')).toEqual([undefined, undefined]);
});

test('a recording sets aside full and earlier files, and each part is readable', async () => {
  const name = 'day.jsonl';
  const path = join(home.path, name);
  writeFileSync(path, 'of a crash');
  recorded();
  expect(readFileSync(`${path}.1`, 'utf8')).toBe('of a crash');
  recorded({ limit: 10_000, times: 60 });
  const files = readdirSync(home.path).sort();
  expect(files).toEqual([name, ...[1, 2, 3, 4].map((number) => `${name}.${number}`)]);
  for (const file of files) {
    const { traffic, lacks } = await replayed(join(home.path, file));
    expect(traffic.length).toBeGreaterThan(0);
    expect(lacks).toEqual([expect.stringMatching(/^it is part \d+ of a recording/)]);
  }
});

test.each(['day.jsonl', 'day.jsonl.1', 'day.jsonl.4'])('a recording leaves a pipe at %s in place', (name) => {
  const pipe = join(home.path, name);
  execFileSync('mkfifo', [pipe]);
  const path = pipe.replace(/\.\d$/, '');
  if (path !== pipe) writeFileSync(path, 'of the crash');
  expect(() => recorded()).toThrow(`${pipe} is there, and is no regular file`);
  expect(readdirSync(home.path)).toEqual([...new Set([name.replace(/\.\d$/, ''), name])]);
  expect(lstatSync(pipe).isFIFO()).toBe(true);
});

test('a closed recording writes nothing', () => {
  const path = join(home.path, 'day.jsonl');
  const redactor = new TrafficRedactor();
  const recording = recordTo({ path, limit: 1_000_000, head: HEAD, redactor, trouble: (why) => expect.fail(why) });
  recording.close();
  const before = readFileSync(path);
  const other = openSync(join(home.path, 'other'), 'w');
  for (const each of TRAFFIC) recording.take(each);
  recording.flush();
  recording.close();
  closeSync(other);
  expect(readFileSync(join(home.path, 'other'), 'utf8')).toBe('');
  expect(readFileSync(path)).toEqual(before);
});

test('a replay drops a torn last line, and reports it and unknown lines', async () => {
  const path = recorded();
  appendFileSync(path, '{"kind":"whatever","at":1}\n{"kind":"opened","at":10');
  const { traffic, lacks } = await replayed(path);
  expect(traffic).toHaveLength(TRAFFIC.length);
  const torn = 'its last line is incomplete; the writer was probably killed';
  expect(lacks).toEqual(['lines in it that are no piece of traffic: 1', torn]);
});

test('a replay refuses a pipe, which it would read twice', async () => {
  const pipe = join(home.path, 'x');
  execFileSync('mkfifo', [pipe]);
  await expect(replayed(pipe)).rejects.toThrow(`--replay ${pipe}: must be a file, as it is read more than once`);
});

test.each([
  ['not there', undefined, 'cannot be read'],
  ['something else', 'hello', 'is neither a recording of `muster watch` nor HAR 1.2; it begins with "hello"'],
  ['other JSON', '{"log":{}}', 'is neither'],
  ['the beginning of HAR', '{ "log": {"version": "1.2", "entries": [{', 'is HAR but incomplete JSON'],
])('a replay refuses a file that is %s', async (_, text, why) => {
  const path = join(home.path, 'x');
  if (text !== undefined) writeFileSync(path, text);
  await expect(replayed(path)).rejects.toThrow(why);
});

const ESCAPES = '\u001b\u009b\u202e';

test('a recording escapes terminal controls', () => {
  const fields = [['id', ESCAPES]] as const;
  const text = readFileSync(recorded({ traffic: [{ kind: 'frame', at: 1, exchange: 1, fields }] }), 'utf8');
  for (const character of ESCAPES) expect(text).not.toContain(character);
  const [, line = ''] = text.split('\n');
  expect(JSON.parse(line).fields).toEqual(fields);
});

test.each([
  [
    'over two lines, and in a field of its name',
    'data: {"password":¦data: "s3cr3t", "b": 1}¦id: 7¦password: s3cr3t',
    'data: {"password":¦data: "***", "b": 1}¦id: 7¦password: ***',
  ],
  ['after its name', 'data: {"password":¦"s3cr3t", "b": 1}', 'data: {"password":¦"***", "b": 1}'],
  ['without a colon', 'data: {"password":¦"s3cr3t"}', 'data: {"password":¦"***"}'],
  ['in a line of its own', '{"password": "s3cr3t"}¦event: a.b', '{"password": "***"}¦event: a.b'],
  [
    'and with large ids and numbers as they were written',
    'id: 9223372036854775807¦data: {"id":9223372036854775807,"a":1e3,"b":1.0}',
    'id: 9223372036854775807¦data: {"id":9223372036854775807,"a":1e3,"b":1.0}',
  ],
])('an event is recorded without a secret %s', (_, lines, masked) => {
  const frameOf = (text: string): Traffic => {
    const parts = text.split('¦').map((line) => /^(.*?)(?:: (.*))?$/.exec(line) ?? []);
    const fields = parts.map(([, name = '', value = '']) => [name, value] as const);
    return { kind: 'frame', at: 1, exchange: 1, fields };
  };
  expect(withoutSecrets(frameOf(lines), new TrafficRedactor())).toEqual(frameOf(masked));
});

test('a replay refuses an endless line before it fills the memory', async () => {
  const other = join(home.path, 'x');
  writeFileSync(other, '{"log":');
  const path = recorded({ traffic: UNKNOWN });
  for (const file of [other, path]) truncateSync(file, 3 * 1024 ** 3);
  await expect(replayed(other)).rejects.toThrow(/cannot be read \(it has more than \d+ bytes\)/);
  await expect(replayed(path)).rejects.toThrow(/cannot be read \(a line has more than \d+ characters\)/);
});
