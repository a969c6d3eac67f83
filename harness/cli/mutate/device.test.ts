import { expect, test } from 'vitest';
import { send } from '../../../simulators/common/testing/requests.ts';
import { EventStream } from '../../../simulators/device/testing/robot.ts';
import { deviceSubjects } from './device.ts';
import { VARIABLES } from './subjects.ts';

test('a device begins with the six events that fixtures/mutate/README.md names', async () => {
  const setting = { dialect: 'spec', heartbeatMs: 1000, seed: 7 } as const;
  await using server = await deviceSubjects(setting, new Map()).faithful(new AbortController().signal);
  const { [VARIABLES.socket]: socket = '', [VARIABLES.controlSocket]: control = '' } = server.env;
  const stream = await EventStream.open(socket, '?after=0');
  const deployed = [1, 3, 5, 6].map((id) => ({ id, type: 'deployment.deployed' }));
  const removed = [2, 4].map((id) => ({ id, type: 'deployment.removed' }));
  const told = (await stream.count(6)).map(({ id, type }) => ({ id, type }));
  stream.close();
  expect(told).toEqual([...deployed, ...removed].toSorted((a, b) => a.id - b.id));
  const published = await send({ socketPath: control, method: 'POST', path: '/events' }, { count: 1 });
  expect(published.json).toMatchObject({ first_id: 7 });
});
