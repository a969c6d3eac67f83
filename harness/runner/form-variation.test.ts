import { expect, test } from 'vitest';
import { EQUIVALENT_FORMS, type Form, PROMISED_FORMS } from '../client/equivalent-forms.ts';
import type { Recorder } from '../client/recorder.ts';
import { defined } from '../common/defined.ts';
import { rateInWords } from './attempts.ts';
import { FormVariation } from './form-variation.ts';
import { NO_TRIES } from './plan.ts';
import { resultOf } from './results.ts';
import { declared, run } from './testing/checks.ts';
import type { CheckContext, CheckResult, Outcome } from './types.ts';
import { GOES_ON } from './violation.ts';

const SEED = 1;
const UNPROMISED_FORMS = EQUIVALENT_FORMS.filter(({ promise }) => promise === undefined);

function scripted(outcome: (form: Form | undefined, time: number) => Outcome, expected?: string) {
  const asked: (string | undefined)[] = [];
  const once = async (form?: Form): Promise<CheckResult> => {
    asked.push(form?.name);
    const ended = outcome(form, asked.length);
    const finding = { actual: `answer ${asked.length}`, ...defined({ expected }) };
    return resultOf(declared('test.asked'), { outcome: ended, duration_ms: 1, ...(ended === 'fail' && finding) });
  };
  return { asked, once };
}

async function inForms(forms: FormVariation, id: string, once: (form?: Form) => Promise<CheckResult>) {
  const trial = forms.inForms(id);
  let step = trial.next();
  while (step.done !== true) step = trial.next(await once(step.value));
  return step.value;
}

async function formsDrawn(forms = new FormVariation(SEED)): Promise<[string, Form][]> {
  const found: [string, Form][] = [];
  for (let at = 0; at < 200; at += 1) {
    await inForms(forms, `test.${at}`, async (form) => {
      if (form !== undefined) found.push([`test.${at}`, form]);
      return scripted(() => 'pass').once();
    });
  }
  return found;
}

const idIn = async (form: Form): Promise<string> => (await formsDrawn()).find(([, drawn]) => drawn === form)?.[0] ?? '';

test('form variation asks about half the checks in another form, and uses each', async () => {
  const found = await formsDrawn();
  expect(found.length).toBeGreaterThan(60);
  expect(found.length).toBeLessThan(140);
  expect(new Set(found.map(([, form]) => form))).toEqual(new Set(EQUIVALENT_FORMS));
  expect((await formsDrawn(new FormVariation(SEED + 1))).map(([id]) => id)).not.toEqual(found.map(([id]) => id));
});

test.each<[string, Outcome[], Outcome, number, string?]>([
  ['passes in it: nothing more is asked', ['pass'], 'pass', 1],
  ['fails in both: the usual one stands', ['fail', 'fail'], 'fail', 2],
  ['is blocked in it, and fails in the usual one', ['blocked', 'fail'], 'fail', 2],
  ['does not apply in it, and fails in the usual one', ['not_applicable', 'fail'], 'fail', 2],
  ['ends the target, so that nothing decides after it', ['fail', 'blocked'], 'fail', 2, GOES_ON],
  ['warns in both: the usual one stands', ['warn', 'warn'], 'warn', 2],
  ['warns in it, and fails in the usual one', ['warn', 'fail'], 'fail', 2],
  ['fails every other time', ['fail', 'pass', 'fail'], 'fail', 3],
  ['fails every third time', ['fail', 'pass', 'pass', 'fail', 'pass'], 'fail', 5],
  ['fails every fourth time', ['fail', 'pass', 'pass', 'pass'], 'fail', 4],
])('a check asked in another form %s', async (_, outcomes, outcome, times, expected) => {
  const forms = new FormVariation(SEED);
  const [[id, form] = ['', undefined]] = await formsDrawn();
  const { asked, once } = scripted((_form, time) => outcomes[time - 1] ?? 'blocked', expected);
  const { result, others = [] } = await inForms(forms, id, once);
  expect(result.outcome).toBe(outcome);
  expect(others.map((other) => other.outcome)).toEqual(outcome === 'fail' && times > 2 ? outcomes.slice(1) : []);
  const [usual, other] = [undefined, form?.name];
  expect(asked).toEqual([other, usual, usual, other, other, usual].slice(0, times));
});

test.each(EQUIVALENT_FORMS)('a check that fails only when asked $name fails if a promise covers it', async (form) => {
  for (const usual of ['pass', 'warn'] as const) {
    const { once } = scripted((asked) => (asked === undefined ? usual : 'fail'));
    const { result } = await inForms(new FormVariation(SEED), await idIn(form), once);
    const observed = { name: `asked ${form.name}`, value: 'does not hold: answer 1' };
    if (form.promise === undefined) expect(result).toMatchObject({ outcome: usual, observed: [observed] });
    else expect(result).toMatchObject({ outcome: 'fail', expected: expect.stringContaining(form.promise) });
  }
});

