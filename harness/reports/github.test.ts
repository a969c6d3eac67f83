import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { Redactor } from '../common/redact.ts';
import { temporaryFolder } from '../targets/testing/places.ts';
import { annotations, githubFormat, markdownReport } from './github.ts';
import { sampleFailure, sampleReport, sampleResult } from './testing/samples.ts';

const folder = temporaryFolder();

test('annotations are ranked: failed, stale, warned, blocked', () => {
  const kinds = annotations(sampleReport()).map((line) => /^::(\w+) title=(\w+%3A [\w.]+|[\w.]+)/.exec(line)?.slice(1));
  expect(kinds).toEqual([
    ['error', 'device.events.replay.exclusive'],
    ['error', 'device.version.prefix'],
    ['warning', 'device.events.heartbeat'],
    ['warning', 'blocked%3A device.events.expired.410'],
    ['notice', 'muster%3A not'],
  ]);
});

test('a blocked check is an error only for a fault of Muster', () => {
  const blocked = (fault: object) => annotations(sampleReport([sampleResult({ outcome: 'blocked', ...fault })]))[0];
  expect(blocked({})).toMatch(/^::warning title=blocked%3A /);
  expect(blocked({ fault: true })).toMatch(/^::error title=a fault in Muster%3A /);
});

test('annotations of a kind are at most ten; the tenth counts the rest', () => {
  const failing = Array.from({ length: 14 }, (_, index) => sampleFailure({ id: `device.f${index}` }));
  const warning = { outcome: 'warn', level: 'SHOULD' } as const;
  const warned = Array.from({ length: 10 }, (_, index) => sampleFailure({ id: `device.w${index}`, ...warning }));
  const lines = annotations(sampleReport([...warned, ...failing]));
  const errors = lines.filter((line) => line.startsWith('::error'));
  expect(errors).toHaveLength(10);
  expect(errors.at(-1)).toBe('::error title=5 more::see the job summary\n');
  expect(lines.filter((line) => line.startsWith('::warning'))).toHaveLength(10);
});

test('target text cannot start a workflow command', () => {
  const lines = annotations(sampleReport([sampleFailure({ actual: 'x\n::error::fake\r\n%0A::set-output' })]));
  for (const line of lines) expect(line.split('\n')).toHaveLength(2);
  expect(lines[0]).toContain('x%0A::error::fake␍%0A%250A');
});

test('the summary is appended to the earlier text of the step', async () => {
  const summary = join(folder, 'summary.md');
  writeFileSync(summary, 'before\n');
  const out = { write: () => {} };
  const options = { redactor: new Redactor(), stdout: out, stderr: out, env: { GITHUB_STEP_SUMMARY: summary } };
  await githubFormat.reporter(options, undefined).onEnd?.(sampleReport());
  expect(readFileSync(summary, 'utf8')).toMatch(/^before\n## ❌ NOT CONFORMANT/);
});

test('Markdown escapes target text', () => {
  const failed = sampleFailure({ actual: '<img src=x> | **bold** @someone ``` [a](b)', counterexample: 'a`b``c' });
  const blocked = sampleResult({ id: 'device.x', outcome: 'blocked', reason: '| a | b |\n| - |' });
  const text = markdownReport(sampleReport([failed, blocked]));
  expect(text).toContain('&lt;img src=x&gt; \\| \\*\\*bold\\*\\* @\u200bsomeone \\`\\`\\`');
  expect(text).toContain('``` a`b``c ```');
  expect(text).toContain('\\| a \\| b \\| \\| - \\|');
});

test('a summary of many failures opens only the first, with a line for each', () => {
  const actual = 'the <first> event has id 7';
  const failing = Array.from({ length: 4 }, (_, index) => sampleFailure({ id: `device.f${index}`, actual }));
  const text = markdownReport(sampleReport(failing));
  expect(text.match(/<details open>/g)).toHaveLength(1);
  expect(text).toContain('<b>device.f3</b> · MUST · section 6.2 · the &lt;first&gt; event has id 7</summary>');
  expect(markdownReport(sampleReport(failing.slice(1))).match(/<details open>/g)).toHaveLength(3);
});

test.each(['x', 'ж', '€'])('a summary full of %s stays within the limit of GitHub', (character) => {
  const long = character.repeat(30_000);
  const failing = Array.from({ length: 60 }, (_, index) => sampleFailure({ id: `device.f${index}`, actual: long }));
  const text = markdownReport(sampleReport(failing));
  expect(Buffer.byteLength(text)).toBeLessThan(1024 * 1024);
  expect(text).toContain('… cut: see the other reports');
  expect(text).not.toContain('\ufffd');
});
