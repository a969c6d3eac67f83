import { validate } from 'ctrf';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { anyCharacter } from '../../simulators/common/testing/scratch.ts';
import { rateInWords } from '../runner/attempts.ts';
import { presentableReport } from '../runner/results.ts';
import type { Rate, Report } from '../runner/types.ts';
import { badge } from './certificate/certificate.ts';
import { ctrfFormat } from './ctrf.ts';
import { annotations, markdownReport } from './github.ts';
import { htmlFormat } from './html.ts';
import { jsonFormat } from './json.ts';
import { junitFormat } from './junit.ts';
import { prettyText } from './pretty.ts';
import {
  sampleExchange,
  sampleFailure,
  sampleReport,
  sampleReportWithAllowance,
  sampleResult,
} from './testing/samples.ts';
import { junitProblems } from './testing/schemas.ts';

test('JUnit: stale checks are errors; blocked, not applicable, known and flaky ones are skipped', async () => {
  const xml = junitFormat.document(sampleReport());
  expect(await junitProblems(xml)).toEqual([]);
  expect(xml).toMatch(/<testsuites .* tests="12" failures="1" errors="1" time="[\d.]+">/);
  expect(xml.match(/<skipped message="([^"]+)">\1<\/skipped>/g)).toHaveLength(5);
  const skipped = [...xml.matchAll(/<testsuite [^>]* skipped="(\d+)"/g)].map(([, count]) => Number(count));
  expect(skipped.reduce((sum, count) => sum + count, 0)).toBe(5);
  expect(xml).toMatch(/name="device.events.replay.exclusive"[^>]*>\s*<failure message="expected a first event/);
  expect(xml).toMatch(/name="device.events.expired.410"[^>]*>\s*<skipped message="blocked: control: POST/);
  expect(xml).toMatch(/name="device.version.prefix"[^>]*>\s*<error /);
  expect(xml).toMatch(/name="device.loopback.discovery"[^>]*>\s*<skipped message="not applicable: needs loopback/);
  expect(xml).toMatch(/name="device.events.after-wins"[^>]*>\s*<skipped message="known: /);
  expect(xml).toMatch(/name="device.events.replay.seam"[^>]*>\s*<skipped message="flaky: passed this time/);
  expect(xml).toMatch(/name="device.events.heartbeat"[^>]*>\s*<system-out>/);
});

test('JUnit: a document stays valid with any target text', async () => {
  const awkward = fc.constantFrom(']]>', '<!--', '\u0000', '\uffff', '\ud800', '"\'&<>', '\u001b[31m', '\r\n\t');
  const nasty = fc.oneof(fc.string({ unit: anyCharacter }), awkward);
  // Puts many texts into one document, because starting the validator takes most of the time.
  await fc.assert(
    fc.asyncProperty(fc.array(nasty, { minLength: 20, maxLength: 40 }), async (texts) => {
      const checks = texts.flatMap((text, index) => [
        sampleFailure({ id: `device.f${index}`, actual: text, counterexample: text }),
        sampleResult({ id: `device.b${index}`, outcome: 'blocked', reason: text }),
        sampleResult({ id: `device.n${index}`, outcome: 'not_applicable', reason: text }),
      ]);
      expect(await junitProblems(junitFormat.document(sampleReport(checks)))).toEqual([]);
    }),
    { numRuns: 4, endOnFailure: true },
  );
});

test('CTRF: a report with every outcome is valid, and its totals are correct', () => {
  const document = JSON.parse(ctrfFormat.document(sampleReport()));
  expect(validate(document)).toMatchObject({ valid: true });
  const { summary, tests } = document.results;
  expect(summary).toMatchObject({ tests: 12, passed: 5, failed: 1, skipped: 4, pending: 0, other: 2 });
  for (const item of [summary, ...tests]) expect(item).not.toHaveProperty('flaky');
  for (const status of ['passed', 'failed', 'skipped', 'other']) {
    expect(tests.filter((item: { status: string }) => item.status === status)).toHaveLength(summary[status]);
  }
});

test('the HTML page has every check and every finding, and loads nothing', () => {
  const page = htmlFormat.document(sampleReport());
  for (const { id } of sampleReport().checks) expect(page).toContain(id);
  expect(page).toContain('Flaky: may pass or fail by the baseline (1)');
  expect(page).toContain('a first event with an id above 7');
  expect(page).toContain('default-src &#39;none&#39;');
  expect(page).not.toMatch(/<(link|img|iframe)\b|\ssrc=|url\(|@import|fetch\(/);
});

test('the HTML page opens a few failures, and only the first of many', () => {
  const cards = (count: number): string[] => {
    const failing = Array.from({ length: count }, (_, index) => sampleFailure({ id: `device.f${index}` }));
    const page = htmlFormat.document(sampleReport(failing));
    const found = page.matchAll(/<details class="finding fail" data-id="\S+" (open)?>/g);
    return [...found].map(([, open]) => open ?? 'closed');
  };
  expect(cards(3)).toEqual(['open', 'open', 'open']);
  expect(cards(5)).toEqual(['open', 'closed', 'closed', 'closed', 'closed']);
  expect(htmlFormat.document(sampleReport([sampleFailure()]))).toContain(
    '<span class="brief">the first event has id 7</span>',
  );
});

const caused = sampleReport([
  sampleFailure({ id: 'device.follower', consequence_of: 'device.lead', actual: 'the same' }),
  sampleFailure({ id: 'device.lead' }),
  sampleResult({ id: 'device.held', outcome: 'blocked', reason: 'blocked by device.lead', blocked_by: 'device.lead' }),
  sampleResult({ id: 'device.undriven', outcome: 'not_applicable', needs: ['restart'], reason: 'x' }),
]);

test('JUnit: a failure names its cause, and a check blocked by it is skipped', async () => {
  const xml = junitFormat.document(caused);
  expect(xml).toMatch(/<testsuites .* tests="4" failures="2" errors="0" /);
  expect(xml).toMatch(/name="device.follower"[^>]*>\s*<failure message="may follow from device.lead: expected/);
  expect(xml).toMatch(/name="device.lead"[^>]*>\s*<failure message="expected/);
  expect(xml).toMatch(/name="device.held"[^>]*>\s*<skipped message="blocked by device.lead"/);
  expect(xml).toContain('name="coverage" value="2 of 4 checks decided: ');
  expect(await junitProblems(xml)).toEqual([]);
});

test('JUnit: an undecided run is an error of the run, and of no check', async () => {
  const checks = [sampleResult(), sampleResult({ id: 'device.held', outcome: 'blocked', reason: 'no answer' })];
  const xml = junitFormat.document(sampleReport(checks));
  expect(xml).toMatch(/<testsuites .* tests="3" failures="0" errors="1" /);
  expect(xml).toMatch(/<testcase name="the run" classname="muster.device"[^>]*>\s*<error message="1 check blocked/);
  expect(await junitProblems(xml)).toEqual([]);
  const faulty = junitFormat.document(sampleReport([sampleResult({ outcome: 'blocked', reason: 'x', fault: true })]));
  expect(faulty).toMatch(/<error message="x" type="fault"/);
  expect(faulty).toMatch(/<testsuite [^>]* skipped="0"/);
  expect(junitFormat.document(sampleReport([sampleResult()], { exit_code: 3 }))).toContain('<testcase name="the run"');
});

test('CTRF: a finding names its cause, and so does a blocked check', () => {
  const document = JSON.parse(ctrfFormat.document(caused));
  const [follower, lead, held] = document.results.tests;
  expect(follower).toMatchObject({
    status: 'failed',
    message: expect.stringMatching(/^may follow from device.lead: /),
    extra: { consequence_of: 'device.lead' },
  });
  expect(lead.extra).not.toHaveProperty('consequence_of');
  expect(held).toMatchObject({ status: 'other', extra: { blocked_by: 'device.lead' } });
  expect(document.results.summary.extra.coverage).toMatchObject({ checks: 4, decided: 2 });
  expect(validate(document)).toMatchObject({ valid: true });
});

test('CTRF: a warning that fails the run is failed, and an undecided run is a failed test', () => {
  const ctrf = (...given: Parameters<typeof sampleReport>) => JSON.parse(ctrfFormat.document(sampleReport(...given)));
  const warned = sampleResult({ outcome: 'warn', fails_by: '--fail-on should', expected: 'a', actual: 'b' });
  expect(ctrf([warned]).results).toMatchObject({ summary: { passed: 0, failed: 1 }, tests: [{ status: 'failed' }] });
  const undecided = ctrf([sampleResult()], { unmet: ['--require drive: it does not'], exit_code: 2 });
  const { summary, tests } = undecided.results;
  expect(summary).toMatchObject({ tests: 2, passed: 1, failed: 1 });
  expect(tests[1]).toMatchObject({ name: 'the run', message: expect.stringContaining('--require drive: it does not') });
  expect(validate(undecided)).toMatchObject({ valid: true });
});

test('GitHub: one cause has one annotation, and the summary lists its consequences', () => {
  const said = annotations(caused);
  expect(said.filter((line) => line.startsWith('::error'))).toHaveLength(1);
  expect(said[0]).toMatch(/title=device.lead .*1 finding may follow from it%0A1 check not run because of it/);
  expect(said.at(-1)).toContain('2 of 4 checks decided');
  const text = markdownReport(caused);
  expect(text).toMatch(/1 finding, 1 may follow/);
  expect(text).toMatch(/\*?2 of 4 checks decided: /);
  expect(text).toMatch(/1 finding may follow from it:\n\n- `device.follower` the same\n/);
  expect(text).toContain('1 check not run because of it: `device.held`');
  expect(text.indexOf('device.lead')).toBeLessThan(text.indexOf('device.follower'));
});

test('HTML: a finding contains its consequences, and the page lists undecided checks with remedies', () => {
  const page = htmlFormat.document(caused);
  expect(page.match(/<details class="finding fail" data-id="device.lead" open>/g)).toHaveLength(1);
  expect(page).toMatch(/1 finding may follow from it<\/p><details class="finding fail" data-id="device.follower" >/);
  expect(page).toMatch(/1 check not run because of it<\/p><ul[^>]*><li><code>device.held/);
  expect(page).toMatch(/<b>2 of 4 checks decided<\/b>/);
  expect(page).toMatch(/Not decided, and how to decide it .*<td>needs restart<\/td><td>add <code>--command, or /s);
  const coverage = { checks: 5, decided: 1, undecided: [{ checks: 4, why: 'left out by --fast' }] };
  expect(htmlFormat.document({ ...sampleReport(), coverage })).toContain('run without <code>--fast</code>');
});

const PLAIN = { paint: (_: unknown, text: string) => text, columns: 100 };

test('a finding lists its own allowances and those of later checks', () => {
  const text = prettyText(sampleReportWithAllowance(), { ...PLAIN, verbose: true });
  expect(text).toContain('    later      checks allow for it: the event of the cursor is left out of a replay\n');
  expect(text).toContain('    allows for cursor-repeated\n');
  expect(text).toMatch(/✓ device.events.frame allows for cursor-repeated\n/);
  const page = htmlFormat.document(sampleReportWithAllowance());
  expect(page).toContain('<dt>Later</dt><dd>checks allow for it: the event of the cursor is left out of a replay</dd>');
  expect(page).toContain('<dt>Allows for</dt><dd>cursor-repeated</dd>');
  expect(page).toContain('<p class="soft">allows for cursor-repeated</p>');
  for (const { document } of [junitFormat, ctrfFormat])
    expect(document(sampleReportWithAllowance())).toMatch(
      /later +checks allow for it: the event .*allows for cursor-repeated/s,
    );
});

test('the standard error of the target is shown with its finding or blocked check', () => {
  const stderr = 'warning: <no> certificate';
  const blocked = sampleResult({ id: 'device.b', outcome: 'blocked', reason: 'no answer', stderr });
  for (const checks of [[sampleFailure({ stderr })], [blocked]]) {
    const report = sampleReport(checks);
    expect(prettyText(report, PLAIN)).toMatch(/wrote[^\n]*\s+warning: <no> certificate/);
    expect(htmlFormat.document(report)).toContain('<pre>warning: &lt;no&gt; certificate</pre>');
    expect(jsonFormat.document(report)).toContain(`"stderr": "${stderr}"`);
  }
  const failed = sampleReport([sampleFailure({ stderr })]);
  expect(markdownReport(failed)).toContain('- **Wrote** `warning: <no> certificate`');
  expect(junitFormat.document(failed)).toContain('wrote      warning:');
});

test('HTML: a script is collapsed, with a button to copy it', () => {
  const { curl: _, ...driven } = sampleFailure({ script: '#!/bin/sh\necho "$a" <b>\n' });
  const page = htmlFormat.document(sampleReport([driven]));
  expect(page).toMatch(/<details class="script"><summary>Drive and ask again: a script of 2 lines<\/summary>/);
  expect(page).toContain('<pre>#!/bin/sh\necho &quot;$a&quot; &lt;b&gt;</pre><button class="copy"');
});

test('an unreachable target is the reason, without a list of all checks', () => {
  const unreachable = 'unix:/run/agent.sock: cannot connect (no such socket)';
  const blocked = { outcome: 'blocked', reason: unreachable } as const;
  const checks = Array.from({ length: 80 }, (_, index) => sampleResult({ id: `device.c${index}`, ...blocked }));
  const report = sampleReport(checks, { unreachable });
  const text = prettyText(report, PLAIN);
  expect(text.split('\n').length).toBeLessThan(12);
  expect(text).toContain('no such socket');
  expect(text).toMatch(/INCOMPLETE {2}31.2 s\nexit 2: the target could not be reached/);
  expect(htmlFormat.document(report)).not.toContain('device.c7');
  expect(markdownReport(report)).not.toContain('device.c7');
  expect(annotations(report)).toEqual([
    expect.stringMatching(/^::error title=the target could not be reached::unix:.*no such socket/),
    expect.stringMatching(/^::notice title=muster%3A incomplete::the target could not be reached/),
  ]);
});

test('reports for people count flaky checks apart from passed ones', () => {
  const flaky = sampleResult({ id: 'device.b', outcome: 'flaky', reason: 'passed this time: lost under load' });
  const report = sampleReport([sampleResult(), flaky]);
  expect(report.summary).toMatchObject({ pass: 1, flaky: 1 });
  expect(report.exit_code).toBe(0);
  for (const text of [htmlFormat.document(report), markdownReport(report), annotations(report).join('')]) {
    expect(text.replaceAll('\\', '')).toMatch(/no failure found/i);
    expect(text).toContain('but for 1 flaky, which may pass or fail by the baseline');
  }
  expect(markdownReport(report)).toMatch(/<summary>Flaky \(1\)<\/summary>\n\n- passed this time: lost under load: /);
  expect(badge(report)).toContain('>partly checked');
  const replay_of = { file: 'r', outcomes: { 'device.b': 'fail' } } as const;
  const replayed = (change: object) => annotations(sampleReport([{ ...flaky, ...change }], { replay_of })).at(-1);
  expect(replayed({})).toContain('did not happen again');
  expect(replayed({ expected: 'a', actual: 'b' })).toContain('happened again::');
});

test.each([
  ['interrupted', { interrupted: true, exit_code: 130, complete: false }, 'INTERRUPTED'],
  ['again', { replay_of: { file: 'run.json', outcomes: { a: 'fail', b: 'warn' } } }, 'HAPPENED AGAIN IN PART'],
  ['gone', { replay_of: { file: 'run.json', outcomes: { b: 'warn' } } }, 'DID NOT HAPPEN AGAIN'],
  ['unmet', { unmet: ['--require drive: it does not'], exit_code: 2, complete: false }, 'INCOMPLETE'],
] as const)('reports for people begin with the outcome of a run: %s', (_, change, word) => {
  const beside = word.endsWith('PART') ? [sampleResult({ id: 'a', outcome: 'known' })] : [];
  const report = sampleReport([sampleResult({ id: 'b' }), ...beside], change as object);
  expect(htmlFormat.document(report)).toContain(`<h1>${word}</h1>`);
  expect(markdownReport(report)).toContain(` ${word}: `);
  expect(annotations(report).at(-1)).toContain(`muster%3A ${word.toLowerCase()}::`);
});

test('every format cuts a giant value', () => {
  const giant = 'x'.repeat(10_000);
  const answer = { response_headers: { 'x-a': giant }, response_body: giant };
  const exchange = sampleExchange({ url: `http://x/${giant}`, ...answer, error: giant });
  const report = sampleReport([
    sampleFailure({ expected: giant, actual: giant, counterexample: { deep: [giant] }, observations: [giant] }),
    sampleFailure({ id: 'b', counterexample: giant, exchanges: [exchange] }),
    sampleResult({ id: 'c', outcome: 'blocked', reason: giant }),
    sampleResult({ id: 'd', observations: [giant] }),
  ]);
  const target = { ...report.target, address: giant, name: giant, control: giant };
  const given = presentableReport({ ...report, target });
  expect(given.checks[0]?.actual).toBe(`${'x'.repeat(1000)}… (10000 characters)`);
  expect(given.target.address.length).toBeLessThan(600);
  expect(presentableReport(sampleReport([], { unreachable: giant })).unreachable?.length).toBeLessThan(5000);
  const formats = [jsonFormat, junitFormat, ctrfFormat, htmlFormat].map(({ document }) => document(given));
  const longest = (text: string): number => Math.max(...[...text.matchAll(/x+/g)].map(([run]) => run.length));
  for (const text of [...formats, markdownReport(given), annotations(given).join('')]) {
    expect(longest(text)).toBeLessThanOrEqual(5000);
  }
  const pretty = prettyText(given, PLAIN);
  expect(longest(pretty)).toBeLessThanOrEqual(1500);
  expect(pretty.length).toBeLessThan(15_000);
  expect(pretty).toContain('… (10000 characters)');
});

const rate = (times: number, failed: number, alone: readonly [number, number] = [0, 0], why?: string): Rate => ({
  times,
  failed,
  alone: { times: alone[0], failed: alone[1] },
  ...(why === undefined ? {} : { not_tried: why }),
});

test.each<[Rate, string]>([
  [rate(3, 3, [2, 2]), '3 of 3 times'],
  [rate(3, 2, [2, 1]), '2 of 3 times (alone 1 of 2)'],
  [rate(3, 1, [2, 0]), 'only beside other requests or in an earlier state: 1 of 1 times, and 0 of 2 alone'],
  [rate(3, 1, [3, 1]), '1 of 3 times'],
  [rate(5, 2, [2, 0]), 'only beside other requests: 2 of 3 times, and 0 of 2 alone'],
  [rate(12, 1, [2, 0]), '1 of 12 times (alone 0 of 2)'],
  [rate(10, 0), '0 of 10 times'],
  [rate(1, 1, [0, 0], 'no time left'), 'not tried again: no time left'],
  [rate(10, 10, [0, 0], 'no time left'), '10 of 10 times; not tried alone: no time left'],
])('%j in words', (given, words) => {
  expect(rateInWords(given)).toBe(words);
});

const WORDS = 'only beside other requests or in an earlier state: 1 of 1 times, and 0 of 2 alone';
const seldom = sampleFailure({ rate: rate(3, 1, [2, 0]) });
const rated = sampleReport([sampleResult(), seldom]);
const WIDE = { ...PLAIN, columns: 200 };

test('every report shows the rate with the finding, and the JSON report its numbers', () => {
  for (const { document } of [htmlFormat, junitFormat, ctrfFormat]) expect(document(rated)).toContain(WORDS);
  expect(prettyText(rated, WIDE)).toContain(`how often  ${WORDS}`);
  expect(markdownReport(rated)).toContain(`**How often** ${WORDS}`);
  expect(annotations(rated).join('')).toContain(`How often: ${WORDS}`);
  const { checks } = JSON.parse(jsonFormat.document(rated)) as Report;
  expect(checks[1]?.rate).toEqual({ times: 3, failed: 1, alone: { times: 2, failed: 0 } });
});

test('the verdict says that a failure is intermittent', () => {
  expect(prettyText(rated, WIDE)).toContain('exit 1: a MUST does not hold; not every time');
  const other = sampleFailure({ id: 'device.events.frame', actual: 'no id', exchanges: [] });
  expect(prettyText(sampleReport([seldom, other]), WIDE)).toContain('2 MUSTs do not hold; 1 not every time');
});

test('reports of repeated checks show the rate of each', () => {
  const checks = [sampleResult({ rate: rate(10, 0) }), sampleFailure({ rate: rate(10, 3, [2, 1]) })];
  const repeated = sampleReport(checks, { repeat: 10 });
  const text = prettyText(repeated, WIDE);
  expect(text).toContain('Run 10 times each\n  1 check failed in none\n  3 of 10  device.events.replay.exclusive\n');
  expect(junitFormat.document(repeated)).toContain('how often: 0 of 10 times');
  expect(htmlFormat.document(repeated)).toContain('each check run 10 times');
  expect(htmlFormat.document(repeated)).toContain('0 of 10 times · ');
});
