import fc from 'fast-check';
import { expect, it, test } from 'vitest';
import { sampleExchange } from '../reports/testing/samples.ts';
import { comparableText, groupByCause, leadsFirst } from './causes.ts';
import type { CheckResult } from './types.ts';

interface Given extends Partial<CheckResult> {
  id: string;
  premises?: string[];
}

const result = ({ premises: _, ...given }: Given): CheckResult => ({
  level: 'MUST',
  section: '6.2',
  requirement: 'Something holds.',
  requirement_id: given.id,
  outcome: 'fail',
  duration_ms: 1,
  expected: `what ${given.id} asks for`,
  actual: 'something else',
  ...given,
});

function groups(...given: Given[]): string[] {
  const checks = given.map(({ id, requirement_id = id, premises = [] }) => {
    return { id, premises, requirement: { id: requirement_id } };
  });
  return groupByCause(given.map(result), checks).map(({ id, consequence_of }) =>
    consequence_of === undefined ? id : `${id} <- ${consequence_of}`,
  );
}

const WARNS = { outcome: 'warn', level: 'SHOULD' } as const;
const asked = (path: string): Pick<CheckResult, 'exchanges'> => ({
  exchanges: [sampleExchange({ url: `http://localhost/v0.2${path}` })],
});

it('findings of one cause include those of all checks that rest on a failed one, in any order', () => {
  const found = groups({ id: 'c', premises: ['b'] }, { id: 'b', premises: ['a'], outcome: 'pass' }, { id: 'a' });
  expect(found).toEqual(['c <- a', 'b', 'a']);
});

it('findings of one cause include those of one requirement, led by the MUST', () => {
  const found = groups({ id: 'w', requirement_id: 'x', ...WARNS }, { id: 'x' }, { id: 'y', premises: ['x'] });
  expect(found).toEqual(['w <- x', 'x', 'y <- x']);
});

it('findings of one cause include those resting on a requirement, when the check named like it fails', () => {
  const blackBox = { id: 'x.black-box', requirement_id: 'x', outcome: 'pass' } as const;
  const rests = { id: 'y', premises: ['x.black-box'] };
  expect(groups({ id: 'x' }, blackBox, rests)).toEqual(['x', 'x.black-box', 'y <- x']);
  expect(groups({ id: 'x.whole', requirement_id: 'x' }, blackBox, rests)).toEqual(['x.whole', 'x.black-box', 'y']);
});

it('findings of one cause are led by the check named like its requirement, even with more premises', () => {
  const found = groups({ id: 'x', premises: ['p'] }, { id: 'w', requirement_id: 'x' }, { id: 'p', outcome: 'pass' });
  expect(found).toEqual(['x', 'w <- x', 'p']);
});

it('findings of one cause share one wrong answer to one request, apart from numbers', () => {
  const expected = (id: number): string => `the events [${id}, ${id + 1}] for GET /events with after=${id}`;
  const found = groups(
    { id: 'a', expected: expected(7), actual: '[8]', ...asked('/events?after=7') },
    { id: 'b', expected: expected(20), actual: '[20, 21, 22]', ...asked('/events?after=20') },
    { id: 'c', expected: expected(7), actual: '[8]', ...asked('/deployments/current') },
  );
  expect(found).toEqual(['a', 'b <- a', 'c']);
});

it('findings of one cause exclude different findings, even for the same request', () => {
  const found = groups(
    { id: 'a', ...asked('/events') },
    { id: 'b', premises: ['d'], ...asked('/events') },
    { id: 'c', expected: 'no charset', actual: '404', ...asked('/events') },
    { id: 'd', outcome: 'pass' },
  );
  expect(found).toEqual(['a', 'b', 'c', 'd']);
});

it('findings of one cause do not follow from a premise that only warned', () => {
  expect(groups({ id: 'a', ...WARNS }, { id: 'b', premises: ['a'] })).toEqual(['a', 'b']);
});

it('findings of one cause exclude passed, blocked, inapplicable and known results', () => {
  const outcomes = ['pass', 'blocked', 'not_applicable', 'known'] as const;
  const given = outcomes.map((outcome) => result({ id: outcome, outcome, requirement_id: 'same' }));
  expect(groupByCause([...given, result({ id: 'a', requirement_id: 'same' })], [])).not.toContainEqual(
    expect.objectContaining({ consequence_of: expect.anything() }),
  );
});

const first = (...given: Given[]): string[] => leadsFirst(given.map(result)).map(({ id }) => id);

it('the most telling finding is a MUST, and among these the finding with the most consequences', () => {
  const found = first(
    { id: 'should', outcome: 'warn', level: 'SHOULD' },
    { id: 'alone' },
    { id: 'root' },
    { id: 'follows', consequence_of: 'root' },
    { id: 'rests', outcome: 'blocked', blocked_by: 'follows' },
    { id: 'passes', outcome: 'pass' },
  );
  expect(found).toEqual(['root', 'alone', 'should']);
});

