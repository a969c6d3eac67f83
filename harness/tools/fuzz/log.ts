/** Event log of a device after damage to its files, and the suite's reader of a target's log. */

import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { scratch } from '../../../simulators/common/testing/scratch.ts';
import { MARK_FILE } from '../../../simulators/device/log/high-water-mark.ts';
import { disk } from '../../../simulators/device/log/io.ts';
import type { StoredEvent } from '../../../simulators/device/log/line.ts';
import { open } from '../../../simulators/device/log/testing/recorded-disk.ts';
import { LogReader } from '../../../simulators/device/stream/reader.ts';
import type { Device } from '../../../suites/device/support/check.ts';
import { readLog, storesEvent } from '../../../suites/device/support/disk.ts';
import { Session } from '../../runner/session.ts';
import { hostFiles } from '../../targets/files/target-files.ts';
import { anyBytes, bytesOf, type Damage, damagesFrom, utf8, withDamages, wordsOfRows } from './bytes.ts';
import { fuzzer, pureSubject } from './engine.ts';

interface LogInput {
  texts: string[];
  /** Event at which a second start goes on, as a part of 2^16 of the events. */
  restart: number;
  clean: boolean;
  damages: Damage[];
  mark: 'kept' | 'gone' | 'torn';
}

const WORDS = wordsOfRows('\n¦\r¦\0¦{¦}¦"¦9¦,"data":{}}\n¦{"object":"event","id":¦\n\n¦{}\n¦1e9¦\0\0\0\0\0\0\0\0');

const inputs: fc.Arbitrary<LogInput> = fc.record({
  texts: fc.array(
    fc.oneof(
      { weight: 8, arbitrary: fc.string({ maxLength: 30 }).map(utf8) },
      { weight: 1, arbitrary: fc.constantFrom('{"object":"event","id":7,"type":"x"', 'a\nb\r\u2028', '\u0000}}') },
      { weight: 1, arbitrary: fc.nat(30_000).map((length) => 'x'.repeat(length)) },
    ),
    { minLength: 1, maxLength: 60 },
  ),
  restart: fc.nat(0xffff),
  clean: fc.boolean(),
  damages: fc.array(damagesFrom(WORDS), { maxLength: 4 }),
  mark: fc.constantFrom('kept', 'kept', 'kept', 'gone', 'torn'),
});

/** The log must open, return nothing damaged, lose nothing else, and assign no id twice. */
async function attack({ texts, restart, clean, damages, mark }: LogInput): Promise<string | undefined> {
  using home = scratch();
  const drafts = texts.map((text) => ({ type: 'deployment.deployed', data: { text } }));
  const half = Math.floor((restart * drafts.length) / 0x10000);
  for (const part of [drafts.slice(0, half), drafts.slice(half)]) {
    const { log } = open(home.path);
    for (const draft of part) await log.append([draft]);
    if (clean) await log.close();
    else log.abandon();
  }
  const file = join(home.path, 'events.jsonl');
  const before = readFileSync(file, 'latin1');
  const after = withDamages(before, damages);
  writeFileSync(file, bytesOf(after));
  if (mark === 'gone') rmSync(join(home.path, MARK_FILE));
  if (mark === 'torn') writeFileSync(join(home.path, MARK_FILE), '{"highest":');

  const { log } = open(home.path);
  const first = readAll(log);
  const wrong = badEvent(first) ?? missing(before, after, first) ?? (await newEvents(log, texts.length, mark, first));
  await log.close();
  return wrong ?? (await reopened(home.path, first));
}

function readAll(log: ReturnType<typeof open>['log'], after = 0): StoredEvent[] {
  const reader = new LogReader(log, disk, after);
  const events: StoredEvent[] = [];
  for (let portion = reader.read(); portion.length > 0; portion = reader.read()) {
    if (portion === 'overtaken') throw new Error('overtaken');
    events.push(...portion);
  }
  reader.close();
  return events;
}

/** Event that no client may ever see: with an id out of order, or text that is no event with its id. */
function badEvent(events: readonly StoredEvent[]): string | undefined {
  for (const [index, { id, json }] of events.entries()) {
    if (id <= (events[index - 1]?.id ?? 0)) return 'ids do not ascend';
    if (/[\n\r\0]/.test(json)) return 'an event holds a control character that would break its frame';
    try {
      const envelope = JSON.parse(json) as { id: unknown; type: unknown; data: unknown };
      if (envelope.id !== id) return 'an event is sent under the id of another one';
      if (typeof envelope.type !== 'string' || typeof envelope.data !== 'object') return 'an event is no envelope';
    } catch {
      return 'an event is no JSON';
    }
  }
  return undefined;
}

/** Whole lines of their own in order must be returned, unless damage made another line out of them. */
function missing(before: string, after: string, events: readonly StoredEvent[]): string | undefined {
  const written = new Set(before.split('\n').slice(0, -1));
  const lines = after.split('\n').slice(0, -1);
  const intact = lines.filter((line) => written.has(line)).map(idOf);
  const foreign = lines.filter((line) => !written.has(line) && idOf(line) !== undefined);
  const inOrder = intact.every((id, index) => index === 0 || (id ?? 0) > (intact[index - 1] ?? 0));
  // Among several altered lines, the right ids are unknown.
  if (!inOrder || foreign.length > 1) return undefined;
  const claimed = new Set(foreign.map(idOf));
  const there = new Set(events.map(({ id }) => id));
  const lost = intact.find((id) => id !== undefined && !there.has(id) && !claimed.has(id));
  return lost === undefined ? undefined : 'damage to one line hides another one';
}

