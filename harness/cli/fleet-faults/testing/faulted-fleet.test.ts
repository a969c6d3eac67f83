import { expect, it } from 'vitest';
import { type Deployment, disagreements, type RobotFiles } from './faulted-fleet.ts';

const deployment = (id: string, activity_status: string): Deployment => ({
  id,
  activity_status,
  error_status: 'none',
  device_id: 'dvc_1',
});
const records = [deployment('dpl_1', 'archived'), deployment('dpl_2', 'deployed')];
const robot: RobotFiles = {
  deviceId: 'dvc_1',
  deployed: ['dpl_1', 'dpl_2'],
  ids: [1, 2, 3],
  occurredAt: [],
  current: 'dpl_2',
};

it('finds nothing where platform and robot agree', () => {
  expect(disagreements(records, [robot], { each: 2 })).toEqual([]);
  expect(disagreements(records, [{ ...robot, deployed: ['dpl_2'] }], { replaced: 1 })).toEqual([]);
  expect(disagreements([], [{ ...robot, deployed: [], current: undefined }])).toEqual([]);
});

const WRONG: [what: string, deployments: Deployment[], robot: RobotFiles, seen: RegExp, each?: number][] = [
  ['applied one twice', records, { ...robot, deployed: ['dpl_1', 'dpl_1', 'dpl_2'] }, /applied one twice/],
  ['never applied one', records, { ...robot, deployed: ['dpl_2'] }, /applied 1 of 2/],
  ['applied one of another robot', records, { ...robot, deployed: ['dpl_1', 'dpl_9', 'dpl_2'] }, /dpl_9, which/],
  ['still has the one before', records, { ...robot, current: 'dpl_1' }, /current deployment is dpl_1/],
  ['reuses an id', records, { ...robot, ids: [1, 2, 2] }, /do not ascend/],
  ['never reported', [records[0] as Deployment, deployment('dpl_2', 'queued')], robot, /waits for it with dpl_2/],
  ['is unknown to the platform', [], robot, /which the platform does not have/],
  ['has a deployment that the platform has lost', records, robot, /the platform has 2 of its 3 deployments/, 3],
];

it.for(WRONG)('finds a robot that %s', ([, deployments, wrong, seen, each]) => {
  expect(disagreements(deployments, [wrong], { each }).join('\n')).toMatch(seen);
});
