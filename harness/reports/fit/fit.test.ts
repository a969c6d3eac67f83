import { mkdtempSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import type { Api, Report } from '../../runner/types.ts';
import { temporaryFolder } from '../../targets/testing/places.ts';
import { statementOf } from '../certificate/statement.ts';
import { suites } from '../certificate/testing/signed.ts';
import { sampleFailure, sampleReport, sampleResult } from '../testing/samples.ts';
import { fitOf, fitPage, readEvidence, type Wanted } from './fit.ts';

const TODAY = '2026-11-29';
const FOLDER = temporaryFolder();

interface Run {
  api: Api;
  target: Partial<Report['target']>;
  day?: string;
  outcome?: 'pass' | 'fail' | 'undecided';
}

function reportOf({ api, target, day = '01', outcome = 'pass' }: Run): Report {
  const check = outcome === 'fail' ? sampleFailure() : sampleResult({ outcome });
  const base = sampleReport([check], { api, complete: outcome !== 'undecided' });
  return {
    ...base,
    started_at: `2026-11-${day}T10:00:00.000Z`,
    target: { ...base.target, name: 'agent', version: '1', ...target },
    ...(outcome === 'undecided' && { exit_code: 2 }),
  };
}

function answers(runs: readonly Run[], wanted: Wanted = {}): [pair: string, answer: string][] {
  const folder = mkdtempSync(join(FOLDER, 'runs-'));
  for (const [index, run] of runs.entries())
    writeFileSync(join(folder, `${index}.json`), JSON.stringify(reportOf(run)));
  writeFileSync(join(folder, 'package.json'), '{"name":"no report"}');
  return fitOf(readEvidence([folder], TODAY), wanted).pairs.map(({ pieces, answer }) => [
    pieces.map(({ name, version }) => `${name} ${version}`).join(' + '),
    answer,
  ]);
}

const AGENT: Run = { api: 'device', target: { name: 'agent' } };
const PLATFORM: Run = { api: 'platform', target: { name: 'hub', version: '7' } };
const CLIENT: Run = { api: 'client', target: { name: 'ui', version: '3', capabilities: ['follow', 'list'] } };
const BOTH: Run = { api: 'system', target: { name: 'agent', platform: { name: 'hub', version: '7' } } };
const FAILED: Run = { ...BOTH, outcome: 'fail' };
const LATER: Run = { ...BOTH, day: '02' };
const MUTE: Run = { ...CLIENT, day: '02', outcome: 'undecided', target: { ...CLIENT.target, capabilities: ['url'] } };
const FOLLOWER: Run = { ...CLIENT, target: { ...CLIENT.target, capabilities: ['follow'] } };

it('names the runs without a name, and the nearest name or version', () => {
  const folder = mkdtempSync(join(FOLDER, 'unnamed-'));
  const { name: _, version: __, ...nobody } = reportOf(FAILED).target;
  writeFileSync(join(folder, 'good.json'), JSON.stringify(reportOf(BOTH)));
  writeFileSync(join(folder, 'nobody.json'), JSON.stringify({ ...reportOf(FAILED), target: nobody }));
  const evidence = readEvidence([folder], TODAY);
  const { answer, unnamed } = fitOf(evidence, {});
  expect([answer, unnamed]).toEqual(['yes', [expect.stringMatching(/NOT CONFORMANT.* \(\S+nobody\.json\)$/)]]);
  const why = (agent: string) => fitOf(evidence, { agent: [agent] }).pairs.map((pair) => pair.why);
  expect(why('agnt')).toEqual(['no file names agnt; did you mean agent?']);
  expect(why('agent@9')).toEqual(['no file names agent@9; did you mean agent@1?']);
});

it.each<[pair: string, what: string, runs: readonly Run[], answer: string]>([
  ['hub 7', 'fit when they passed together', [BOTH], 'yes'],
  ['hub 7', 'do not fit when they failed together', [FAILED], 'no'],
  ['hub 7', 'are unknown when each passed alone', [AGENT, PLATFORM], 'unknown'],
  ['hub 7', 'are judged by their newest run', [FAILED, LATER], 'yes'],
  ['hub 7', 'are unknown when that run decided nothing', [BOTH, { ...LATER, outcome: 'undecided' }], 'unknown'],
  ['ui 3', 'fit when each conforms', [AGENT, CLIENT], 'yes'],
  ['ui 3', 'do not fit when the client fails', [AGENT, { ...CLIENT, outcome: 'fail' }], 'no'],
  ['ui 3', 'do not fit when the server fails', [{ ...AGENT, outcome: 'fail' }, CLIENT], 'no'],
  ['ui 3', 'are unknown when the newest run of the client found no job of it', [AGENT, CLIENT, MUTE], 'unknown'],
  ['ui 3', 'are unknown when one was not decided', [AGENT, { ...CLIENT, outcome: 'undecided' }], 'unknown'],
])('an agent and %s %s', (other, _, runs, answer) => {
  expect(answers(runs)).toEqual([[`agent 1 + ${other}`, answer]]);
});

it('a server and a client fit by a certificate until it expires', () => {
  const { capabilities: _, ...target } = CLIENT.target;
  const certified = (validUntil: string): string => {
    const statement = statementOf(reportOf({ ...CLIENT, target }), suites, { validUntil });
    return JSON.stringify({ payload: Buffer.from(JSON.stringify(statement)).toString('base64') });
  };
  const file = join(FOLDER, 'certificate.json');
  const answersFor = (validUntil: string): string[] => {
    writeFileSync(file, certified(validUntil));
    return readEvidence([file], TODAY).map(({ answer }) => answer);
  };
  expect(answersFor(TODAY)).toEqual(['yes']);
  expect(answersFor('2026-11-28')).toEqual(['unknown']);
});

it('a server and a client are no pair where the client does not use the API of the server', () => {
  expect(answers([PLATFORM, FOLLOWER])).toEqual([]);
});

const versions: Run[] = ['1', '2'].map((version) => ({ ...AGENT, day: `0${version}`, target: { version } }));
const all = [...versions, { ...BOTH, target: { ...BOTH.target, version: '1' } }, CLIENT];

it('pieces are the newest version of each name, or the named versions', () => {
  const newest = ['agent 2 + hub 7,unknown', 'agent 2 + ui 3,yes', 'hub 7 + ui 3,unknown'];
  expect(answers(all).map(String)).toEqual(newest);
  expect(answers(all, { agent: ['agent@1'], client: [] })).toEqual([['agent 1 + hub 7', 'yes']]);
});

it('pieces are unknown where they were never tested', () => {
  expect(answers(all, { agent: ['agent@9'], client: ['ui'], platform: [] })).toEqual([['agent 9 + ui 3', 'unknown']]);
});

it('pieces of one version are distinguished by their digests', () => {
  const [old, built] = ['a', 'b'].map((digit) => `sha256:${digit.repeat(64)}`) as [string, string];
  const failed: Run = { ...AGENT, day: '02', target: { digest: built }, outcome: 'fail' };
  const runs = [{ ...AGENT, target: { digest: old } }, failed, CLIENT];
  expect(answers(runs)).toEqual([['agent 1 + ui 3', 'no']]);
  expect(answers(runs, { agent: [old] })).toEqual([['agent 1 + ui 3', 'yes']]);
});

it('a folder without a named run is refused, and the page escapes names', () => {
  expect(() => answers([])).toThrow('holds no report in JSON and no certificate');
  const pieces = [
    { role: 'agent', name: '<b>' },
    { role: 'client', name: 'ui' },
  ] as const;
  const pairs = [{ pieces, answer: 'no' as const, why: '<i>' }];
  const page = fitPage({ pairs, answer: 'no', code: 1, meaning: 'do not fit: 1 of 1 pair', unnamed: [] }, '1');
  expect(page).toContain('&lt;b&gt;');
  expect(page).not.toContain('<i>');
});
