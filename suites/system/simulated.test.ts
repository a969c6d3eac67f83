/** The reference platform with the reference device. `npm run matrix` has older versions, and what must not pass. */
import { expect, it } from 'vitest';
import { resultsWith, runSystemSuite } from '../../harness/tools/subjects/run.ts';
import { startWorkspace } from '../../harness/tools/subjects/simulators.ts';

it('the reference platform with the reference device passes everything in the newest version', async () => {
  await using workspace = await startWorkspace();
  const report = await runSystemSuite(workspace);
  expect(resultsWith(report, 'fail', 'warn', 'blocked', 'not_applicable')).toEqual([]);
  expect(report.exit_code).toBe(0);
});