test.each(UNPROMISED_FORMS)('a check asked $name fails by that alone only if it ends the target', async (form) => {
  const ending = async (usual: Outcome, expected?: string): Promise<CheckResult> => {
    const { once } = scripted((asked) => (asked === undefined ? usual : 'fail'), expected);
    return (await inForms(new FormVariation(SEED), await idIn(form), once)).result;
  };
  expect((await ending('undecided')).outcome).toBe('undecided');
  const expected = `${GOES_ON}, also when asked ${form.name}`;
  expect(await ending('pass', GOES_ON)).toMatchObject({ outcome: 'fail', expected });
});

test('a form that makes a difference is not used for later checks', async () => {
  const forms = new FormVariation(SEED);
  const [[id, form] = ['', undefined]] = await formsDrawn();
  await inForms(forms, id, scripted((asked) => (asked === undefined ? 'pass' : 'fail')).once);
  const others = (await formsDrawn(forms)).map(([, one]) => one);
  expect(others).not.toContain(form);
  expect(new Set(others).size).toBe(EQUIVALENT_FORMS.length - 1);
});

test.each<[Outcome, boolean]>([
  ['fail', true],
  ['warn', false],
])('after two checks that %s in every form, form variation stops: %j', async (outcome, stops) => {
  const forms = new FormVariation(SEED);
  const found = await formsDrawn();
  for (const [id] of found.slice(0, 2)) await inForms(forms, id, scripted(() => outcome).once);
  expect((await formsDrawn(forms)).length).toBe(stops ? 0 : found.length);
});

test('an undecided check is retried in the usual form, unless it took long', async () => {
  const forms = new FormVariation(SEED);
  const [[id] = ['']] = await formsDrawn();
  const { asked, once } = scripted(() => 'undecided');
  await inForms(forms, id, once);
  await inForms(forms, id, async (form) => ({ ...(await once(form)), duration_ms: 10_001 }));
  expect(asked.length).toBe(3);
  expect((await formsDrawn(forms)).length).toBeGreaterThan(60);
});

test.each([
  ['counts each check once, whatever it was asked in', 1, 12 + 2, {}],
  ['asks in the usual form alone when it repeats them', 3, 3 * 12, {}],
  ['asks checks that share a result in the usual form alone', 1, 12, { varied: false }],
] as const)('a run in varied forms %s', async (_, repeat, times, options) => {
  let runs = 0;
  const list = Array.from({ length: 12 }, (_one, at) =>
    declared(`test.${at}`, { sharing: 'exclusive', ...options }, async (t: CheckContext) => {
      runs += 1;
      t.must(false, { expected: 'an answer', actual: 'none' });
    }),
  );
  const report = await run(list, { varied: true, repeat, tries: NO_TRIES });
  expect(report.checks.map(({ outcome }) => outcome)).toEqual(list.map(() => 'fail'));
  expect(runs).toBe(times);
});

test('a finding of a promised form comes again when it is retried, and in a replay', async () => {
  let form: Form | undefined;
  const context = (recorder: Recorder): object => {
    form = recorder.form;
    return {};
  };
  // So many that each promised form is drawn.
  const list = Array.from({ length: 30 }, (_one, at) =>
    declared(`test.${at}`, { sharing: 'exclusive' }, async (t: CheckContext) => {
      t.must(form?.promise === undefined, { expected: 'an answer', actual: 'none' });
    }),
  );
  const { checks } = await run(list, { varied: true, context });
  const found = checks.filter(({ outcome }) => outcome === 'fail');
  const rates = found.map(({ rate }) => rate && rateInWords(rate));
  expect(rates).toEqual(PROMISED_FORMS.map(() => '3 of 3 times'));
  const replays = found.map(({ id }) => ({ check: id, seed: SEED }));
  const failed = list.filter(({ id }) => replays.some(({ check }) => check === id));
  const again = await run(failed, { varied: true, context, replays });
  expect(again.checks.map(({ outcome }) => outcome)).toEqual(replays.map(() => 'fail'));
});

test('a finding that ends the target in a form is retried in this form', async () => {
  const forms = new FormVariation(SEED);
  const [[id, form] = ['', undefined]] = await formsDrawn();
  await inForms(forms, id, scripted((asked) => (asked === undefined ? 'blocked' : 'fail'), GOES_ON).once);
  expect(forms.found.get(id)).toBe(form);
});

test.each<[boolean, Outcome]>([
  [false, 'pass'],
  [true, 'fail'],
])('a check that another form hides: in a replay %j, it ends as %s', async (isReplay, outcome) => {
  const [[id] = ['']] = await formsDrawn();
  const { once } = scripted((asked) => (asked === undefined ? 'fail' : 'pass'));
  expect((await inForms(new FormVariation(SEED, { isReplay }), id, once)).result.outcome).toBe(outcome);
});
