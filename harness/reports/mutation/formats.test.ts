import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import Ajv from 'ajv';
import addFormats from 'ajv-formats';
import schema from 'mutation-testing-report-schema/mutation-testing-report-schema.json' with { type: 'json' };
import { expect, test } from 'vitest';
import { scratch } from '../../../simulators/common/testing/scratch.ts';
import { mutationWriters } from './formats.ts';
import { mutationReportShape, scoreOf, shortened } from './report.ts';
import { sampleMutation, sampleSubject } from './testing/samples.ts';

const ROOT = join(import.meta.dirname, '../../..');
const sourceOf = (file: string): string => readFileSync(join(ROOT, file), 'utf8');

const validate = addFormats.default(new Ajv.default({ strict: false })).compile(schema);

function written(format: string, report = sampleMutation(), change: object = {}): string {
  let text = '';
  const stdout = { write: (piece: string) => (text += piece) };
  mutationWriters([format], { stdout, env: {}, columns: 80, verbose: false, sourceOf, ...change })(report);
  return text;
}

test('the score counts only killed and survived defects', () => {
  const { subjects, sections, summary } = sampleMutation();
  expect(scoreOf(subjects)).toBeCloseTo(66.67, 1);
  expect(sections[0]).toMatchObject({ section: '4.1', killed: 0, survived: 0, never_asked: 1 });
  expect(sections[1]).toMatchObject({ section: '6.2', killed: 2, survived: 1, known: 1, brittle: 1 });
  expect(sections[0]).not.toHaveProperty('score');
  expect(summary).toMatchObject({ killed: 1, timed_out: 1, survived: 1, brittle: 1, never_asked: 1 });
});

test('the JSON report has the published shape', () => {
  const report: unknown = JSON.parse(written('json'));
  expect(mutationReportShape.problems(report)).toEqual([]);
  expect(report).toEqual(sampleMutation());
});

test('the mutation testing report is valid, also without sources, with each defect at its declaration', () => {
  const bare = JSON.parse(written('mutation', sampleMutation(), { sourceOf: () => '' }));
  expect(validate(bare), JSON.stringify(validate.errors)).toBe(true);
  const document = JSON.parse(written('mutation'));
  expect(validate(document), JSON.stringify(validate.errors)).toBe(true);
  const [file] = Object.entries(document.files) as [string, { source: string; mutants: Record<string, never>[] }][];
  expect(file?.[0]).toBe('simulators/defects/device/6.2-replay.ts');
  const { source = '', mutants = [] } = file?.[1] ?? {};
  expect(mutants.map(({ id, status }) => `${id} ${status}`)).toEqual([
    ...['replay-inclusive Survived', 'replay-skips-first Killed', 'zero-is-no-cursor Timeout'],
    ...['replay-limited Ignored', 'types-ignored NoCoverage', 'replay-capped RuntimeError', 'heartbeat-none Pending'],
  ]);
  const [survivor] = mutants as unknown as { location: Record<'start' | 'end', { line: number; column: number }> }[];
  const { start, end } = survivor?.location ?? { start: { line: 0, column: 0 }, end: { line: 0, column: 0 } };
  const line = source.split('\n')[start.line - 1] ?? '';
  expect(line.slice(start.column - 1, end.column - 1)).toContain("'replay-inclusive'");
});

test('a terminal shows the survivor, its requirement with the clause, and how to reproduce it', () => {
  const text = written('pretty');
  for (const part of [
    ...['replay-inclusive', 'The cursor itself is not repeated.', '“Events after the cursor are replayed.”'],
    ...['--defect replay-inclusive', 'muster explain device.events.replay.exclusive', '66.6 %'],
  ])
    expect(text.replaceAll(/\s+/g, ' ')).toContain(part);
  expect(text).not.toContain('\u0007');
});

test('many findings have a line each; the first, or with --verbose all, have details', () => {
  const many = sampleMutation(Array.from({ length: 20 }, (_, at) => sampleSubject({ name: `defect-${at}` })));
  expect(written('pretty', many).match(/by hand/g)).toHaveLength(3);
  for (const { name } of many.subjects)
    expect(written('pretty', many)).toMatch(new RegExp(`✗ ${name} +6[.]2 +Replays`));
  expect(written('pretty', many)).toContain('--verbose tells all of them');
  expect(written('pretty', sampleMutation(many.subjects.slice(0, 3))).match(/defect-0/g)).toHaveLength(1);
  expect(written('pretty', many, { verbose: true }).match(/by hand/g)).toHaveLength(20);
});

test('a killed defect keeps the end of the test output', () => {
  const wrote = `${'x'.repeat(3000)}\nFAIL ends where it should`;
  const report = shortened(sampleMutation([sampleSubject({ state: 'killed', wrote }), sampleSubject({ wrote })]));
  expect(report.subjects.map((one) => one.wrote?.length)).toEqual([2001, wrote.length]);
});

test('two reports cannot share a place, and files are created before the work', () => {
  using folder = scratch();
  const writing = { stdout: { write: () => {} }, env: {}, columns: 80, verbose: false, sourceOf };
  expect(() => mutationWriters(['json', 'pretty'], writing)).toThrow(
    '--report pretty: stdout is taken by --report json',
  );
  expect(() => mutationWriters(['sarif'], writing)).toThrow('accepted are pretty, json, mutation');
  const path = join(folder.path, 'new', 'r.json');
  written(`json=${path}`);
  expect(existsSync(path)).toBe(true);
});
