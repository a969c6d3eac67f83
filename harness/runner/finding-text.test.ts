import fc from 'fast-check';
import { describe, expect, it, test } from 'vitest';
import { comparableText } from './causes.ts';

const body = (id: string, at: string): string => JSON.stringify({ object: 'deployment', id, created_at: at });
const [one, other] = [
  body('dpl_rvzw3hb4s5ts', '2026-11-25T06:53:50.175Z'),
  body('dpl_abcdefghijkl', '2026-12-01T00:00:00Z').slice(0, 40),
];

describe('comparable text of one defect is equal', () => {
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
  ])('apart from %s', (_, left, right) => {
    expect(comparableText({ expected: 'x', actual: left })).toEqual(comparableText({ expected: 'x', actual: right }));
  });

  it('apart from the numbers of its events', () => {
    expect(
      comparableText({ expected: 'the events [33, 34, 35] for after=32', actual: '[33, 35], missing [34]' }),
    ).toEqual(
      comparableText({
        expected: 'the events [8, 9, … 98, 99] (92) for after=7',
        actual: '[8, 9, … 98, 99] (90), missing [50, 51]',
      }),
    );
    expect(comparableText({ expected: 'the events [33–80] (48) for after=32', actual: '[33–70, 72–80] (47)' })).toEqual(
      comparableText({ expected: 'the events [8, 9, 12] for after=7', actual: '[8, 12]' }),
    );
  });
});

test('comparable text tells a repeated event from a lost event', () => {
  const [again, lost] = ['event 143', 'event 145'].map((actual) =>
    comparableText({ expected: 'event 144, the first retained after 143', actual }),
  );
  expect(again).toEqual({ expected: 'event #, the first retained after #a', actual: 'event #a' });
  expect(lost).toEqual({ expected: 'event #, the first retained after #', actual: 'event #' });
});

describe('comparable text of two defects differs', () => {
  const expected = 'the events [49, 50, 51, 52, 53] for the log after a torn line and two restarts';
  it.each([
    ['a status', '410 application/json "{\\"error\\":1}"', '500 application/json "{\\"error\\":1}"'],
    ['a status alone', '200', '404'],
    ['what is lost', '[49, 50, 51, 53], missing [52]', '[49, 50, 51], missing [52, 53]'],
    ['all that is lost', '[53], missing [49, 50, 51, 52]', '[], missing [49, 50, 51, 52, 53]'],
    ['the field', 'it lacks "status" in {"id":1}', 'it lacks "device_id" in {"id":1}'],
  ])('by %s', (_, left, right) => {
    expect(comparableText({ expected, actual: left })).not.toEqual(comparableText({ expected, actual: right }));
  });
});

test('comparable text is short, and does not change when normalized twice', () => {
  const pasted = { expected: 'the events [33, 34] for after=32', actual: `[33], missing [34]; 410 a/b ${one}` };
  const once = comparableText(pasted);
  expect(once.actual).toBe('[first …], missing [… last]; 410 a/b {…}');
  expect(comparableText(once)).toEqual(once);
  fc.assert(
    fc.property(fc.string({ unit: 'binary', maxLength: 2000 }), (text) => {
      const { expected, actual } = comparableText({ expected: text, actual: text });
      expect(Math.max(expected.length, actual.length)).toBeLessThanOrEqual(301);
    }),
    { numRuns: 30 },
  );
});
