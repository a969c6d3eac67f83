/** What is no failure of an agent. */
import { expect, it } from 'vitest';
import { resultsWith, runSystemSuite } from '../../harness/tools/subjects/run.ts';
import { startWorkspace } from '../../harness/tools/subjects/simulators.ts';

/** The suite waits four times as long for an effect. */
const IMPATIENT_MS = 1500;

it('an agent that goes on retrying has not failed', async () => {
  await using workspace = await startWorkspace({ habits: { retriesForEver: true } });
  const report = await runSystemSuite(workspace, { only: ['system.failed'], patienceMs: IMPATIENT_MS });
  expect(resultsWith(report, 'not_applicable').join()).toMatch(/goes on retrying.*error retrying/);
});
