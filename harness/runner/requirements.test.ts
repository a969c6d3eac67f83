import { describe, expect, it } from 'vitest';
import {
  checks,
  REQUIREMENT_SETS,
  requirement,
  requirementSet,
  requirementsDigest,
  requirementsOf,
  suite,
} from './define.ts';
import { makePlan, type PlanOptions } from './plan.ts';
import { run } from './testing/checks.ts';

const SETS = ['2026-11-21', '2027-06-01', '2028-01-01'];
const check = checks<object>();
const since = (date: string, id = `device.since-${date}`) =>
  requirement({ id, level: 'MUST', section: '6.1', since: date, text: `Due since ${date}.` });
const all = suite<object>('device', [SETS.map((date) => check(since(date), {}, async () => {}))], SETS);

const planOf = (options: Partial<PlanOptions> = {}) => makePlan(all, { capabilities: new Set(), ...options });
const idsOf = (options: Partial<PlanOptions>): string[] => planOf(options).checks.map((planned) => planned.check.id);

it('a requirement set holds every requirement due at its date, and counts as not narrowed', () => {
  expect(idsOf({ requirements: '2026-11-21' })).toEqual(['device.since-2026-11-21']);
  expect(idsOf({ requirements: '2027-06-01' })).toEqual(['device.since-2026-11-21', 'device.since-2027-06-01']);
  expect(idsOf({})).toHaveLength(SETS.length);
  expect(planOf({ requirements: '2026-11-21' }).narrowedBy).toEqual([]);
  const named = ['b', 'c', 'a'].map((name) => check(since('2026-11-21', `device.${name}`), {}, async () => {}));
  const held = requirementsOf(suite<object>('device', [named], SETS), '2026-11-21');
  expect(held.map(({ id }) => id)).toEqual(['device.a', 'device.b', 'device.c']);
});

it('a requirement set holds a requirement up to the set that ends it', () => {
  const ended = requirement({ ...since('2026-11-21'), until: '2028-01-01' });
  const ending = suite<object>('device', [[check(ended, {}, async () => {})]], SETS);
  const sizes = SETS.map((date) => makePlan(ending, { capabilities: new Set(), requirements: date }).size);
  expect(sizes).toEqual([1, 1, 0]);
  expect(requirementSet(ending, '2028-01-01').digest).toBe(requirementsDigest([]));
});

it('a requirement set does not hold the ids of a later set', () => {
  const only = ['device.since-2028-01-01'];
  expect(() => planOf({ requirements: '2026-11-21', only })).toThrow('no check of the device suite of 2026-11-21');
  expect(idsOf({ only })).toEqual(only);
});

it('a requirement set is named by the report of its run, with its digest', async () => {
  const older = await run([], { plan: planOf({ requirements: '2026-11-21' }) });
  const newest = await run([], { plan: planOf() });
  expect(older).toMatchObject({ requirements_version: '2026-11-21' });
  expect(newest.requirements_version).toBe('2028-01-01');
  expect(older.requirements_digest).toMatch(/^sha256:[0-9a-f]{64}$/);
  expect(newest.requirements_digest).not.toBe(older.requirements_digest);
});

describe('the digest of a set', () => {
  const one = since('2026-11-21', 'device.one');
  const two = since('2026-11-21', 'device.two');

  it('is the SHA-256 of its canonical JSON', () => {
    // sha256sum of [{"id":"device.one","level":"MUST","section":"6.1","text":"Due since 2026-11-21."}]
    expect(requirementsDigest([one])).toBe('sha256:fe42f49606edf3dbcecb0a63ba178f0bd4ef3ef438aed6ab033e8fc2d00f3d63');
  });

  it('depends on neither the order nor the quoted clause', () => {
    // sha256sum of both requirements as compact JSON, `device.one` first.
    const both = 'sha256:d9e5dc009ad478ea0e10920a25d72c05766ebce15c12b60b9a483c5248e1c4f0';
    expect([requirementsDigest([two, one]), requirementsDigest([one, two])]).toEqual([both, both]);
    expect(requirementsDigest([{ ...one, clause: 'Frames have ids.' }])).toBe(requirementsDigest([one]));
  });

  it.each(['id', 'level', 'section', 'text'])('changes with the %s of a requirement', (field) => {
    expect(requirementsDigest([{ ...one, [field]: 'SHOULD' }])).not.toBe(requirementsDigest([one]));
  });

  it('covers the whole set, even when the run is narrowed', () => {
    expect(planOf({ only: ['device.since-2026-11-21'] }).requirements).toEqual(requirementSet(all));
  });
});

it('a suite refuses a requirement with a date of no set', () => {
  const early = check(since('2027-06-01'), {}, async () => {});
  expect(() => suite('device', [[early]], ['2026-11-21'])).toThrow('there is no requirement set of 2027-06-01');
  const ended = check({ ...since('2026-11-21'), until: '2029-01-01' }, {}, async () => {});
  expect(() => suite('device', [[ended]], SETS)).toThrow('there is no requirement set of 2029-01-01');
});

it('a suite refuses two checks or two requirements of one id', () => {
  const declare = (aspect?: string) =>
    check(since('2026-11-21', 'device.one'), aspect === undefined ? {} : { aspect }, async () => {});
  expect(() => suite('device', [[declare(), declare()]])).toThrow('two checks are called device.one');
  expect(() => suite('device', [[declare(), declare('again')]])).toThrow('two requirements are called device.one');
});

it('a suite has the sets of Muster unless it names its own', () => {
  expect(suite('device', []).requirementSets).toBe(REQUIREMENT_SETS);
  expect([...REQUIREMENT_SETS].sort()).toEqual(REQUIREMENT_SETS);
});
