import { expect, it } from 'vitest';
import { runSystemSuite } from '../../harness/tools/subjects/run.ts';
import { behavioursWith, startWorkspace } from '../../harness/tools/subjects/simulators.ts';
import { variant } from '../../simulators/defects/define-platform.ts';
import { systemDefects } from '../../simulators/defects/platform/index.ts';

/** Patience for an answer; the suite waits four times as long for an effect. */
const IMPATIENT_MS = 3000;

it('a device without news of a deployment is reconnected, and passes other checks', async () => {
  const untold = systemDefects.filter(({ name }) => name === 'sync-not-requested');
  await using workspace = await startWorkspace(behavioursWith({ platform: untold }));
  const only = ['system.deploy.told', 'system.newer', 'system.failed'];
  const { checks } = await runSystemSuite(workspace, { only, patienceMs: IMPATIENT_MS });
  const ends = checks.map(({ id, outcome, allowed_for = [] }) => `${id} ${outcome} ${allowed_for.join()}`);
  const passes = (id: string) => `${id} pass deployment-untold`;
  expect(ends).toEqual(['system.deploy.told fail ', passes('system.newer'), passes('system.failed')]);
});

it('a deployment that was replaced in the queue may end in another state than archived', async () => {
  const drifting = variant('queued-drifts', 'Lets a queued deployment drift once it is replaced.', ({ retired }) => ({
    retired: (activity) => (activity === 'queued' ? 'drifted' : retired(activity)),
  }));
  await using workspace = await startWorkspace(behavioursWith({ platform: [drifting] }));
  const only = ['system.offline.newest', 'system.agreement'];
  const { checks } = await runSystemSuite(workspace, { only, patienceMs: IMPATIENT_MS });
  expect(checks.map(({ outcome }) => outcome)).toEqual(['pass', 'pass']);
});

const NO_NAME = 'no such name: a store answered 404 to it';

it.for([
  [422, 'not_applicable'],
  [500, 'blocked'],
] as const)('a platform may refuse the file name that no device can write, with %i: %s', async ([status, outcome]) => {
  const refusing = variant('refuses-long-names', 'Refuses a file name above 255 bytes.', ({ bodyProblems, error }) => ({
    bodyProblems: (operation, value, check) =>
      JSON.stringify(value).includes('too-long-')
        ? [{ path: '', message: NO_NAME }]
        : bodyProblems(operation, value, check),
    error: (facts) => error(JSON.stringify(facts).includes(NO_NAME) ? { ...facts, status } : facts),
  }));
  await using workspace = await startWorkspace(behavioursWith({ platform: [refusing] }));
  const { checks } = await runSystemSuite(workspace, { only: ['system.failed'], patienceMs: IMPATIENT_MS });
  expect(checks).toMatchObject([{ outcome, reason: expect.stringContaining(NO_NAME) }]);
});
