import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';

const ROOT = join(import.meta.dirname, '../..');
// Below the project, where Node finds the project's packages.
const folder = mkdtempSync(join(ROOT, 'node_modules/.muster-vitest-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

interface Results {
  testResults: {
    name: string;
    status: string;
    assertionResults: { title: string; status: string; failureMessages: string[] }[];
  }[];
}

const HEAD = `import { checks, requirement, suite } from '${ROOT}/harness/cli/library.ts';
import { describeSuite } from '${ROOT}/harness/cli/vitest.ts';
const check = checks<object>();
const rule = (id: string, level: 'MUST' | 'SHOULD', protective?: true) => requirement({
  ...(protective && { protective }),
  id,
  level,
  section: '6.2',
  since: '2026-11-21',
  text: 'It holds.',
});
const wrong = { expected: 'this', actual: 'that' };
const open = async () => ({
  description: { kind: 'url', address: 'x', capabilities: [], control: 'none' },
  capabilities: new Set(), unreachable: undefined, diagnostics: () => '', context: (recorder) => ({ recorder }),
  [Symbol.asyncDispose]: async () => {},
});
const good = check(rule('device.good', 'MUST'), { least: { requests: 0 } }, async () => {});
`;

const FILES = {
  'made-up': `${HEAD}
const made = suite('device', [[
  good,
  check(rule('device.bad', 'MUST'), {}, async (t) => t.must(false, wrong)),
  check(rule('device.odd', 'SHOULD'), { sharing: 'exclusive' }, async (t) => t.should(false, wrong)),
  check(rule('device.driven', 'MUST'), { needs: ['drive'] }, async (t) => t.must(false, wrong)),
  check(rule('device.stuck', 'MUST'), { sharing: 'disruptive' }, async (t) => t.blocked('no way in')),
  check(rule('device.published', 'MUST'), { sharing: 'publishing' }, async (t) => t.must(false, wrong)),
  check(rule('device.unseen', 'MUST'), {}, async (t) => t.undecided('nothing was seen')),
  check(rule('device.slow', 'MUST'), { slow: true }, async (t) => t.must(false, wrong)),
]]);
describeSuite(made, open, { fast: true });
`,
  failing: `${HEAD}
const odd = check(rule('device.odd', 'SHOULD'), {}, async (t) => t.should(false, wrong));
describeSuite(suite('device', [[good, odd]]), open, { failOn: ['*'] });
`,
  protecting: `${HEAD}
const odd = check(rule('device.odd', 'SHOULD', true), {}, async (t) => t.should(false, wrong));
describeSuite(suite('device', [[good, odd]]), open, { profile: 'full' });
`,
  demanding: `${HEAD}
describeSuite(suite('device', [[good]]), open, { demands: { require: ['drive'], minDecided: { count: 2 } } });
`,
  profiled: `${HEAD}
const driven = check(rule('device.driven', 'MUST'), { needs: ['drive'] }, async () => {});
describeSuite(suite('device', [[good, driven]]), open, { profile: 'driven' });
`,
  filtered: `${HEAD}
const filtered = check(rule('device.filtered', 'MUST'), { needs: ['drive'] }, async () => {});
describeSuite(suite('device', [[good, filtered]]), open, { profile: 'driven' });
`,
  ruled: `${HEAD}
import { rules } from '${ROOT}/harness/runner/define.ts';
const seeing = (id, holds) => rules()(rule(id, 'MUST'), { traffic: 'a path' }, () => ({ path }, judge) => {
  judge.saw(() => path);
  judge.must(holds(path), wrong);
});
const asking = (id, path, options = {}) =>
  check(rule(id, 'MUST'), { least: { requests: 0 }, ...options }, async ({ recorder }) => {
    const asked = { method: 'GET', url: 'http://x' + path, duration_ms: 1, curl: 'curl' };
    const answer = { status: 200, headers: {}, text: '', json: undefined };
    recorder.happened({ kind: 'answer', asked, path, answer });
  });
describeSuite(suite('device', [[
  seeing('device.broken', (path) => path !== '/inside'),
  seeing('device.kept', (path) => path !== '/outside'),
  asking('device.inside', '/inside', { sharing: 'exclusive' }),
  asking('device.outside', '/outside', { outsideApi: true }),
]]), open);
`,
  reading: `${HEAD}
const writing = check(rule('platform.writing', 'MUST'), { writes: true }, async (t) => t.must(false, wrong));
describeSuite(suite('platform', [[good, writing]]), open);
`,
  writing: `${HEAD}
const writable = async () => ({ ...(await open()), capabilities: new Set(['write']) });
describeSuite(suite('platform', [[good]]), writable, { readOnly: true });
`,
};

let results: Results['testResults'];
let printed: string;
beforeAll(async () => {
  for (const [name, text] of Object.entries(FILES)) writeFileSync(join(folder, `${name}.test.ts`), text);
  const file = join(folder, 'results.json');
  const vitest = join(dirname(createRequire(import.meta.url).resolve('vitest/package.json')), 'vitest.mjs');
  const reporters = ['--reporter=json', '--reporter=default', `--outputFile=${file}`];
  // This seed puts the last two of several groups in reverse order.
  const order = ['--sequence.shuffle.tests', '--sequence.seed=3'];
  const args = [vitest, 'run', '--root', folder, ...reporters, ...order, '--testNamePattern=^(?!.*device.filtered)'];
  const env = Object.fromEntries(Object.entries(process.env).filter(([key]) => !key.startsWith('VITEST')));
  printed = await new Promise((resolve) =>
    execFile(process.execPath, args, { cwd: folder, env }, (_error, stdout, stderr) => resolve(stdout + stderr)),
  );
  results = (JSON.parse(readFileSync(file, 'utf8')) as Results).testResults;
});

const resultsIn = (name: keyof typeof FILES) =>
  results.filter((file) => file.name.endsWith(`${name}.test.ts`)).flatMap(({ assertionResults }) => assertionResults);

const statusesIn = (name: keyof typeof FILES) =>
  Object.fromEntries(resultsIn(name).map(({ title, status }) => [title, status]));

test('describeSuite runs each check as a test with its outcome', () => {
  const made = resultsIn('made-up');
  expect(statusesIn('made-up')).toEqual({
    '6.2 device.good': 'passed',
    '6.2 device.bad': 'failed',
    '6.2 device.odd': 'passed',
    '6.2 device.driven': 'skipped',
    '6.2 device.stuck': 'failed',
    '6.2 device.published': 'failed',
    '6.2 device.unseen': 'skipped',
    '6.2 device.slow': 'skipped',
  });
  const messageOf = (wanted: string) => made.find(({ title }) => title === wanted)?.failureMessages.join();
  expect(messageOf('6.2 device.bad')).toMatch(
    /requires +It holds. \(MUST, section 6.2\)\nexpected +this\nactual +that/,
  );
  expect(messageOf('6.2 device.stuck')).toContain('blocked: ');
});

test.each(['failing', 'protecting'] as const)('describeSuite fails a SHOULD by failOn or its profile (%s)', (name) => {
  expect(statusesIn(name)).toEqual({ '6.2 device.good': 'passed', '6.2 device.odd': 'failed' });
});

test.each([
  ['demanding', '--require drive: the target does not have it'],
  ['demanding', '--min-decided 2: 1 of 1 checks were decided'],
  ['profiled', '--profile driven: 1 needs drive'],
] as const)('describeSuite fails a file by an unmet demand (%s: %s)', (name, reason) => {
  expect(results.find((file) => file.name.endsWith(`${name}.test.ts`))?.status).toBe('failed');
  expect(printed).toContain(reason);
  expect(resultsIn(name)[0]?.status).toBe('passed');
});

test('describeSuite fails no profile for a check that a filter leaves out', () => {
  expect(results.find(({ name }) => name.endsWith('filtered.test.ts'))?.status).toBe('passed');
});

test('describeSuite lets no check write that a target or an option forbids to write', () => {
  expect(statusesIn('reading')).toEqual({ '6.2 device.good': 'passed', '6.2 platform.writing': 'skipped' });
  expect(results.find(({ name }) => name.endsWith('reading.test.ts'))?.status).toBe('passed');
  expect(statusesIn('writing')).toEqual({ '6.2 device.good': 'skipped' });
  expect(printed).toContain('readOnly: the target was opened for writing');
});

test('describeSuite judges by rules all requests but those outside the API, in any order of groups', () => {
  expect(statusesIn('ruled')).toEqual({
    '6.2 device.inside': 'passed',
    '6.2 device.outside': 'passed',
    '6.2 device.broken.everywhere': 'failed',
    '6.2 device.kept.everywhere': 'passed',
  });
});
