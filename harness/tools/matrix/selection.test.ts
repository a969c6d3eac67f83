import { describe, expect, it } from 'vitest';
import { random } from '../../../simulators/common/random.ts';
import { variant } from '../../../simulators/defects/define-device.ts';
import { deviceVariants } from '../../../simulators/defects/device/index.ts';
import { sampleFailure, sampleReport, sampleResult } from '../../reports/testing/samples.ts';
import type { CheckResult, Report } from '../../runner/types.ts';
import type { Changes } from '../subjects/simulators.ts';
import { bundlesOf, evaluateApart, pairsOf, sampleOf } from './selection.ts';
import { allSubjects, type Subject, variantSubject } from './subjects.ts';

const subject = (kind: Subject['kind'], name: string, about: Partial<Subject> = {}): Subject => ({
  api: 'device',
  kind,
  name,
  run: () => Promise.reject(new Error('not run')),
  ...about,
});

describe('a sample', () => {
  const defects = [1, 2, 3, 4].flatMap((nth) =>
    ['a', 'b'].map((broken) => subject('defect', `${broken}${nth}`, { breaks: [`device.${broken}`] })),
  );
  const kept = [subject('reference', 'loopback'), subject('variant', 'extra-fields'), subject('variant', 'silent')];
  const slow = subject('variant', 'slow-answers', { slow: true });
  const all = [...kept, slow, ...defects, subject('null', 'not-found'), subject('null', 'endless-body')];
  const drawn = (share: number, seed: number): string[] =>
    sampleOf(all, share, random(seed).next).map(({ name }) => name);

  it('has a share of each family, every reference and every quick variant', () => {
    const names = drawn(4, 1).map((name) => name.replace(/\d$/, ''));
    expect(names.toSorted()).toEqual(
      [...kept.map(({ name }) => name), 'a', 'b', 'not-found', 'endless-body'].toSorted(),
    );
    expect(drawn(1, 1)).toEqual(all.map(({ name }) => name));
  });

  it('is the same for one seed, and differs between seeds', () => {
    expect(drawn(2, 1)).toEqual(drawn(2, 1));
    expect(new Set([1, 2, 3, 4, 5].map((seed) => drawn(2, seed).join())).size).toBeGreaterThan(1);
  });
});

const namesIn = ({ device = [] }: Changes): string[] => device.map(({ name }) => name);

function variants(names: readonly string[], isRed: (names: readonly string[]) => boolean = () => false) {
  const runs: string[][] = [];
  const run = async (changes: Changes): Promise<Report> => {
    runs.push(namesIn(changes));
    const check: CheckResult = isRed(namesIn(changes)) ? sampleFailure() : sampleResult();
    return sampleReport([check], {});
  };
  const subjects = names.map((name): Subject => {
    const change = deviceVariants.find((each) => each.name === name) ?? variant(name, 'V.', {});
    return variantSubject('device', name, { device: [change] }, run);
  });
  return { subjects, runs };
}

const SIX = ['a', 'b', 'c', 'd', 'e', 'f'];
const inOrder = (): number => 0;

it('variants in bundles are each in one bundle, which the seed decides', () => {
  const names = [...SIX, ...SIX.map((name) => `other-${name}`)];
  const { subjects } = variants(names);
  const drawn = (seed: number): string[][] =>
    bundlesOf(subjects, random(seed).next).map(({ members = [] }) => members.map(({ name }) => name));
  expect(drawn(1).length).toBeLessThan(names.length / 3);
  expect(drawn(1).flat().toSorted()).toEqual(names.toSorted());
  expect(drawn(1)).toEqual(drawn(1));
  expect(drawn(1)).not.toEqual(drawn(2));
});

it('variants in bundles are apart when they exclude each other, or when one is slow', () => {
  const { subjects } = variants(['line-ends-crlf', 'line-ends-cr', 'slow-answers', 'byte-order-mark']);
  const slow = subjects.map((subject) => ({ ...subject, slow: subject.name === 'slow-answers' }));
  expect(bundlesOf(slow, inOrder).map(({ name }) => name)).toEqual([
    'line-ends-crlf + byte-order-mark',
    'line-ends-cr',
    'slow-answers',
  ]);
});

describe('defects in pairs', () => {
  const broken = (name: string): string[] => [`device.${name.startsWith('line-ends') ? name : name[0]}`];
  const defects = (names: readonly string[]): Subject[] =>
    variants(names).subjects.map((each) => ({ ...each, kind: 'defect', breaks: broken(each.name) }));
  const paired = (names: readonly string[]): string[] => pairsOf(defects(names), inOrder, 1000).map(({ name }) => name);

  it('are all combinations that break different requirements, each once', () => {
    expect(paired(['a1', 'a2', 'b', 'c'])).toEqual(['a1 + b', 'a1 + c', 'a2 + b', 'a2 + c', 'b + c']);
    const members = [{ name: 'a' }, { name: 'b' }];
    const pair = { kind: 'defect', breaks: ['device.a', 'device.b'], members };
    expect(pairsOf(defects(['a', 'b', 'c']), inOrder, 1)).toMatchObject([pair]);
  });

  it('are apart when they exclude each other', () => {
    expect(paired(['line-ends-crlf', 'line-ends-cr', 'a'])).toEqual(['line-ends-crlf + a', 'line-ends-cr + a']);
  });

  it('are on one transport, as each run is', () => {
    const ofDevice = allSubjects().filter(({ api, kind }) => api === 'device' && kind === 'defect');
    const drawn = pairsOf(ofDevice, inOrder, 1e5).map(({ members = [] }) => members.map(({ name }) => name));
    const beside = drawn.filter((pair) => pair.includes('token-on-socket')).flat();
    expect(beside).not.toContain('loopback-token-prefix');
    expect(beside).toContain('replay-inclusive');
  });
});

const evaluated = async (isRed: (names: readonly string[]) => boolean) => {
  const { subjects, runs } = variants(SIX, isRed);
  const [bundle] = bundlesOf(subjects, inOrder);
  const verdicts = await evaluateApart(bundle as Subject);
  const wrong = verdicts.filter(({ problems }) => problems.length > 0);
  const counted = verdicts.flatMap(({ subject }) => subject.members?.map(({ name }) => name) ?? [subject.name]);
  expect(counted).toEqual(SIX);
  return { wrong: wrong.map(({ subject, problems }) => [subject.name, problems[0]?.what ?? '']), runs };
};

it('a bundle is a single run when no variant is wrong', async () => {
  expect(await evaluated(() => false)).toEqual({ wrong: [], runs: [SIX] });
});

it.for(SIX)('a bundle is split until the guilty variant is found: %s', async (guilty) => {
  const { wrong, runs } = await evaluated((names) => names.includes(guilty));
  expect(wrong).toEqual([[guilty, expect.stringMatching(/^device\./)]]);
  expect(runs.length).toBeLessThanOrEqual(7);
});

it('a bundle names each of several guilty variants', async () => {
  const { wrong } = await evaluated((names) => names.includes('b') || names.includes('e'));
  expect(wrong.map(([name]) => name)).toEqual(['b', 'e']);
});

it('a bundle has the problem itself when its variants are wrong only together', async () => {
  const { wrong } = await evaluated((names) => names.includes('a') && names.includes('c'));
  expect(wrong).toEqual([['a + b + c', expect.stringMatching(/^only together: device\./)]]);
});