function idOf(line: string): number | undefined {
  try {
    const { id } = JSON.parse(bytesOf(line).toString('utf8')) as { id: unknown };
    return Number.isSafeInteger(id) ? (id as number) : undefined;
  } catch {
    return undefined;
  }
}

/** New events must get ids above any assigned one, as far as mark or log still know it, and be returned. */
async function newEvents(
  log: ReturnType<typeof open>['log'],
  assigned: number,
  mark: LogInput['mark'],
  seen: readonly StoredEvent[],
): Promise<string | undefined> {
  const highest = Math.max(mark === 'kept' ? assigned : 0, ...seen.map(({ id }) => id));
  const { first, last } = await log.append([
    { type: 'deployment.queued', data: {} },
    { type: 'deployment.queued', data: {} },
  ]);
  if (first <= highest) return 'an id is assigned again';
  const ids = readAll(log, first - 1).map(({ id }) => id);
  if (ids.join() !== [first, last].join()) return 'new events are not given out';
  return undefined;
}

/** Another start must return the same. */
async function reopened(path: string, first: readonly StoredEvent[]): Promise<string | undefined> {
  const { log } = open(path);
  const events = readAll(log);
  await log.close();
  const same = first.every(({ json }, index) => events[index]?.json === json) && events.length === first.length + 2;
  return same ? undefined : 'the next start gives out other events';
}

export const log = fuzzer<LogInput>({
  name: 'log',
  about: "damage to a device's event log and its mark",
  inputs,
  open: () => pureSubject(attack),
});

interface LinesInput {
  /** Files of the log, oldest first; one is a file, several are a folder of segments. */
  files: string[];
  damages: Damage[];
  id: number;
}

const eventLine = (id: number): string => `{"object":"event","id":${id},"type":"x","data":{}}`;
const fileLine = fc.oneof(
  { weight: 6, arbitrary: fc.nat(99).map(eventLine) },
  { weight: 2, arbitrary: fc.json({ maxDepth: 4 }).map(utf8) },
  {
    weight: 1,
    arbitrary: fc.constantFrom('', '[]', '7', '"7"', '{"id":"7"}', '{"a":[{"b":7}]}', '{"__proto__":7}', 'null'),
  },
  { weight: 1, arbitrary: fc.nat(20_000).map((depth) => `${'['.repeat(depth)}7${']'.repeat(depth)}`) },
  { weight: 1, arbitrary: anyBytes(20) },
);
const logFile = fc.array(fileLine, { maxLength: 12 }).map((lines) => lines.map((text) => `${text}\n`).join(''));

const fileInputs: fc.Arbitrary<LinesInput> = fc.record({
  files: fc.array(logFile, { minLength: 1, maxLength: 3 }),
  damages: fc.array(damagesFrom(['\n', '\r\n', '\0', '{', '7', '\u00ef\u00bb\u00bf']), { maxLength: 3 }),
  id: fc.nat(99),
});

/** Suite's reader of a target's log: whatever is in the files, it must read the whole lines, and find their events. */
async function attackReader(path: string, { files, damages, id }: LinesInput): Promise<string | undefined> {
  rmSync(path, { recursive: true, force: true });
  const written = files.map((text, index) => (index === files.length - 1 ? withDamages(text, damages) : text));
  if (written.length > 1) mkdirSync(path);
  const nameOf = (index: number): string => (written.length > 1 ? join(path, `${index + 1}.jsonl`) : path);
  for (const [index, text] of written.entries()) writeFileSync(nameOf(index), bytesOf(text));
  const target = { info: { event_log: path }, files: hostFiles, session: new Session() } as unknown as Device;
  const { lines } = await readLog(target);
  const expected = written
    .map((text) => bytesOf(text).toString('utf8'))
    .join('')
    .split('\n');
  const tail = expected.pop() ?? '';
  if (tail !== '' && isJson(tail)) expected.push(tail);
  if (lines.map(({ text }) => text).join('\n') !== expected.join('\n')) return 'the reader gives other lines';
  for (const found of lines) {
    if (found.json !== isJson(found.text)) return 'a line is taken for JSON, or is not';
    // The whole line: two that damage has joined are JSON with a second id, and that one counts.
    if (found.text === eventLine(id) && !storesEvent(found, BigInt(id))) return 'an event is not found in its line';
  }
  return undefined;
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

export const logLines = fuzzer<LinesInput>({
  name: 'log-lines',
  about: "anything in the files of a target's log, against the suite's reader",
  inputs: fileInputs,
  open: async () => {
    const home = scratch();
    return {
      attack: (input) => attackReader(join(home.path, 'log'), input),
      [Symbol.asyncDispose]: async () => home[Symbol.dispose](),
    };
  },
});
