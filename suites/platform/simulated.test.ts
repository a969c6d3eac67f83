/**
 * The reference platform passes the suite in the newest version. `npm run matrix` has the older ones, and what must not
 * pass.
 */
import { expect, it } from 'vitest';
import { resultsWith, runPlatformSuite } from '../../harness/tools/subjects/run.ts';
import { startWorkspace } from '../../harness/tools/subjects/simulators.ts';

it('the reference platform passes everything in the newest version', async () => {
  await using workspace = await startWorkspace();
  const report = await runPlatformSuite(await workspace.place());
  expect(resultsWith(report, 'fail', 'warn', 'blocked', 'not_applicable')).toEqual([]);
  expect(report.exit_code).toBe(0);
});
