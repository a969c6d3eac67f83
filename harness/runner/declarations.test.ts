import { expect, it, test } from 'vitest';
import { annotations, markdownReport } from '../reports/github.ts';
import { htmlFormat } from '../reports/html.ts';
import { junitFormat } from '../reports/junit.ts';
import { prettyText } from '../reports/pretty.ts';
import { headlineOf } from '../reports/verdict.ts';
import { type Declaration, Declarations, heartbeatsSeen, retentionSeen } from './declarations.ts';
import { one, run } from './testing/checks.ts';
import type { CheckContext, Report } from './types.ts';

const retention = (kept: number): Declaration => retentionSeen(2000, kept);

test.each([
  ['fewer events than may be retained are', retentionSeen(2000, 0)],
  ['three times as many events are', retentionSeen(2000, 6000)],
  ['a whole segment of 100 events, where one may be retained, is', retentionSeen(1, 100)],
  ['fewer heartbeats are', heartbeatsSeen(5, 0, 5600)],
  ['more heartbeats, as after events, are', heartbeatsSeen(5, 4, 5600)],
])('%s no difference', (_, { holds }) => {
  expect(holds).toBe(true);
});

test('a capability holds once it works, despite refused calls', () => {
  const declarations = new Declarations();
  declarations.refused('drive', 'control POST /events answered 404');
  expect(declarations.all).toMatchObject([{ name: 'capability drive', holds: false }]);
  declarations.worked('drive');
  declarations.refused('drive', 'control POST /events answered 404');
  declarations.refused('compact', 'control POST /compact answered 404');
  expect(declarations.all.map(({ holds }) => holds)).toEqual([false, true]);
});

test('a difference stays recorded after later observations that match', () => {
  const declarations = new Declarations();
  for (const kept of [10, 9000, 10]) declarations.saw(retention(kept));
  expect(declarations.all).toEqual([retention(9000)]);
});

const seeing = (kept: number, holds = true): Promise<Report> =>
  run([
    one(async (t: CheckContext) => {
      t.session.declarations.saw(retention(kept));
      t.must(holds, { expected: 'a', actual: 'b' });
    }),
  ]);
const SENTENCE = 'retention: declared at most 2000 events, and seen: 9000 events after a compaction';
const texts = (report: Report): string[] => [
  prettyText(report, { paint: (_, text) => text, columns: 110 }).replaceAll(/\s+/g, ' '),
  htmlFormat.document(report),
  markdownReport(report),
  junitFormat.document(report),
  annotations(report).join('').replaceAll('%3A', ':'),
];

it('a run is conformant when observations match the declarations', async () => {
  const report = await seeing(1990);
  expect(report).toMatchObject({ exit_code: 0, declarations: [{ name: 'retention', holds: true }] });
  expect(headlineOf(report).word).toBe('CONFORMANT: observed, 2026-11-25');
  for (const text of texts(report)) expect(text).not.toContain('1990 events after');
});

it.each([
  ['is incomplete', true, 2, 'INCOMPLETE'],
  ['with a failed MUST is not conformant', false, 1, 'NOT CONFORMANT'],
])('a run %s when an observation differs from a declaration, and all reports say so', async (_, holds, code, word) => {
  const report = await seeing(9000, holds);
  expect(report).toMatchObject({ exit_code: code, declarations: [{ holds: false }] });
  expect(headlineOf(report).word).toBe(word);
  for (const text of texts(report)) expect(text).toContain(SENTENCE);
});
