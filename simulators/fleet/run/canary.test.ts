import { createServer } from 'node:net';
import { describe, expect, it } from 'vitest';
import { eventually } from '../../common/testing/eventually.ts';
import { simulatePlatform } from '../../platform/index.ts';
import { PlatformClient } from '../platform/client.ts';
import type { FleetOptions } from './options.ts';
import { useFleets } from './testing/fleets.ts';

const fleets = useFleets();

describe('the canary of a fleet', () => {
  const create = (options: Partial<FleetOptions> = {}) => fleets.create('', { robots: 4, ...options });

  it('reports that keys are too short, and the option for longer ones', async () => {
    await using strict = await simulatePlatform();
    await using fleet = create({ platform: strict });
    const message = await fleet.runCanary([]);
    expect(message).toMatch(/^the canary fleet-\d+-000000 did not come online, and no other robot would: HTTP 400/);
    expect(message).toMatch(/--key-bits 2048 .*--min-key-bits 1024/);
  });

  it('reports the address of the broker, and the option for another', async () => {
    const closed = createServer().listen(0, '127.0.0.1');
    await new Promise((resolve) => closed.once('listening', resolve));
    const address = closed.address();
    const port = typeof address === 'object' && address !== null ? address.port : 0;
    await new Promise((resolve) => closed.close(resolve));
    await using fleet = create({ platform: { ...fleets.platform, mqttUrl: `mqtt://127.0.0.1:${port}` } });
    expect(await fleet.runCanary([])).toMatch(
      new RegExp(`MQTT broker at mqtt://127\\.0\\.0\\.1:${port}: connect ECONNREFUSED.*--mqtt mqtt://HOST:PORT`),
    );
  });

  it('is a robot of the fleet, which starts again with the others, and is not measured', async () => {
    const client = new PlatformClient(fleets.platform);
    try {
      const before = await client.listDevices(100, 0);
      await using fleet = create({ defects: { 0: 'seam-gap' } });
      expect(await fleet.runCanary([])).toBeUndefined();
      expect(await client.listDevices(100, 0)).toBe(before + 1);
      expect(await client.deviceNamed(fleet.layout.robotName(1))).toBeDefined();
      await fleet.prepare();
      expect((await fleet.measured()).metrics).toEqual({});
      await fleet.run({ do: 'ramp', over: '0s' });
      expect(fleet.record.notStarted).toBe(0);
      expect(await client.listDevices(100, 0)).toBe(before + 4);
    } finally {
      await client.close();
    }
  });

  it('does not stop the fleet when only one robot is refused', async () => {
    const namePrefix = 'taken';
    await using first = create({ robots: 1, namePrefix });
    await first.prepare();
    await first.run({ do: 'ramp', over: '0s' });
    await using second = create({ robots: 2, namePrefix, stateDir: `${fleets.stateDir}-other` });
    expect(await second.runCanary([])).toBeUndefined();
    await second.prepare();
    await second.run({ do: 'ramp', over: '0s' });
    expect(second.record.notStarted).toBe(1);
  });

  it('is followed by a progress that says why a robot stays away', async () => {
    await using fleet = create({ platform: { ...fleets.platform, mqttUrl: 'mqtt://127.0.0.1:1' } });
    await fleet.prepare();
    const ramp = fleet.run({ do: 'ramp', over: '0s' });
    await eventually(() => expect(fleet.record.progress.trouble).toMatch(/MQTT broker at mqtt:.*ECONNREFUSED/));
    await fleet.stop('abandon');
    await ramp.catch(() => {});
  });
});
