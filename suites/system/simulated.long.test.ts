/** The reference platform and device pass the suite in older versions. */
import { describe, expect, it } from 'vitest';
import { NEWEST_VERSION, SUPPORTED_VERSIONS } from '../../harness/contract/versions.ts';
import { simulatePair } from '../../simulators/platform/testing/pair.ts';
import { lines } from '../platform/testing/run.ts';
import { runSystemSuite } from './testing/run.ts';

const OLDER = SUPPORTED_VERSIONS.filter((version) => version !== NEWEST_VERSION);

describe('the reference platform with the reference device', () => {
  it.for(OLDER)('passes everything in %s', async (apiVersion) => {
    await using pair = await simulatePair();
    const report = await runSystemSuite({ ...pair, apiVersion });
    expect(lines(report, ['fail', 'warn', 'blocked', 'not_applicable'])).toEqual([]);
    expect(report.exit_code).toBe(0);
  });
});
