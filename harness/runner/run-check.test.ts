import fc from 'fast-check';
import { expect, onTestFinished, test, vi } from 'vitest';
import type { Happening } from '../client/happening.ts';
import { Recorder } from '../client/recorder.ts';
import { sampleExchange } from '../reports/testing/samples.ts';
import { History, type Judge, type Rule } from './rules.ts';
import { runCheck, seedOf } from './run-check.ts';
import { Session } from './session.ts';
import { answered, one } from './testing/checks.ts';
import type { Check, CheckContext, Level } from './types.ts';
import { Blocked, RunOver, Violation } from './violation.ts';

type Options = Partial<Parameters<typeof runCheck<object>>[0]> & { level?: Level; hooks?: object };

function ending(body: Check<object>['run'], { level = 'MUST', hooks = {}, ...more }: Options = {}) {
  return runCheck({
    check: one(body, level),
    context: () => hooks,
    recorder: new Recorder(),
    session: new Session(),
    seed: 1,
    runs: 1,
    signal: new AbortController().signal,
    limitMs: 60_000,
    ...more,
  });
}
const broken = async (t: CheckContext) => t.must(false, { expected: 'one', actual: 2 });

test.each<[string, Level, (t: CheckContext) => Promise<unknown>, number]>([
  ['a MUST', 'MUST', broken, 1],
  ['a SHOULD inside of a check', 'MUST', async (t) => t.should(false, { expected: 'one', actual: 2 }), 1],
  ['a property', 'MUST', (t) => t.property(fc.constant(1), () => broken(t)), 1],
])('the target reconsiders %s that does not hold once, and its answer counts', async (_, level, body, times) => {
  const asked: unknown[] = [];
  const meaning = (answer: (error: unknown) => unknown) => ({
    reconsider: async (error: unknown) => {
      asked.push(error);
      return answer(error);
    },
  });
  const run = async (t: CheckContext) => void (await body(t));
  const lied = await ending(run, { level, hooks: meaning(() => new Blocked('control lied')) });
  expect(lied).toMatchObject({ outcome: 'blocked', reason: 'control lied' });
  expect(asked.splice(0)).toEqual(Array(times).fill(new Violation({ expected: 'one', actual: '2' })));
  const stands = await ending(run, { level, hooks: meaning((error) => error) });
  expect(['fail', 'warn']).toContain(stands.outcome);
  expect([stands.expected, stands.actual, asked.length]).toEqual(['one', '2', times]);
});

const neverTwo: Rule = (seen: Happening, judge: Judge): void => {
  if (seen.kind !== 'answer') return;
  const { text } = seen.answer;
  judge.saw(() => text);
  judge.must(text !== 'two', { expected: 'another text', actual: text });
};

test('a rule fails with its exchange and check, and is undecided without sightings', async () => {
  const check: Check<object> = { ...one(async () => {}, 'MUST'), least: { sightings: 1 }, rule: () => neverTwo };
  const session = new Session(undefined, undefined, undefined, new History([check]));
  expect(await ending(check.run, { check, session })).toMatchObject({ outcome: 'undecided' });
  for (const text of ['one', 'two']) session.history.of(`test.${text}`)(answered(text));
  const failed = await ending(check.run, { check, session });
  expect(failed).toMatchObject({ outcome: 'fail', actual: 'two', seen_by: ['test.two'] });
  expect(failed.exchanges).toMatchObject([{ url: 'http://target/two', response_body: 'two' }]);
});

test.each<[string, (t: CheckContext) => unknown]>([
  ['undecided', (t) => t.undecided('too little')],
  ['not applicable', (t) => t.notApplicable('free')],
])('a SHOULD that does not hold warns, even if the check ends as %s', async (_, end) => {
  const run = async (t: CheckContext): Promise<void> => {
    t.should(false, { expected: 'one', actual: 2 });
    end(t);
  };
  expect(await ending(run)).toMatchObject({ outcome: 'warn', expected: 'one', actual: '2' });
});

test.each<[string, (t: CheckContext) => Promise<unknown>]>([
  ['failed', broken],
  ['warned', async (t) => t.should(false, { expected: 'one', actual: 2 })],
  ['is blocked', async (t) => t.blocked('no answer')],
  ['is undecided', async (t) => t.undecided('too slow')],
])('a check that %s reports the last lines of standard error, masked', async (_, body) => {
  const recorder = new Recorder();
  recorder.redactor.add('b7f3c1d9e5a2');
  const all = Array.from({ length: 30 }, (_, index) => `line ${index}`).concat('key b7f3c1d9e5a2', '');
  const standardError = () => all.join('\n');
  const run = async (t: CheckContext) => void (await body(t));
  const { stderr = '' } = await ending(run, { hooks: { standardError }, recorder });
  expect(stderr.split('\n')).toEqual([...all.slice(11, 30), 'key ***']);
});

