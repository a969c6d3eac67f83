/** The suite against Muster's own platform with one of its own devices. The long tests have older versions, and defects. */
import { describe, expect, it } from 'vitest';
import { nullServer } from '../../simulators/defects/null.ts';
import { simulatePair } from '../../simulators/platform/testing/pair.ts';
import { lines } from '../platform/testing/run.ts';
import { runSystemSuite } from './testing/run.ts';

describe('the reference platform with the reference device', () => {
  it('passes everything in the newest version', async () => {
    await using pair = await simulatePair();
    const report = await runSystemSuite(pair);
    expect(lines(report, ['fail', 'warn', 'blocked', 'not_applicable'])).toEqual([]);
    expect(report.exit_code).toBe(0);
  });
});

/** The suite waits four times as long for an effect. */
const IMPATIENT_MS = 1500;

describe('a platform that', () => {
  it('answers only 404 passes no MUST, even with the reference device', async () => {
    await using pair = await simulatePair();
    await using server = await nullServer('not-found', { port: 0 });
    const report = await runSystemSuite(
      { ...pair, platformUrl: `${server.address}/beta` },
      { patienceMs: IMPATIENT_MS },
    );
    expect(lines(report, ['pass', 'not_applicable'])).toEqual([]);
    expect(report.exit_code).toBe(1);
  });
});
