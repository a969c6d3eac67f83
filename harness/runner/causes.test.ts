import { describe, expect, it } from 'vitest';
import { sampleExchange } from '../reports/testing/samples.ts';
import { groupByCause, leadsFirst } from './causes.ts';
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

describe('findings of one cause', () => {
  it('include those of all checks that rest on a failed one, in any order', () => {
    const found = groups({ id: 'c', premises: ['b'] }, { id: 'b', premises: ['a'], outcome: 'pass' }, { id: 'a' });
    expect(found).toEqual(['c <- a', 'b', 'a']);
  });

  it('include those of one requirement, led by the MUST', () => {
    const found = groups({ id: 'w', requirement_id: 'x', ...WARNS }, { id: 'x' }, { id: 'y', premises: ['x'] });
    expect(found).toEqual(['w <- x', 'x', 'y <- x']);
  });

  it('include those resting on a requirement, when the check named like it fails', () => {
    const blackBox = { id: 'x.black-box', requirement_id: 'x', outcome: 'pass' } as const;
    const rests = { id: 'y', premises: ['x.black-box'] };
    expect(groups({ id: 'x' }, blackBox, rests)).toEqual(['x', 'x.black-box', 'y <- x']);
    expect(groups({ id: 'x.whole', requirement_id: 'x' }, blackBox, rests)).toEqual(['x.whole', 'x.black-box', 'y']);
  });

  it('are led by the check named like its requirement, even with more premises', () => {
    const found = groups({ id: 'x', premises: ['p'] }, { id: 'w', requirement_id: 'x' }, { id: 'p', outcome: 'pass' });
    expect(found).toEqual(['x', 'w <- x', 'p']);
  });

  it('share one wrong answer to one request, apart from numbers', () => {
    const expected = (id: number): string => `the events [${id}, ${id + 1}] for GET /events with after=${id}`;
    const found = groups(
      { id: 'a', expected: expected(7), actual: '[8]', ...asked('/events?after=7') },
      { id: 'b', expected: expected(20), actual: '[20, 21, 22]', ...asked('/events?after=20') },
      { id: 'c', expected: expected(7), actual: '[8]', ...asked('/deployments/current') },
    );
    expect(found).toEqual(['a', 'b <- a', 'c']);
  });

  it('exclude different findings, even for the same request', () => {
    const found = groups(
      { id: 'a', ...asked('/events') },
      { id: 'b', premises: ['d'], ...asked('/events') },
      { id: 'c', expected: 'no charset', actual: '404', ...asked('/events') },
      { id: 'd', outcome: 'pass' },
    );
    expect(found).toEqual(['a', 'b', 'c', 'd']);
  });

  it('do not follow from a premise that only warned', () => {
    expect(groups({ id: 'a', ...WARNS }, { id: 'b', premises: ['a'] })).toEqual(['a', 'b']);
  });

  it('exclude passed, blocked, inapplicable and known results', () => {
    const outcomes = ['pass', 'blocked', 'not_applicable', 'known'] as const;
    const given = outcomes.map((outcome) => result({ id: outcome, outcome, requirement_id: 'same' }));
    expect(groupByCause([...given, result({ id: 'a', requirement_id: 'same' })], [])).not.toContainEqual(
      expect.objectContaining({ consequence_of: expect.anything() }),
    );
  });
});

describe('the most telling finding', () => {
  const first = (...given: Given[]): string[] => leadsFirst(given.map(result)).map(({ id }) => id);

  it('is a MUST, and among these the finding with the most consequences', () => {
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

  it('is the first in the report among equals', () => {
    expect(first({ id: 'b' }, { id: 'a' })).toEqual(['b', 'a']);
  });
});
