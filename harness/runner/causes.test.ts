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
  it('are those of a check and of all that rest on it, whichever ran first', () => {
    const found = groups({ id: 'c', premises: ['b'] }, { id: 'b', premises: ['a'], outcome: 'pass' }, { id: 'a' });
    expect(found).toEqual(['c <- a', 'b', 'a']);
  });

  it('are those of one requirement, and the MUST leads', () => {
    const found = groups({ id: 'w', requirement_id: 'x', ...WARNS }, { id: 'x' }, { id: 'y', premises: ['x'] });
    expect(found).toEqual(['w <- x', 'x', 'y <- x']);
  });

  it('are those of a requirement that another check rests on, when the check called like it has failed', () => {
    const blackBox = { id: 'x.black-box', requirement_id: 'x', outcome: 'pass' } as const;
    const rests = { id: 'y', premises: ['x.black-box'] };
    expect(groups({ id: 'x' }, blackBox, rests)).toEqual(['x', 'x.black-box', 'y <- x']);
    expect(groups({ id: 'x.whole', requirement_id: 'x' }, blackBox, rests)).toEqual(['x.whole', 'x.black-box', 'y']);
  });

  it('are led by the check that is called like its requirement, though another rests on fewer', () => {
    const found = groups({ id: 'x', premises: ['p'] }, { id: 'w', requirement_id: 'x' }, { id: 'p', outcome: 'pass' });
    expect(found).toEqual(['x', 'w <- x', 'p']);
  });

  it('got the same wrong answer to the same request, but for numbers', () => {
    const expected = (id: number): string => `the events [${id}, ${id + 1}] for GET /events with after=${id}`;
    const found = groups(
      { id: 'a', expected: expected(7), actual: '[8]', ...asked('/events?after=7') },
      { id: 'b', expected: expected(20), actual: '[20, 21, 22]', ...asked('/events?after=20') },
      { id: 'c', expected: expected(7), actual: '[8]', ...asked('/deployments/current') },
    );
    expect(found).toEqual(['a', 'b <- a', 'c']);
  });

  it('are never those of two bugs', () => {
    const found = groups(
      { id: 'a', ...asked('/events') },
      { id: 'b', premises: ['d'], ...asked('/events') },
      { id: 'c', expected: 'no charset', actual: '404', ...asked('/events') },
      { id: 'd', outcome: 'pass' },
    );
    expect(found).toEqual(['a', 'b', 'c', 'd']);
  });

  it('do not follow from a premise that only warned, since it holds', () => {
    expect(groups({ id: 'a', ...WARNS }, { id: 'b', premises: ['a'] })).toEqual(['a', 'b']);
  });

  it('leave results alone that found nothing', () => {
    const outcomes = ['pass', 'blocked', 'not_applicable', 'known'] as const;
    const given = outcomes.map((outcome) => result({ id: outcome, outcome, requirement_id: 'same' }));
    expect(groupByCause([...given, result({ id: 'a', requirement_id: 'same' })], [])).not.toContainEqual(
      expect.objectContaining({ consequence_of: expect.anything() }),
    );
  });
});

describe('the most telling finding', () => {
  const first = (...given: Given[]): string[] => leadsFirst(given.map(result)).map(({ id }) => id);

  it('is a MUST before a SHOULD, and the one that most others follow from', () => {
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

  it('is the first of the report when nothing else tells them apart', () => {
    expect(first({ id: 'b' }, { id: 'a' })).toEqual(['b', 'a']);
  });
});
