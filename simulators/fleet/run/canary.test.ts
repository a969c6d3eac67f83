import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { NetworkError } from '../../common/platform-http.ts';
import { BrokerError, MqttRefused, NotMqtt } from '../../device/uplink/mqtt/connection.ts';
import { type SimulatedPlatform, simulatePlatform } from '../../platform/index.ts';
import { Canary } from '../host/canary.ts';
import { Deadlines } from '../host/deadlines.ts';
import { PlatformClient, PlatformFailure } from '../platform/client.ts';
import type { Robot } from '../robot/robot.ts';
import { Fleet } from './fleet.ts';
import type { FleetOptions } from './options.ts';

const coded = (code: string): Error => Object.assign(new Error(`connect ${code}`), { code });
const broker = (cause: Error): Error => new BrokerError({ host: 'broker.example', port: 8883, tls: true }, cause);
const never = new Promise<void>(() => {});
/** Only its state is looked at. */
const robot = { state: 'connecting' } as Robot;

describe('a canary', () => {
  it.each([
    ['nobody listens at the broker', broker(coded('ECONNREFUSED')), 'broker'],
    ['all addresses of the broker refuse', broker(new AggregateError([coded('ECONNREFUSED')], '')), 'broker'],
    ['the broker does not take the token', broker(new MqttRefused(5)), 'broker'],
    ['something else than a broker answers', broker(new NotMqtt(new Error('Invalid header'))), 'broker'],
    ['the agent API has no such host', new NetworkError('POST /agent', { cause: coded('ENOTFOUND') }), 'agent API'],
  ])('is fatal when, more than once, %s', async (_what, error, step) => {
    const canary = new Canary(undefined);
    canary.failed(error);
    canary.failed(error);
    expect(await canary.outcomeOf(robot, never, new Deadlines())).toMatchObject({ end: 'fatal', step });
  });

  it.each([
    ['the broker is not ready', broker(new MqttRefused(3))],
    ['the connection breaks', broker(coded('ECONNRESET'))],
    ['an answer takes long', new NetworkError('POST /agent: timeout')],
  ])('says nothing against a platform where %s', async (_what, error) => {
    const [canary, deadlines] = [new Canary(undefined), new Deadlines()];
    for (let attempt = 0; attempt < 5; attempt += 1) canary.failed(error);
    const outcome = canary.outcomeOf(robot, never, deadlines);
    deadlines.end();
    expect(await outcome).toMatchObject({ end: 'slow', message: error.message });
  });

  it.each([429, 500, 503])('says nothing against a platform that answers %i', async (status) => {
    const started = Promise.reject(new PlatformFailure(status, 'busy'));
    expect(await new Canary(undefined).outcomeOf(robot, started, new Deadlines())).toMatchObject({
      end: 'slow',
      status,
    });
  });

  it('is fatal when the platform refuses the provisioning token, and names no secret', async () => {
    const started = Promise.reject(new PlatformFailure(403, 'POST /provisioning_tokens was answered 403: key s3cret'));
    const platform = { url: '', agentUrl: '', apiKey: 's3cret' };
    const outcome = await new Canary(platform).outcomeOf(robot, started, new Deadlines());
    expect(outcome).toMatchObject({ end: 'fatal', step: 'token', status: 403 });
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
      namePrefix: `canary-${fleets}`,
      ...options,
    });
  };

  it('says that its keys are too short, and how to make longer ones', async () => {
    await using strict = await simulatePlatform();
    await using fleet = fleetWith({ platform: strict });
    const message = await fleet.runCanary([]);
    expect(message).toMatch(/^the canary canary-\d+-000000 did not come online, and no other robot would: HTTP 400/);
    expect(message).toMatch(/--key-bits 2048 .*--min-key-bits 1024/);
  });

  it('says where it looked for the broker, and how to name another', async () => {
    const closed = createServer().listen(0, '127.0.0.1');
    await new Promise((resolve) => closed.once('listening', resolve));
    const address = closed.address();
    const port = typeof address === 'object' && address !== null ? address.port : 0;
    await new Promise((resolve) => closed.close(resolve));
    await using fleet = fleetWith({ platform: { ...platform, mqttUrl: `mqtt://127.0.0.1:${port}` } });
    expect(await fleet.runCanary([])).toMatch(
      new RegExp(`MQTT broker at mqtt://127\\.0\\.0\\.1:${port}: connect ECONNREFUSED.*--mqtt mqtt://HOST:PORT`),
    );
  });

  it('goes on with the robot it tried, which is one of its own, and measures nothing of the trial', async () => {
    const client = new PlatformClient(platform);
    try {
      const before = await client.listDevices(100, 0);
      await using fleet = fleetWith({ defects: { 0: 'seam-gap' } });
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

  it('goes on when only one robot is refused', async () => {
    const namePrefix = 'taken';
    await using first = fleetWith({ robots: 1, namePrefix });
    await first.prepare();
    await first.run({ do: 'ramp', over: '0s' });
    await using second = fleetWith({ robots: 2, namePrefix, stateDir: join(dir, 'other') });
    expect(await second.runCanary([])).toBeUndefined();
    await second.prepare();
    await second.run({ do: 'ramp', over: '0s' });
    expect(second.record.notStarted).toBe(1);
  });

  it('tells of a robot that stays away why it does', async () => {
    await using fleet = fleetWith({ platform: { ...platform, mqttUrl: 'mqtt://127.0.0.1:1' } });
    await fleet.prepare();
    const ramp = fleet.run({ do: 'ramp', over: '0s' });
    await expect
      .poll(() => fleet.record.progress.trouble, { timeout: 10_000 })
      .toMatch(/MQTT broker at mqtt:.*ECONNREFUSED/);
    await fleet.stop('abandon');
    await ramp.catch(() => {});
  });
});
