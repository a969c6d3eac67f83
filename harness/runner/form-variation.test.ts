import { expect, test } from 'vitest';
import { EQUIVALENT_FORMS, type Form } from '../client/equivalent-forms.ts';
import { FormVariation } from './form-variation.ts';
import { NO_TRIES } from './plan.ts';
import { resultOf } from './results.ts';
import { declared, run } from './testing/checks.ts';
import type { CheckContext, CheckResult, Outcome } from './types.ts';

const SEED = 1;
function scripted(outcome: (form: Form | undefined, time: number) => Outcome) {
  const asked: (string | undefined)[] = [];
  const once = async (form?: Form): Promise<CheckResult> => {
    asked.push(form?.name);
    const ended = outcome(form, asked.length);
    const actual = `answer ${asked.length}`;
    return resultOf(declared('test.asked'), { outcome: ended, duration_ms: 1, ...(ended === 'fail' && { actual }) });
  };
  return { asked, once };
}

async function inForms(forms = new FormVariation(SEED)): Promise<[string, Form][]> {
  const found: [string, Form][] = [];
  for (let at = 0; at < 200; at += 1) {
    await forms.run(`test.${at}`, async (form) => {
      if (form !== undefined) found.push([`test.${at}`, form]);
      return scripted(() => 'pass').once();
    });
  }
  return found;
}

test('form variation asks about half the checks in another form, and uses each', async () => {
  const found = await inForms();
  expect(found.length).toBeGreaterThan(60);
  expect(found.length).toBeLessThan(140);
  expect(new Set(found.map(([, form]) => form))).toEqual(new Set(EQUIVALENT_FORMS));
  expect((await inForms(new FormVariation(SEED + 1))).map(([id]) => id)).not.toEqual(found.map(([id]) => id));
});

test.each<[string, Outcome[], Outcome, number]>([
  ['passes in it: nothing more is asked', ['pass'], 'pass', 1],
  ['fails in both: the usual one stands', ['fail', 'fail'], 'fail', 2],
  ['is blocked in it, and fails in the usual one', ['blocked', 'fail'], 'fail', 2],
  ['ends the target, so that nothing decides after it', ['fail', 'blocked'], 'fail', 2],
  ['fails every other time', ['fail', 'pass', 'fail'], 'fail', 3],
  ['fails every third time', ['fail', 'pass', 'pass', 'fail', 'pass'], 'fail', 5],
  ['fails every fourth time', ['fail', 'pass', 'pass', 'pass'], 'fail', 4],
])('a check asked in another form %s', async (_, outcomes, outcome, times) => {
  const forms = new FormVariation(SEED);
  const [[id, form] = ['', undefined]] = await inForms();
  const { asked, once } = scripted((_form, time) => outcomes[time - 1] ?? 'blocked');
  const { result, others = [] } = await forms.run(id, once);
  expect(result.outcome).toBe(outcome);
  const isNowAndThen = outcome === 'fail' && times > 2;
  expect(others.map((other) => other.outcome)).toEqual(isNowAndThen ? outcomes.slice(1) : []);
  const [usual, other] = [undefined, form?.name];
  expect(asked).toEqual([other, usual, usual, other, other, usual].slice(0, times));
});

test.each(EQUIVALENT_FORMS)('a check that fails only when asked $name fails if a promise covers it', async (form) => {
  const forms = new FormVariation(SEED);
  const [id = ''] = (await inForms()).find(([, drawn]) => drawn === form) ?? [];
  const { once } = scripted((asked) => (asked === undefined ? 'pass' : 'fail'));
  const { result } = await forms.run(id, once);
  const observed = { name: `asked ${form.name}`, value: 'does not hold: answer 1' };
  if (form.promise === undefined) expect(result).toMatchObject({ outcome: 'pass', observed: [observed] });
  else expect(result).toMatchObject({ outcome: 'fail', expected: expect.stringContaining(form.promise) });
});

test('a form that makes a difference is not used for later checks', async () => {
  const forms = new FormVariation(SEED);
  const [[id, form] = ['', undefined]] = await inForms();
  await forms.run(id, scripted((asked) => (asked === undefined ? 'pass' : 'fail')).once);
  const others = (await inForms(forms)).map(([, one]) => one);
  expect(others).not.toContain(form);
  expect(new Set(others).size).toBe(EQUIVALENT_FORMS.length - 1);
});

test('form variation stops after two checks that fail in every form', async () => {
  const forms = new FormVariation(SEED);
  const found = await inForms();
  for (const [id] of found.slice(0, 2)) await forms.run(id, scripted(() => 'fail').once);
  expect(await inForms(forms)).toEqual([]);
});

test('an undecided check is retried in the usual form, unless it took long', async () => {
  const forms = new FormVariation(SEED);
  const [[id] = ['']] = await inForms();
  const { asked, once } = scripted(() => 'undecided');
  await forms.run(id, once);
  await forms.run(id, async (form) => ({ ...(await once(form)), duration_ms: 10_001 }));
  expect(asked.length).toBe(3);
  expect((await inForms(forms)).length).toBeGreaterThan(60);
});

test.each([
  ['counts each check once, whatever it was asked in', 1, 12 + 2],
  ['asks in the usual form alone when it repeats them', 3, 3 * 12],
])('a run in varied forms %s', async (_, repeat, times) => {
  let runs = 0;
  const list = Array.from({ length: 12 }, (_one, at) =>
    declared(`test.${at}`, { sharing: 'exclusive' }, async (t: CheckContext) => {
      runs += 1;
      t.must(false, { expected: 'an answer', actual: 'none' });
    }),
  );
  const report = await run(list, { varied: true, repeat, tries: NO_TRIES });
  expect(report.checks.map(({ outcome }) => outcome)).toEqual(list.map(() => 'fail'));
  expect(runs).toBe(times);
});
