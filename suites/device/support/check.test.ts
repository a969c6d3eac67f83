import { expect, it } from 'vitest';
import { Session } from '../../../harness/runner/session.ts';
import { Blocked } from '../../../harness/runner/violation.ts';
import { noControl } from '../../../harness/targets/control/control.ts';
import { layered } from '../../../harness/targets/control/layers.ts';
import { pacedControl } from './check.ts';

function pacedDevice(leftMs: number) {
  const session = new Session();
  const batches: number[] = [];
  let published = 0;
  const publish = async (count: number) => {
    batches.push(count);
    published += count;
    return { first_id: published - count + 1, last_id: published };
  };
  const control = pacedControl({
    control: layered(noControl, { call: (call) => (call.name === 'publish' ? publish(call.count) : undefined) }),
    session,
    runTimeLeftMs: () => leftMs,
    saw: () => {},
    blocked: (reason) => {
      throw new Blocked(reason);
    },
  });
  return { control, session, batches };
}

it('a paced control measures each event of a batch, and refuses a batch that takes too long', async () => {
  const { control, session, batches } = pacedDevice(1000);
  await control.publish(100);
  expect(session.typicalMs('publish')).toBeLessThan(1000);
  for (let round = 0; round < 5; round += 1) session.took('publish', 1000, 10);
  await expect(control.publish(2)).rejects.toThrow('2 events at 1 s each take 2 s, and ');
  await expect(control.publish(2000)).rejects.toThrow('2,000 events at 1 s each take 2000 s, and ');
  expect(batches).toEqual([100]);
});

it('a paced control tries a small batch before it refuses a large one after slow events', async () => {
  const { control, session, batches } = pacedDevice(560_000);
  for (const ms of [2, 600, 2, 2, 600, 2]) session.took('publish', ms);
  expect(await control.publish(2001)).toEqual({ first_id: 1, last_id: 2001 });
  expect(batches).toEqual([10, 1991]);
  for (const ms of [58_000, 600, 58_000]) session.took('publish', ms);
  await control.publish(2);
  session.took('publish', 600, 10);
  await expect(control.publish(2001)).rejects.toThrow('2,001 events at 0.6 s each take ');
  expect(batches).toEqual([10, 1991, 2]);
});
