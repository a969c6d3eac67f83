import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { systemClock } from '../../common/clock.ts';
import { mqttMessenger } from './messenger.ts';

/** A broker that keeps what is published, and an answer to it. */
function setUp() {
  const sent: { deviceId: string; topic: string; message: { message_id?: string }; options: object }[] = [];
  const messenger = mqttMessenger(systemClock);
  messenger.use({
    url: 'mqtt://none',
    publish: (deviceId, topic, message, options) => sent.push({ deviceId, topic, message, options }),
    heard: () => {},
    disconnect: () => {},
    stop: async () => {},
  });
  const pong = (deviceId: string, message: unknown) => messenger.onPong(deviceId, Buffer.from(JSON.stringify(message)));
  return { sent, messenger, pong };
}

describe('a ping', () => {
  beforeEach(() => {
    vi.useFakeTimers();
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  it('succeeds when the device answers with the message it got', async () => {
    const { sent, messenger, pong } = setUp();
    const answer = messenger.ping('dvc_1', 1e9);
    const [{ message } = { message: {} }] = sent;
    expect(sent[0]).toMatchObject({ topic: 'v1/cmd/devices/dvc_1/ping', options: { qos: 0, retain: false } });
    expect(message).toMatchObject({ message_id: expect.any(String), timestamp: expect.any(String) });
    pong('dvc_1', message);
    const outcome = await answer;
    expect(outcome).toMatchObject({ code: 'success', round_trip_nanos: expect.any(Number) });
  });

  it('times out exactly after the time it was given, and settles once', async () => {
    const { sent, messenger, pong } = setUp();
    const outcomes: unknown[] = [];
    const answer = messenger.ping('dvc_1', 250_000_000).then((outcome) => outcomes.push(outcome));
    await vi.advanceTimersByTimeAsync(249);
    expect(outcomes).toEqual([]);
    await vi.advanceTimersByTimeAsync(1);
    await answer;
    pong('dvc_1', sent[0]?.message);
    expect(outcomes).toEqual([{ code: 'timeout' }]);
  });

  it('ignores another device, an unknown message and text that is no JSON', async () => {
    const { sent, messenger, pong } = setUp();
    const answer = messenger.ping('dvc_1', 1e9);
    pong('dvc_2', sent[0]?.message);
    pong('dvc_1', { message_id: 'other', timestamp: '' });
    pong('dvc_1', {});
    messenger.onPong('dvc_1', Buffer.from('{'));
    await vi.advanceTimersByTimeAsync(1000);
    expect(await answer).toEqual({ code: 'timeout' });
  });

  it('finds its own answer among thousands', async () => {
    const { sent, messenger, pong } = setUp();
    const answers = Array.from({ length: 5000 }, (_, index) => messenger.ping(`dvc_${index % 50}`, 1e9));
    for (const { deviceId, message } of sent.toReversed()) {
      if (Number(deviceId.slice(4)) % 2 === 0) pong(deviceId, message);
    }
    await vi.advanceTimersByTimeAsync(1000);
    const codes = (await Promise.all(answers)).map(({ code }) => code);
    expect(codes).toEqual(codes.map((_, index) => (index % 2 === 0 ? 'success' : 'timeout')));
  });

  it('ends when the platform stops', async () => {
    const { messenger } = setUp();
    const answer = messenger.ping('dvc_1', 1e10);
    messenger.stop();
    expect(await answer).toEqual({ code: 'timeout' });
    expect(vi.getTimerCount()).toBe(0);
  });
});
