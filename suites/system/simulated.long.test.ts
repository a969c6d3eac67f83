/** Agents and platforms beside those of `npm run matrix`: no failure, and a fault that hides none. */
import { expect, it } from 'vitest';
import { resultsWith, runSystemSuite } from '../../harness/tools/subjects/run.ts';
import { behavioursWith, startWorkspace } from '../../harness/tools/subjects/simulators.ts';
import { systemDefects } from '../../simulators/defects/platform/index.ts';

/** The suite waits four times as long for an effect. */
const IMPATIENT_MS = 3000;

it('an agent that goes on retrying has not failed', async () => {
  await using workspace = await startWorkspace({ habits: { retriesForEver: true } });
  const report = await runSystemSuite(workspace, { only: ['system.failed'], patienceMs: IMPATIENT_MS });
  expect(resultsWith(report, 'not_applicable').join()).toMatch(/goes on retrying.*error retrying/);
});

it('a device that hears of no deployment is connected anew, and shown to do the rest', async () => {
  const untold = systemDefects.filter(({ name }) => name === 'sync-not-requested');
  await using workspace = await startWorkspace(behavioursWith({ platform: untold }));
  const only = ['system.deploy.told', 'system.newer', 'system.failed'];
  const { checks } = await runSystemSuite(workspace, { only, patienceMs: IMPATIENT_MS });
  expect(checks.map(({ id, outcome, allowed_for }) => [id, outcome, allowed_for])).toEqual([
    ['system.deploy.told', 'fail', undefined],
    ['system.newer', 'pass', ['deployment-untold']],
    ['system.failed', 'pass', ['deployment-untold']],
  ]);
});
