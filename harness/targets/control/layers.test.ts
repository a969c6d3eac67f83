import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { hostFiles } from '../files/target-files.ts';
import { temporaryFolder } from '../testing/places.ts';
import { type CallName, type Control, type ControlCall, noControl } from './control.ts';
import { combinedControl, layered, withFilling } from './layers.ts';
import { CALLS as CALL, fakeControl } from './testing/fakes.ts';

const folder = temporaryFolder();

const CALLS = Object.values(CALL);
const everything = (who: string, asked: string[]) =>
  Object.fromEntries(CALLS.map(({ name }) => [name, () => void asked.push(`${who} ${name}`)]));
const makeAll = async (control: Control) => {
  for (const call of CALLS) await control.call(call);
};

test('a combined control uses the first control for each call, and joins their capabilities', async () => {
  const asked: string[] = [];
  const closed: string[] = [];
  const named = (who: string, capabilities: string[], info: object) =>
    layered(fakeControl(everything(who, asked), { ...info, capabilities }, who).control, {
      line: ({ name }) => `${who} ${name}`,
      close: async () => void closed.push(who),
    });
  const first = named('first', ['drive', 'log'], { retention: 5 });
  const second = named('second', ['drive', 'compact', 'restart'], { retention: 9, event_log: '/log' });
  const both = combinedControl(first, second);
  expect([both.kind, both.line({ name: 'compact' })]).toEqual(['first + second', 'first compact']);
  const capabilities = ['drive', 'log', 'compact', 'restart'];
  expect(await both.info()).toEqual({ capabilities, retention: 5, event_log: '/log' });
  await makeAll(both);
  const expected = ['first deploy', 'first remove', 'first publish', 'second compact', 'second stop', 'second start'];
  expect(asked).toEqual(expected);
  expect(CALLS.map((call) => both.line(call))).toEqual(expected);
  await both.close();
  expect(closed).toEqual(['first', 'second']);
  expect([combinedControl(noControl, second), combinedControl(first, noControl)]).toEqual([second, first]);
});

const fillingOf = (log: string, line: string) => ({ log, line, env: process.env, cwd: folder, files: hostFiles });

test('compaction by filling stops the agent, fills the log, and publishes one event', async () => {
  const log = join(folder, 'log');
  const { signal } = new AbortController();
  const asked: [CallName, unknown, boolean][] = [];
  const ask = (call: ControlCall, by?: AbortSignal): unknown => {
    asked.push([call.name, 'count' in call ? call.count : 'signal' in call && call.signal, by === signal]);
    return call.name === 'publish' ? { first_id: 8, last_id: 8 } : undefined;
  };
  const answers = Object.fromEntries(CALLS.map(({ name }) => [name, ask]));
  const inner = layered(fakeControl(answers).control, { line: ({ name }) => name });
  const control = withFilling(inner, fillingOf(log, 'echo \'{"id":9007199254740993}\' > log; pwd > where'));
  expect(await control.info()).toEqual({ capabilities: ['drive', 'compact'], compact_restarts: true });
  expect(await control.compact(signal)).toEqual({ earliest_id: 9007199254740993n, latest_id: 8 });
  expect(asked.map(String)).toEqual(['stop,SIGTERM,true', 'start,false,true', 'publish,1,true']);
  expect(readFileSync(join(folder, 'where'), 'utf8').trim()).toBe(folder);
  expect(control.line({ name: 'compact' })).toBeUndefined();
  expect(control.line({ name: 'stop', signal: 'SIGTERM' })).toBe('stop');
  await control.deploy();
  expect(asked.at(-1)?.[0]).toBe('deploy');
});

test('compaction by filling waits for an agent that compacts after the event', async () => {
  const log = join(folder, 'late');
  writeFileSync(log, '{"id":1}\n');
  const publish = () => {
    setTimeout(() => writeFileSync(log, '{"id":5}\n'), 50);
    return { first_id: 8, last_id: 8 };
  };
  const { control } = fakeControl({ stop: () => {}, start: () => {}, publish });
  const filled = withFilling(control, fillingOf(log, `echo '{"id":2}' >> log`));
  expect(await filled.compact()).toEqual({ earliest_id: 5, latest_id: 8 });
});

test.each(['{"id":"1"}\n{"id":2}', 'no JSON', 'null', ''])('a log that begins with %j is an error', async (text) => {
  const log = join(folder, 'other');
  writeFileSync(log, '{"id":0}');
  const publish = () => {
    writeFileSync(log, text);
    return { last_id: 1 };
  };
  const { control, calls } = fakeControl({ stop: () => {}, start: () => {}, publish });
  const filled = withFilling(control, fillingOf(log, 'true'));
  await expect(filled.compact()).rejects.toThrow(`the first line of ${log} has no \`id\``);
  await expect(withFilling(control, fillingOf(log, 'exit 1')).compact()).rejects.toThrow(/control fill: .*exit code 1/);
  expect(calls.map(({ name }) => name)).toEqual(['stop', 'start', 'publish', 'stop', 'start']);
});
