import { describe, expect, it } from 'vitest';
import { NetworkError } from '../../common/platform-http.ts';
import { BrokerError, MqttRefused, NotMqtt } from '../../device/uplink/mqtt.ts';
import { PlatformFailure } from '../platform/failure.ts';
import type { Robot } from '../robot/robot.ts';
import { Deadlines } from '../schedule/scheduler.ts';
import { Canary } from './canary.ts';

const coded = (code: string): Error => Object.assign(new Error(`connect ${code}`), { code });
const broker = (cause: Error): Error => new BrokerError({ host: 'broker.example', port: 8883, tls: true }, cause);
const never = new Promise<void>(() => {});
/** The canary reads only its state. */
const robot = { state: 'connecting' } as Robot;

describe('a canary', () => {
  it.each([
    ['nobody listens at the broker', broker(coded('ECONNREFUSED')), 'broker'],
    ['all addresses of the broker refuse', broker(new AggregateError([coded('ECONNREFUSED')], '')), 'broker'],
    ['the broker rejects the token', broker(new MqttRefused(5)), 'broker'],
    ['the server is not a broker', broker(new NotMqtt(new Error('Invalid header'))), 'broker'],
    ['the agent API has no such host', new NetworkError('POST /agent', { cause: coded('ENOTFOUND') }), 'agent API'],
  ])('is fatal when, repeatedly, %s', async (_what, error, step) => {
    const canary = new Canary(undefined);
    canary.failed(error);
    canary.failed(error);
    expect(await canary.outcomeOf(robot, never, new Deadlines())).toMatchObject({ end: 'fatal', step });
  });

  it.each([
    ['the broker is not ready', broker(new MqttRefused(3))],
    ['the connection breaks', broker(coded('ECONNRESET'))],
    ['an answer takes long', new NetworkError('POST /agent: timeout')],
  ])('is slow when %s', async (_what, error) => {
    const [canary, deadlines] = [new Canary(undefined), new Deadlines()];
    for (let attempt = 0; attempt < 5; attempt += 1) canary.failed(error);
    const outcome = canary.outcomeOf(robot, never, deadlines);
    deadlines.end();
    expect(await outcome).toMatchObject({ end: 'slow', message: error.message });
  });

  it.each([429, 500, 503])('is slow when the platform answers %i', async (status) => {
    const started = Promise.reject(new PlatformFailure(status, 'busy'));
    expect(await new Canary(undefined).outcomeOf(robot, started, new Deadlines())).toMatchObject({
      end: 'slow',
      status,
    });
  });

  it('is fatal when the platform refuses a provisioning token, and hides the API key', async () => {
    const started = Promise.reject(new PlatformFailure(403, 'POST /provisioning_tokens was answered 403: key s3cret'));
    const platform = { url: '', agentUrl: '', apiKey: 's3cret' };
    const outcome = await new Canary(platform).outcomeOf(robot, started, new Deadlines());
    expect(outcome).toMatchObject({ end: 'fatal', step: 'token', status: 403 });
    expect(JSON.stringify(outcome)).not.toContain('s3cret');
  });
});
