import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { resultWith } from '../../simulators/fleet/result/testing/result.ts';
import { certificateIssuer } from '../reports/certificate/certificate.ts';
import { generateKey } from '../reports/certificate/envelope.ts';
import { sampleFailure, sampleReport, sampleResult } from '../reports/testing/samples.ts';
import type { CheckResult } from '../runner/types.ts';
import { printed, refusal, useFolder } from './testing/muster.ts';

const place = useFolder();
const METRIC = { count: 1, p50: 1, p90: 1, p95: 1, p99: 1, p999: 1, max: 1, unit: 'ms' } as const;

const kept = (name: string, checks: CheckResult[], startedAt = '2026-11-20T00:00:00.000Z'): string => {
  writeFileSync(place(name), JSON.stringify({ ...sampleReport(checks, { complete: true }), started_at: startedAt }));
  return place(name);
};

async function compared(...words: string[]): Promise<[code: number, text: string]> {
  const { code, text } = await printed(['compare', ...words]);
  return [code, text];
}

const id = 'device.events.replay.exclusive';
const good = kept('good.json', [sampleResult(), sampleResult({ id })]);
const bad = kept('bad.json', [sampleResult(), sampleFailure({ id })], '2026-11-21T00:00:00.000Z');

it('muster compare writes a page and JSON', async () => {
  await compared(good, bad, '--report', `html=${place('c.html')}`, `json=${place('c.json')}`);
  expect(readFileSync(place('c.html'), 'utf8')).toContain(id);
  expect(JSON.parse(readFileSync(place('c.json'), 'utf8'))).toMatchObject({
    verdict: 'COMPARED',
    exit_code: 0,
    share: '2 of 2 checks decided by both',
    entries: [{ label: 'good.json' }, { label: 'bad.json' }],
    changes: { regressions: [id], behaviour: [] },
    steps: [{ from: 'good.json', to: 'bad.json', checks: 2, decided_by_both: 2, regressions: [id] }],
    requirements: [{ id, findings: [null, { actual: 'the first event has id 7' }] }, {}],
  });
});

it('muster compare escapes control characters in its JSON', async () => {
  const raw = kept('raw.json', [sampleResult(), sampleFailure({ id, actual: 'event \u009b2J' })]);
  const [, text] = await compared(good, raw, '--report', 'json');
  expect(text).toContain('event \\u009b2J');
});

it('muster compare compares the reports of a folder in order of time', async () => {
  mkdirSync(place('history'));
  kept('history/b.json', [sampleResult()], '2026-11-01T00:00:00.000Z');
  kept('history/a.json', [sampleFailure({ id: 'device.events.frame' })], '2026-11-02T00:00:00.000Z');
  writeFileSync(place('history/notes.json'), '{"mine": true}');
  const [code, text] = await compared(place('history'), '--gate', 'regressions');
  expect(code).toBe(1);
  expect(text).toContain('2 reports');
});

it('muster compare compares a certificate with a report, choices included', async () => {
  const key = place('key.pem');
  generateKey(key);
  const observed = [{ name: 'body of a 410', value: 'empty' }];
  certificateIssuer(place('c.cert.json'), key).issue(sampleReport([sampleResult({ observed })], { complete: true }));
  const other = kept('other.json', [sampleResult({ observed: [{ name: 'body of a 410', value: 'text' }] })]);
  const [code, text] = await compared(place('c.cert.json'), other, '--gate', 'behaviour');
  expect([code, text]).toEqual([1, expect.stringMatching(/\(certificate\)[\s\S]*body of a 410[\s\S]*CHANGED/)]);
});

it.each([
  [[good], /only one report: give two or more/],
  [[good, place('none.json')], /none\.json: cannot be read/],
  [[good, good, '--report', 'junit'], /--report junit: accepted are pretty, html, json/],
  [[good, place(), '--report', 'html='], /the file after = is missing/],
])('muster compare refuses %j', async (words, message) => {
  expect(await refusal(['compare', ...words])).toMatch(message);
});

describe('muster compare with results of a fleet', () => {
  const result = (name: string, change: Parameters<typeof resultWith>[0]): string => {
    writeFileSync(place(name), JSON.stringify(resultWith({ metrics: { 'ping.ms': METRIC }, ...change })));
    return place(name);
  };
  const usual = result('usual.json', { counters: { 'http.attempts': 1000, 'http.errors': 2 } });
  const failing = result('failing.json', { counters: { 'http.attempts': 1000, 'http.errors': 200 } });
  const saturated = result('saturated.json', { verdict: 'invalid' });
  const synced = result('synced.json', {
    counters: { 'http.attempts': 1000, 'http.errors': 2, 'sync.attempts': 10, 'sync.errors': 0 },
  });
  const suspect = result('suspect.json', { verdict: 'suspect', verdict_reasons: ['late'] });

  it('exits with 1 for worse and 2 for invalid results with --gate regressions', async () => {
    expect(await compared(usual, failing)).toEqual([
      0,
      expect.stringMatching(/http\.errors\.rate +0\.2 % +20 % +✗ worse/),
    ]);
    for (const [before, now, code, said] of [
      [usual, failing, 1, '1 WORSE'],
      [failing, usual, 0, 'NOTHING WORSE'],
      [synced, failing, 1, '1 WORSE'],
      [synced, usual, 2, 'not measured any more'],
      [usual, saturated, 2, 'NOT COMPARABLE'],
      [suspect, usual, 0, '\n! the load generator of the first run was suspect: late\n'],
    ] as const)
      expect(await compared(before, now, '--gate', 'regressions')).toEqual([code, expect.stringContaining(said)]);
  });

  it('writes JSON, and names the accepted files and formats', async () => {
    const [, text] = await compared(usual, failing, '--report', 'json');
    expect(JSON.parse(text)).toMatchObject({ files: [usual, failing], exit_code: 0, reasons: [] });
    expect(await refusal(['compare', usual])).toContain('one result of a fleet; accepted: two');
    const html = await refusal(['compare', usual, failing, '--report', 'html=x.html']);
    expect(html).toContain('accepted are pretty, json');
    expect(await refusal(['compare', usual, kept('report.json', [sampleResult()])])).toContain('report.json');
  });
});
