import { expect, it } from 'vitest';
import { ApiError, NetworkError } from '../../common/platform-http.ts';
import { BrokerError, MqttRefused, NotMqtt } from '../../device/uplink/mqtt.ts';
import { PlatformFailure } from '../platform/client.ts';
import type { Robot } from '../robot/robot.ts';
import { Deadlines } from '../schedule/schedule.ts';
import { Canary } from './robot-worker.ts';

const coded = (code: string): Error => Object.assign(new Error(`connect ${code}`), { code });
const broker = (cause: Error): Error => new BrokerError({ host: 'broker.example', port: 8883, tls: true }, cause);
const never = new Promise<void>(() => {});
const robot = { state: 'connecting', name: 'robot-000000' } as Robot;
const platform = { url: '', agentUrl: 'http://robots', apiKey: 's3cret' };
const PROVISION = 'POST /devices/provision';
const config = { platform: undefined, keyBits: 2048 };

const BROKER_REMEDY =
  '; --mqtt mqtt://HOST:PORT sets the address of the broker (`muster simulate platform` prints it as "mqtt" when ' +
  'it is ready)';

it.each([
  ['nobody listens at the broker', broker(coded('ECONNREFUSED')), BROKER_REMEDY],
  ['all addresses of the broker refuse', broker(new AggregateError([coded('ECONNREFUSED')], '')), BROKER_REMEDY],
  ['the broker rejects the token', broker(new MqttRefused(5)), BROKER_REMEDY],
  ['the server is not a broker', broker(new NotMqtt(new Error('Invalid header'))), BROKER_REMEDY],
  ['the certificate of the broker has expired', broker(coded('CERT_HAS_EXPIRED')), BROKER_REMEDY],
  ['nobody trusts its certificate', broker(coded('UNABLE_TO_VERIFY_LEAF_SIGNATURE')), BROKER_REMEDY],
  ['the agent API has no such host', new NetworkError('POST /agent', { cause: coded('ENOTFOUND') }), ''],
])('a canary is fatal when, repeatedly, %s', async (_what, error, remedy) => {
  const canary = new Canary(config);
  canary.failed(error);
  canary.failed(error);
  expect(await canary.outcomeOf(robot, never, new Deadlines())).toEqual({
    end: 'fatal',
    message: `the canary robot-000000 did not come online, and no other robot would: ${error.message}${remedy}`,
  });
});

it.each([
  ['the broker is not ready', broker(new MqttRefused(3)), BROKER_REMEDY],
  ['the connection breaks', broker(coded('ECONNRESET')), BROKER_REMEDY],
  ['an answer takes long', new NetworkError('POST /agent: timeout'), ''],
  ['it knows no reason', undefined, ''],
])('a canary is slow when %s', async (_what, error, remedy) => {
  const [canary, deadlines] = [new Canary(config), new Deadlines()];
  for (let attempt = 0; error !== undefined && attempt < 5; attempt += 1) canary.failed(error);
  const outcome = canary.outcomeOf(robot, never, deadlines);
  deadlines.end();
  const why = error === undefined ? '' : `: ${error.message}`;
  const message = `the canary robot-000000 is not online yet${why}${remedy}; the fleet starts anyway`;
  expect(await outcome).toEqual({ end: 'slow', message });
});

it.each([429, 500, 503])('a canary is slow when the platform answers %i', async (status) => {
  const started = Promise.reject(new PlatformFailure(status, 'busy'));
  expect(await new Canary(config).outcomeOf(robot, started, new Deadlines())).toMatchObject({ end: 'slow' });
});

it('a canary is fatal when the platform refuses a provisioning token, and hides the API key', async () => {
  const words = 'POST /provisioning_tokens was answered 403: \u001b[2J key s3cret';
  const started = Promise.reject(new PlatformFailure(403, words));
  const outcome = await new Canary({ ...config, platform }).outcomeOf(robot, started, new Deadlines());
  expect(outcome).toMatchObject({ end: 'fatal', message: expect.stringContaining('needs the scope') });
  expect(JSON.stringify(outcome)).not.toContain('s3cret');
  expect(outcome).toMatchObject({ message: expect.not.stringContaining('\u001b') });
});

it.each<[string, Error, number, string]>([
  ['there is no agent API', new ApiError(404, 'not_found', PROVISION), 2048, '--agent-url sets the base .*robots'],
  ['nobody takes the request', new NetworkError(PROVISION), 1024, '--agent-url sets the base URL .*robots'],
  ['the key is too short', new ApiError(400, 'invalid', PROVISION), 1024, '1024-bit keys: use --key-bits 2048'],
  ['the name is taken', new ApiError(409, 'device_provisioned', PROVISION), 1024, '; a device .*--name-pre'],
  ['the token is not taken', new ApiError(401, 'invalid_token', PROVISION), 1024, `${PROVISION}$`],
])('a canary is refused by itself when %s', async (_what, error, keyBits, words) => {
  const canary = new Canary({ platform, keyBits });
  const outcome = await canary.outcomeOf(robot, Promise.reject(error), new Deadlines());
  expect(outcome).toMatchObject({ end: 'refused', message: expect.stringMatching(words) });
});
