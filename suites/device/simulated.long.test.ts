import { expect, it, onTestFinished } from 'vitest';
import { resultsWith, runDeviceSuite } from '../../harness/tools/subjects/run.ts';
import { startRobot } from '../../harness/tools/subjects/simulators.ts';
import { deviceDefect } from '../../simulators/defects/device/index.ts';
import { type DeploymentBehaviour, referenceBehaviour } from '../../simulators/device/behaviour.ts';

/** Checks that follow their own events by id, and must ignore those of others. */
const FOLLOWERS = [
  ...'replay.exclusive replay.live replay.seam replay.complete.sequences'.split(' '),
  ...'types at-least-once concurrent client'.split(' '),
].map((id) => `device.events.${id}`);

it('the reference device passes while others publish events', async () => {
  await using started = await startRobot({ fresh: true });
  const { device, place } = started;
  const foreign = setInterval(() => {
    if (device.running) device.publish(2).catch(() => {});
  }, 10);
  onTestFinished(() => clearInterval(foreign));
  const report = await runDeviceSuite(place, { fast: true, only: FOLLOWERS });
  expect(resultsWith(report, 'fail', 'warn', 'blocked')).toEqual([]);
});

it('finds a stream that ends after its first heartbeat, where one takes six seconds', async () => {
  const behaviour = deviceDefect('closes-idle-streams').behaviour(referenceBehaviour);
  await using started = await startRobot({ fresh: true, behaviour, heartbeatMs: 6000 });
  const report = await runDeviceSuite(started.place, { only: ['device.events.long-lived'] });
  expect(report.checks).toMatchObject([{ outcome: 'fail' }, { id: 'device.events.long-lived.beside' }]);
});

it('an exploration leaves out what repeats a finding, and decides the rest', async () => {
  const behaviour = deviceDefect('frame-payload-only').behaviour(referenceBehaviour);
  await using started = await startRobot({ fresh: true, behaviour });
  const only = [
    'device.deployment.current.oracle',
    'device.events.replay.complete.sequences',
    'device.events.concurrent',
  ];
  const { checks } = await runDeviceSuite(started.place, { fast: true, only, patienceMs: 2000 });
  const [deploying, replaying, repeated] = only.map((id) => checks.find((check) => check.id === id));
  expect([deploying, replaying, repeated].map((check) => check?.outcome)).toEqual(['pass', 'pass', 'fail']);
  expect(replaying?.saw?.['publications']).toBeGreaterThan(500);
  // Each deployment waits a second in vain; without a bound there are more than 60.
  expect(deploying?.saw?.['deployments']).toBeLessThan(40);
});

const announceBy = (name: string) => deviceDefect(name).behaviour(referenceBehaviour).deployments.announce;

function filesRemovedLate(): DeploymentBehaviour['files'] {
  let before: ReturnType<DeploymentBehaviour['files']> = [];
  return (files) => {
    const left = before.filter(({ filepath }) => !files.some((file) => file.filepath === filepath));
    before = files;
    return [...left, ...files];
  };
}

it.for<[string, Partial<DeploymentBehaviour>, RegExp[]]>([
  [
    'a requirement that the agent breaks too',
    {
      announce: (events, change) =>
        announceBy('deployed-told-twice')(announceBy('deployed-for-every-state')(events, change), change),
    },
    [/^device\.events\.deployed-only fail/],
  ],
  ['files removed late, again and again', { files: filesRemovedLate() }, [/^device\.deployment\.removed\S* warn/]],
])('a warning about %s hides no finding and ends no exploration', async ([, deployments, found]) => {
  const behaviour = { ...referenceBehaviour, deployments: { ...referenceBehaviour.deployments, ...deployments } };
  await using started = await startRobot({ fresh: true, behaviour });
  const only = ['device.events.deployed-only', 'device.deployment.removed'];
  const report = await runDeviceSuite(started.place, { fast: true, only });
  const expected = found.map((each) => expect.stringMatching(each));
  expect(resultsWith(report, 'fail', 'warn', 'undecided', 'blocked')).toEqual(expected);
});
