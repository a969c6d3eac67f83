import { expect, it } from 'vitest';
import { leadsFirst } from '../../harness/runner/causes.ts';
import { resultsWith, runPlatformSuite } from '../../harness/tools/subjects/run.ts';
import { startWorkspace } from '../../harness/tools/subjects/simulators.ts';
import { relayTo } from './testing/relay.ts';

it('fails only the envelope of a collection that hangs', async () => {
  await using workspace = await startWorkspace();
  const place = await workspace.place();
  const url = await relayTo(place.url, (request) => request.url?.startsWith('/beta/git_commits') !== true);
  const only = ['*.list.envelope', '*.list.items', '*.list.has-more', '*.list.walk-once', '*.auth.key-required'];
  const report = await runPlatformSuite({ ...place, url }, { only, patienceMs: 3000 });
  expect(resultsWith(report, 'fail')).toEqual([
    expect.stringMatching(/^platform\.list\.envelope fail: .*git_commits.*: no answer within/),
  ]);
  expect(resultsWith(report, 'blocked')).toEqual([]);
});

it('reports one finding for a platform that hangs on every creation', async () => {
  await using workspace = await startWorkspace();
  const place = await workspace.place();
  const url = await relayTo(
    place.url,
    ({ method, url: path = '' }) => method !== 'POST' || !path.startsWith('/beta/config_types'),
  );
  const only = ['platform.schema.slots', 'platform.config-type.slug'];
  const report = await runPlatformSuite({ ...place, url }, { only, patienceMs: 1500 });
  expect(resultsWith(report, 'fail').length).toBeGreaterThan(1);
  expect(leadsFirst(report.checks).map(({ actual }) => actual)).toEqual([
    expect.stringMatching(/^POST .*\/beta\/config_types: no answer within/),
  ]);
});