test('a result omits standard error when it passes, quotes it already, or has none', async () => {
  const standardError = () => 'oh\n';
  const told = async (t: CheckContext) => t.blocked('the client ended: oh');
  expect((await ending(told, { hooks: { standardError } })).stderr).toBeUndefined();
  expect((await ending(async () => {}, { hooks: { standardError } })).stderr).toBeUndefined();
  expect((await ending(broken, { hooks: { standardError: () => '\n' } })).stderr).toBeUndefined();
});

test.each<[string, Options, object]>([
  ['is out of time', { limitMs: 20 }, { reason: 'did not end within 0.02 s' }],
  ['is interrupted', { signal: AbortSignal.abort() }, { reason: 'interrupted' }],
  ['is over', { signal: AbortSignal.abort(new RunOver('enough')) }, { reason: 'enough' }],
  ['broke', { signal: AbortSignal.abort(new RunOver('odd', { fault: true })) }, { reason: 'odd', fault: true }],
])('a check that hangs is ended by its signal when its run %s', async (_, options, expected) => {
  const ended: boolean[] = [];
  const hang = (t: CheckContext) =>
    new Promise<void>((resolve) => {
      const end = () => resolve(void ended.push(t.signal.aborted));
      if (t.signal.aborted) end();
      else t.signal.addEventListener('abort', end);
    });
  const { outcome, reason, fault } = await ending(hang, options);
  expect({ outcome, reason, ...(fault === undefined ? {} : { fault }) }).toEqual({ outcome: 'blocked', ...expected });
  expect(ended).toEqual([true]);
});

test('a result has each remark of its check once', async () => {
  const result = await ending(async (t) => {
    for (const note of ['odd', 'odd', 'fine']) t.note(note);
    t.observe('GET /?limit=0', 10);
  });
  expect(result.observations).toEqual(['odd', 'fine', expect.stringContaining('GET /?limit=0')]);
  expect(result.observed).toEqual([{ name: 'GET /?limit=0', value: '10' }]);
  const warned = await ending(async (t) => {
    for (const actual of [2, 'x'.repeat(300)]) t.should(false, { expected: 'one', actual });
  });
  expect(warned).toMatchObject({ outcome: 'warn', level: 'SHOULD', actual: '2' });
  const cut = `should: expected one; actual: ${'x'.repeat(200)}… (300 characters)`;
  expect(warned.observations).toEqual(['should: expected one; actual: 2', cut]);
  const left = await ending(async (t) => t.notApplicable('no uplink'));
  expect(left).toMatchObject({ outcome: 'not_applicable', reason: 'no uplink' });
  expect(left).not.toHaveProperty('observations');
  expect(await ending(async (t) => t.blocked('no room'))).toMatchObject({ outcome: 'blocked', reason: 'no room' });
  const note = 'more (usual: one)';
  const info = await ending(async (t) => t.must(false, { expected: 'one', actual: 'more' }), { level: 'INFO' });
  expect(info).toMatchObject({ outcome: 'pass', observations: [note] });
});

test('a check knows its seed, its level, and the remaining time of the run', async () => {
  const clock = vi.spyOn(performance, 'now').mockReturnValue(1000);
  onTestFinished(() => clock.mockRestore());
  const known: unknown[] = [];
  const note = async (t: CheckContext) => {
    known.push(t.lenient, t.seed, t.runTimeLeftMs(), t.checkTimeLeftMs(), t.runs);
  };
  await ending(note);
  await ending(note, { level: 'SHOULD', deadline: 1500, replay: { seed: 7 }, runs: 3 });
  await ending(note, { deadline: 500 });
  const seed = seedOf(1, 'test.MUST');
  const never = Number.POSITIVE_INFINITY;
  expect(known).toEqual([...[false, seed, never, 60_000, 1], ...[true, 7, 500, 500, 3], ...[false, seed, 0, 0, 1]]);
});

test('a finding shows the last eight exchanges, and a line or script for them', async () => {
  const recorder = new Recorder();
  for (let n = 1; n <= 9; n += 1) recorder.add(sampleExchange({ url: `http://x/${n}`, curl: `curl x/${n}` }));
  const asked = await ending(broken, { recorder });
  expect(asked.exchanges?.map(({ url }) => url.at(-1)).join('')).toBe('23456789');
  expect([asked.curl, asked.script]).toEqual(['curl x/9', undefined]);
  recorder.ended(recorder.drove({ what: 'publish', line: 'curl http://control/' }));
  const driven = await ending(broken, { recorder });
  expect([driven.curl, driven.script]).toEqual([undefined, expect.stringContaining('curl http://control/')]);
  expect(driven.timeline).not.toHaveLength(0);
  const alone = new Recorder();
  alone.ended(alone.drove({ what: 'publish' }));
  const [quiet, silent] = [await ending(broken), await ending(broken, { recorder: alone })];
  expect([quiet, silent].map((result) => 'timeline' in result)).toEqual([false, true]);
});
