/** The reference platform passes the suite, and defects are caught. The long tests run older versions and variants. */
import { describe, expect, it } from 'vitest';
import { platformDefects } from '../../simulators/defects/platform/index.ts';
import { referenceBehaviour } from '../../simulators/platform/index.ts';
import { lines, runPlatformSuite } from './testing/run.ts';
import { simulated } from './testing/simulated.ts';

/** `npm run matrix` runs every defect; a sample is enough here. */
const EVERY_NTH_DEFECT = 8;

describe('the reference platform', () => {
  it('passes everything in the newest version', async () => {
    await using platform = await simulated();
    const report = await runPlatformSuite(platform.target);
    expect(lines(report, ['fail', 'warn', 'blocked', 'not_applicable'])).toEqual([]);
    expect(report.exit_code).toBe(0);
  });
});

describe('a platform that', () => {
  const sample = platformDefects.filter((_, index) => index % EVERY_NTH_DEFECT === 0);

  it.for(sample)('has the defect $name is caught by what it breaks', async (defect) => {
    await using platform = await simulated(defect.behaviour(referenceBehaviour));
    const report = await runPlatformSuite(platform.target, { only: defect.breaks });
    expect(lines(report, ['fail', 'warn'])).not.toEqual([]);
  });
});
