import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { NetworkError } from '../../common/platform-http.ts';
import { BrokerError } from '../../device/uplink/mqtt/broker-error.ts';
import { MqttRefused, NotMqtt } from '../../device/uplink/mqtt/connection.ts';
import { type SimulatedPlatform, simulatePlatform } from '../../platform/index.ts';
import { Trial } from '../host/canary.ts';
import { Waits } from '../host/deadlines.ts';
import { PlatformClient, PlatformFailure } from '../platform/client.ts';
import type { Robot } from '../robot/robot.ts';
import { Fleet, type FleetOptions } from './fleet.ts';

const coded = (code: string): Error => Object.assign(new Error(`connect ${code}`), { code });
const broker = (cause: Error): Error => new BrokerError({ host: 'broker.example', port: 8883, tls: true }, cause);
const never = new Promise<void>(() => {});
/** Only its state is looked at. */
const robot = { state: 'connecting' } as Robot;

describe('a trial', () => {
  it.each([
    ['nobody listens at the broker', broker(coded('ECONNREFUSED')), 'broker'],
    ['all addresses of the broker refuse', broker(new AggregateError([coded('ECONNREFUSED')], '')), 'broker'],
    ['the broker does not take the token', broker(new MqttRefused(5)), 'broker'],
    ['something else than a broker answers', broker(new NotMqtt(new Error('Invalid header'))), 'broker'],
    ['the agent API has no such host', new NetworkError('POST /agent', { cause: coded('ENOTFOUND') }), 'agent API'],
  ])('is without hope when, more than once, %s', async (_what, error, step) => {
    const trial = new Trial(undefined);
    trial.failed(error);
    trial.failed(error);
    expect(await trial.outcomeOf(robot, never, new Waits())).toMatchObject({ end: 'hopeless', step });
  });

  it.each([
    ['the broker is not ready', broker(new MqttRefused(3))],
    ['the connection breaks', broker(coded('ECONNRESET'))],
    ['an answer takes long', new NetworkError('POST /agent: timeout')],
  ])('says nothing against a platform where %s', async (_what, error) => {
    const [trial, waits] = [new Trial(undefined), new Waits()];
    for (let attempt = 0; attempt < 5; attempt += 1) trial.failed(error);
    const outcome = trial.outcomeOf(robot, never, waits);
    waits.end();
    expect(await outcome).toMatchObject({ end: 'slow', message: error.message });
  });

  it.each([429, 500, 503])('says nothing against a platform that answers %i', async (status) => {
    const started = Promise.reject(new PlatformFailure(status, 'busy'));
    expect(await new Trial(undefined).outcomeOf(robot, started, new Waits())).toMatchObject({ end: 'slow', status });
  });

  it('is without hope when the platform refuses the provisioning token, and names no secret', async () => {
    const started = Promise.reject(new PlatformFailure(403, 'POST /provisioning_tokens was answered 403: key s3cret'));
    const platform = { url: '', agentUrl: '', apiKey: 's3cret' };
    const outcome = await new Trial(platform).outcomeOf(robot, started, new Waits());
    expect(outcome).toMatchObject({ end: 'hopeless', step: 'token', status: 403 });
    expect(JSON.stringify(outcome)).not.toContain('s3cret');
  });
});

describe('a fleet before its ramp', () => {
  let platform: SimulatedPlatform;
  let dir: string;
  let fleets = 0;
  beforeAll(async () => {
    dir = mkdtempSync(join(tmpdir(), 'muster-ft-'));
    platform = await simulatePlatform({ minKeyBits: 1024 });
  });
  afterAll(async () => {
    await platform.stop();
    rmSync(dir, { recursive: true, force: true });
  });
  const fleetWith = (options: Partial<FleetOptions> = {}): Fleet => {
    fleets += 1;
    return new Fleet({
      robots: 4,
      platform,
      scenario: { name: 'test', phases: [{ do: 'ramp', over: '0s' }] },
      workers: 0,
      seed: 1,
      keyBits: 1024,
      stateDir: join(dir, 'state'),
      dir,
      namePrefix: `trial-${fleets}`,
      ...options,
    });
  };

  it('says that its keys are too short, and how to make longer ones', async () => {
    await using strict = await simulatePlatform();
    await using fleet = fleetWith({ platform: strict });
    const told = await fleet.tryOut([]);
    expect(told).toMatch(
      /^trial-\d+-000000, tried ahead of the others, did not come online, and no other would: HTTP 400/,
    );
    expect(told).toMatch(/--key-bits 2048 .*--min-key-bits 1024/);
  });

  it('says where it looked for the broker, and how to name another', async () => {
    const closed = createServer().listen(0, '127.0.0.1');
    await new Promise((resolve) => closed.once('listening', resolve));
    const address = closed.address();
    const port = typeof address === 'object' && address !== null ? address.port : 0;
    await new Promise((resolve) => closed.close(resolve));
    await using fleet = fleetWith({ platform: { ...platform, mqttUrl: `mqtt://127.0.0.1:${port}` } });
    expect(await fleet.tryOut([])).toMatch(
      new RegExp(`MQTT broker at mqtt://127\\.0\\.0\\.1:${port}: connect ECONNREFUSED.*--mqtt mqtt://HOST:PORT`),
    );
  });

  it('goes on with the robot it tried, which is one of its own, and measures nothing of the trial', async () => {
    const client = new PlatformClient(platform);
    try {
      const before = await client.listDevices(100, 0);
      await using fleet = fleetWith({ defects: { 0: 'seam-gap' } });
      expect(await fleet.tryOut([])).toBeUndefined();
      expect(await client.listDevices(100, 0)).toBe(before + 1);
      expect(await client.deviceNamed(fleet.robotName(1))).toBeDefined();
      await fleet.prepare();
      expect((await fleet.measured()).metrics).toEqual({});
      await fleet.run({ do: 'ramp', over: '0s' });
      expect(fleet.notStarted).toBe(0);
      expect(await client.listDevices(100, 0)).toBe(before + 4);
    } finally {
      await client.close();
    }
  });

  it('goes on when only one robot is refused', async () => {
    const namePrefix = 'taken';
    await using first = fleetWith({ robots: 1, namePrefix });
    await first.prepare();
    await first.run({ do: 'ramp', over: '0s' });
    await using second = fleetWith({ robots: 2, namePrefix, stateDir: join(dir, 'other') });
    expect(await second.tryOut([])).toBeUndefined();
    await second.prepare();
    await second.run({ do: 'ramp', over: '0s' });
    expect(second.notStarted).toBe(1);
  });

  it('tells of a robot that stays away why it does', async () => {
    await using fleet = fleetWith({ platform: { ...platform, mqttUrl: 'mqtt://127.0.0.1:1' } });
    await fleet.prepare();
    const ramp = fleet.run({ do: 'ramp', over: '0s' });
    await expect.poll(() => fleet.progress.trouble, { timeout: 10_000 }).toMatch(/MQTT broker at mqtt:.*ECONNREFUSED/);
    await fleet.stop('abandon');
    await ramp.catch(() => {});
  });
});
