import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { reportHtml } from '../../simulators/fleet/report/report.ts';
import { resultWith } from '../../simulators/fleet/result/testing/result.ts';
import { LimitReached } from '../client/errors.ts';
import { certificate } from '../reports/certificate/testing/signed.ts';
import { htmlFormat } from '../reports/html.ts';
import { sampleFailure, sampleReport, sampleResult } from '../reports/testing/samples.ts';
import { printed, refusal, useFolder } from './testing/muster.ts';

const place = useFolder();
const left = (name: string, value: unknown): string => {
  writeFileSync(place(name), JSON.stringify(value));
  return place(name);
};

async function again(...words: string[]): Promise<string> {
  const { code, text } = await printed(['report', ...words]);
  expect(code).toBe(0);
  return text;
}

const run = sampleReport([sampleResult(), sampleFailure()]);

it('muster report writes the same HTML and JSON from a JSON report as the run', async () => {
  await again(left('run.json', run), '--report', `html=${place('run.html')}`, `json=${place('again.json')}`);
  expect(readFileSync(place('run.html'), 'utf8')).toBe(htmlFormat.document(run));
  expect(JSON.parse(readFileSync(place('again.json'), 'utf8'))).toEqual(run);
});

it.skipIf(!existsSync('/dev/full'))('muster report writes the other reports when one cannot be written', async () => {
  const page = place('other.html');
  const words = ['report', left('run.json', run), '--report', 'json=/dev/full', `html=${page}`];
  await expect(printed(words)).rejects.toThrow(LimitReached);
  expect(readFileSync(page, 'utf8')).toBe(htmlFormat.document(run));
});

it('muster report prints target and verdict of a failed run, and exits with 0', async () => {
  const text = await again(left('run.json', run));
  expect(text).toMatch(/^check device {2}unix:/);
  expect(text).toMatch(/NOT CONFORMANT[\s\S]*exit 1: a MUST does not hold/);
});

it('muster report writes the page of a fleet from its result', async () => {
  const result = resultWith();
  const file = left('result.json', result);
  await again(file, '--report', `html=${place('fleet.html')}`);
  expect(readFileSync(place('fleet.html'), 'utf8')).toBe(reportHtml(result));
  expect(await again(file)).toContain(result.scenario);
});

it.each([
  [[place('none.json')], /none\.json: cannot be read/],
  [[left('text.json', 'a text')], /neither a report of `muster check` in JSON .* nor the result\.json of a fleet/],
  [[left('c.json', JSON.parse(certificate()))], /`muster verify FILE --key KEY --report html=FILE` shows a cert/],
  [[left('half.json', { checks: [{ id: 'device.x', outcome: 'odd' }] })], /half\.json: is not a report of `muster/],
  [[left('leap.json', { ...run, started_at: '2026-12-31T23:59:60Z' })], /is not a report .*\/started_at/],
  [[left('long.json', { ...run, duration_ms: 1e300 })], /is not a report .*\/duration_ms/],
  [[left('f.json', resultWith()), '--report', 'junit'], /--report junit: accepted are pretty, html, each/],
  [[left('f.json', resultWith()), '--report', 'html='], /the file after = is missing/],
  [[left('fleet-half.json', { robots: 1, verdict: 'valid' })], /is not the result of a fleet/],
])('muster report refuses %j', async (words, message) => {
  expect(await refusal(['report', ...words])).toMatch(message);
});
