import { expect, it } from 'vitest';
import { NEWEST_VERSION } from '../harness/contract/versions.ts';
import type { Declaration } from '../harness/runner/declarations.ts';
import type { Report } from '../harness/runner/types.ts';
import { referenceWith } from '../harness/tools/subjects/clients.ts';
import { runClientSuite, runDeviceSuite, runPlatformSuite } from '../harness/tools/subjects/run.ts';
import { startRobot, startWorkspace } from '../harness/tools/subjects/simulators.ts';
import { referenceBehaviour as referenceClient } from '../simulators/client/reference.ts';
import { platformDefect } from '../simulators/defects/platform/index.ts';
import { type DeviceBehaviour, referenceBehaviour } from '../simulators/device/index.ts';
import { referenceBehaviour as reference } from '../simulators/platform/index.ts';

const RETAIN = 40;

async function checked(
  only: string[],
  change: (reference: DeviceBehaviour) => Partial<DeviceBehaviour> = () => ({}),
  heartbeatMs = 1000,
): Promise<Report> {
  const behaviour = { ...referenceBehaviour, ...change(referenceBehaviour) };
  await using robot = await startRobot({ fresh: true, heartbeatMs, retain: RETAIN, behaviour });
  return await runDeviceSuite(robot.place, { only });
}

const named = ({ declarations = [] }: Report, name: string): Declaration | undefined =>
  declarations.find((one) => one.name === name);

it('reports a log that keeps more events than it declares', async () => {
  const report = await checked(['device.log.compaction', 'device.log.bounded'], ({ log }) => ({
    log: { ...log, keepFrom: () => 0 },
  }));
  expect(named(report, 'retention')).toMatchObject({ declared: `at most ${RETAIN} events`, holds: false });
  expect(named(report, 'capability compact')).toMatchObject({ holds: true });
  expect(report.exit_code).not.toBe(0);
});

it('reports heartbeats that come far more often than declared', async () => {
  const often = ({ stream }: DeviceBehaviour) => ({ stream: { ...stream, heartbeatMs: () => 20 } });
  // Declares 4 s, because pauses of a busy machine look like a shorter heartbeat interval.
  const report = await checked(['*.events.heartbeat'], often, 4000);
  expect(report.summary.fail).toBe(0);
  expect(named(report, 'heartbeat')).toMatchObject({ declared: 'every 4 s', holds: false });
  expect(report.exit_code).toBe(2);
});

it('reports nothing where a device matches its declarations', async () => {
  const only = ['device.log.jsonl', 'device.log.compaction', 'device.log.restart', 'device.events.heartbeat'];
  const report = await checked(only);
  expect(report.declarations?.filter(({ holds }) => !holds)).toEqual([]);
  expect(report.declarations?.map(({ name }) => name)).toEqual([
    ...['capability compact', 'capability drive', 'capability restart', 'event_log', 'heartbeat', 'retention'],
  ]);
  expect(report.exit_code).toBe(0);
});

it('reports a version that a platform declares and refuses', async () => {
  await using workspace = await startWorkspace({ platform: platformDefect('version-refused').behaviour(reference) });
  const only = ['platform.version.supported'];
  const refusing = await runPlatformSuite(await workspace.place(), { only });
  expect(named(refusing, 'version 2026-03-09.tetons')).toMatchObject({ declared: 'accepted', holds: false });
  expect(named(refusing, 'version 2026-05-06.rainier')).toMatchObject({ holds: true });
});

it('reports a client that repeats events, and one with another version header', async () => {
  const follow = { ...referenceClient.follow, deduplicates: false };
  const twice = referenceWith(() => ({ ...referenceClient, follow }));
  const doubling = await runClientSuite(twice, { only: ['client.delivery.duplicates'] });
  expect(named(doubling, 'capability deduplicates')).toMatchObject({
    observed: expect.stringMatching(/^events [\d, ]+ dispatched twice$/),
    holds: false,
  });
  const access = (): Record<string, string> => ({ 'Miru-Version': NEWEST_VERSION });
  const calls = { ...referenceClient.calls, access };
  const miru = referenceWith(() => ({ ...referenceClient, calls }));
  const foreign = await runClientSuite(miru, { only: ['client.version.ping'] });
  const [declared, observed] = ['the version in Service-Version', 'Miru-Version (add --dialect miru)'];
  expect(named(foreign, 'dialect')).toEqual({ name: 'dialect', declared, observed, holds: false });
});