it('the most telling finding is the first in the report among equals', () => {
  expect(first({ id: 'b' }, { id: 'a' })).toEqual(['b', 'a']);
});

const compared = (expected: string, actual: string) => comparableText({ expected, actual });
const body = (id: string, at: string): string => JSON.stringify({ object: 'deployment', id, created_at: at });
const [one, other] = [
  body('dpl_rvzw3hb4s5ts', '2026-11-25T06:53:50.175Z'),
  body('dpl_abcdefghijkl', '2026-12-01T00:00:00Z').slice(0, 40),
];

it.each([
  ['a body', `it lacks "status" in ${one}`, `it lacks "status" in ${other}… (1792 characters)`],
  ['a quoted body', `200 a/b ${JSON.stringify(one)}`, `200 a/b ${JSON.stringify(other).slice(0, -1)}…`],
  ['the past', 'none; last events: 1 deployment.removed dpl_1', 'none; last events: 7 deployment.deployed dpl_1'],
  ['how many there were', 'missing: dpl_1, dpl_2', 'missing: dpl_7'],
  ['an id', 'dpl_5dx7hvxel2nz is shown', 'dpl_abcdefghijkl is shown'],
  ['a uuid', '99d0af26-cb35-4484-8420-21f0c01cab4b is there', '7e57a1c0-0000-4000-a000-000000000001 is there'],
  ['a port', 'connect ECONNREFUSED 127.0.0.1:40123', 'connect ECONNREFUSED 127.0.0.1:8080'],
  ['a temporary path', 'no file /tmp/muster-aBcDeF/robot/a.json', 'no file /var/folders/zz/x1/T/muster-q/a.json'],
  ['a day', 'Wed, 25 Nov 2026 06:53:50 GMT', 'Tue, 1 Dec 2026 16:03:05 GMT'],
  ['a fraction of a second', '2026-11-25T06:53:50.5Z', '2026-11-25T06:53:50Z'],
  ['how many files', '/etc/7.json is not there; /etc/7.json is not there', '/etc/7.json is not there'],
])('comparable text of one defect is equal apart from %s', (_, left, right) => {
  expect(compared('x', left)).toEqual(compared('x', right));
});

it('comparable text of one defect is equal apart from the numbers of its events', () => {
  const many = compared('the events [8, 9, … 98, 99] (92) for after=7', '[8, 9, … 98, 99] (90), missing [50, 51]');
  expect(compared('the events [33, 34, 35] for after=32', '[33, 35], missing [34]')).toEqual(many);
  const few = compared('the events [8, 9, 12] for after=7', '[8, 12]');
  expect(compared('the events [33–80] (48) for after=32', '[33–70, 72–80] (47)')).toEqual(few);
});

test('comparable text tells a repeated event from a lost event', () => {
  const [again, lost] = ['event 143', 'event 145'].map((actual) =>
    compared('event 144, the first retained after 143', actual),
  );
  expect(again).toEqual({ expected: 'event #, the first retained after #a', actual: 'event #a' });
  expect(lost).toEqual({ expected: 'event #, the first retained after #', actual: 'event #' });
});

const expected = 'the events [49, 50, 51, 52, 53] for the log after a torn line and two restarts';
it.each([
  ['a status', '410 application/json "{\\"error\\":1}"', '500 application/json "{\\"error\\":1}"'],
  ['a status alone', '200', '404'],
  ['what is lost', '[49, 50, 51, 53], missing [52]', '[49, 50, 51], missing [52, 53]'],
  ['all that is lost', '[53], missing [49, 50, 51, 52]', '[], missing [49, 50, 51, 52, 53]'],
  ['the field', 'it lacks "status" in {"id":1}', 'it lacks "device_id" in {"id":1}'],
])('comparable text of two defects differs by %s', (_, left, right) => {
  expect(compared(expected, left)).not.toEqual(compared(expected, right));
});

test('comparable text is short, and does not change when normalized twice', () => {
  const pasted = { expected: 'the events [33, 34] for after=32', actual: `[33], missing [34]; 410 a/b ${one}` };
  const once = comparableText(pasted);
  expect(once.actual).toBe('[first …], missing [… last]; 410 a/b {…}');
  expect(comparableText(once)).toEqual(once);
  fc.assert(
    fc.property(fc.string({ unit: 'binary', maxLength: 2000 }), (text) => {
      const { expected, actual } = compared(text, text);
      expect(Math.max(expected.length, actual.length)).toBeLessThanOrEqual(301);
    }),
    { numRuns: 30 },
  );
});
