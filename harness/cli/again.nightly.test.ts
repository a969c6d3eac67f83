/** How often a finding comes, as a user sees it: at the terminal, in CI, as data, and by the exit code. */
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { MAIN, muster, reportIn, typed, useFolder } from './testing/muster.ts';

const at = useFolder();
const CURRENT = 'device.deployment.current';
/** Draws the usual form of a request for that check, in which it is run once and then tried again. */
const SEED = '4';

async function check(defect: string, options: readonly string[]) {
  const line =
    `exec ${process.execPath} ${MAIN} simulate device --socket {socket} --control {control} --dir {dir} ` +
    `--heartbeat 1s --defect ${defect}`;
  const [json, junit] = [at(`${defect}.json`), at(`${defect}.xml`)];
  const reports = ['--report', 'pretty', '--report', `json=${json}`, '--report', `junit=${junit}`];
  const { code, stdout } = await muster(...typed`check device --command ${line} --seed ${SEED} ${reports} ${options}`);
  const report = reportIn(json);
  return {
    code,
    stdout,
    report,
    junit: readFileSync(junit, 'utf8'),
    result: report.checks.find(({ id }) => id === CURRENT),
  };
}

test.each([
  ['current-is-the-first', [CURRENT], 'always: 3 of 3 times', 'a MUST does not hold'],
  ['current-stale-now-and-then', [CURRENT], '2 of 3 times', 'a MUST does not hold; not every time'],
  [
    'current-stale-beside-streams',
    [CURRENT, 'device.deployment.shape.driven', 'device.events.heartbeat.inert'],
    'only beside other requests or in an earlier state: 1 of 1 times, and 0 of 2 alone',
    'a MUST does not hold; not every time',
  ],
])('%s', async (defect, only, words, meaning) => {
  const { code, stdout, report, junit, result } = await check(defect, ['--only', ...only]);
  expect(code).toBe(1);
  expect(report.summary.fail).toBe(1);
  expect(stdout.replaceAll(/\s+/g, ' ')).toContain(`how often ${words} `);
  expect(stdout).toContain(`exit 1: ${meaning}\n`);
  expect(junit).toContain(`; ${words}"`);
  expect(result).toMatchObject({ outcome: 'fail', rate: { times: 3 } });
});

test('--repeat tells the rate of each check, and a second try makes nothing green', async () => {
  const { code, stdout, report, result } = await check('current-stale-now-and-then', [
    ...['--repeat', '3', '--only', CURRENT, 'device.version.prefix'],
  ]);
  expect(code).toBe(1);
  expect(report.repeat).toBe(3);
  // Twice in three rounds, and once in two tries.
  expect(result?.rate).toMatchObject({ times: 5, failed: 3 });
  expect(report.checks.find(({ id }) => id === 'device.version.prefix')?.rate).toMatchObject({ times: 3, failed: 0 });
  expect(stdout).toContain(`Run 3 times each\n  2 checks failed in none\n  3 of 5  ${CURRENT}\n`);
});

test('--update-baseline takes what comes now and then as flaky, which excuses it', async () => {
  const file = at('baseline.yaml');
  const options = ['--only', CURRENT, '--baseline', file];
  expect((await check('current-stale-now-and-then', [...options, '--update-baseline'])).code).toBe(0);
  expect(readFileSync(file, 'utf8')).toMatch(/kind: flaky\n +reason: .*, 2 of 3 times: expected/);
  const { code, result } = await check('current-stale-now-and-then', options);
  expect([code, result?.outcome]).toEqual([0, 'flaky']);
});

test('--bail ends the run at once', async () => {
  const { code, stdout } = await check('current-is-the-first', ['--bail', '1', '--only', CURRENT]);
  expect(code, stdout).toBe(1);
  expect(stdout).toContain('how often  not tried again: the run was over: not run to its end: --bail 1\n');
});

test('--fast tries a finding again once', async () => {
  const { stdout } = await check('current-is-the-first', ['--fast', '--only', CURRENT]);
  expect(stdout).toContain('how often  always: 2 of 2 times\n');
});
