import { expect, it } from 'vitest';
import type { DeploymentPort, Uplink, UplinkStatus } from '../../device/ports.ts';
import { RobotUplink, type UplinkListener } from './uplinks.ts';

it('a killed robot leaves its uplink without a goodbye, and nothing restores it', async () => {
  const told: string[] = [];
  const make = (): Uplink => {
    const uplink = { status: 'online' as UplinkStatus };
    const ends = (how: string) => (): Promise<void> => {
      told.push(how);
      uplink.status = 'stopped';
      return Promise.resolve();
    };
    told.push('made');
    return Object.assign(uplink, { stop: ends('stop'), abandon: ends('abandon') }) as unknown as Uplink;
  };
  const identity = { name: 'robot-1', directory: '/nowhere' };
  const uplink = new RobotUplink(make, {} as DeploymentPort, identity, {} as UplinkListener);
  await uplink.abandon();
  await uplink.restore();
  expect(told).toEqual(['made', 'abandon', 'stop']);
});
