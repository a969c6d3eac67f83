import fc from 'fast-check';
import { generate, type Packet } from 'mqtt-packet';
import { expect, it } from 'vitest';
import { eventually } from '../../common/testing/scratch.ts';
import { KEEP_ALIVE_SECONDS, KeepAlive, MqttConnection, MqttRefused, readPackets } from './mqtt.ts';
import { ManualTime, type ScriptedBroker, scriptedBroker, welcoming } from './testing/uplinks.ts';
import { Wheel } from './time.ts';

function client(broker: ScriptedBroker) {
  const time = new ManualTime();
  const abort = new AbortController();
  const closed: MqttConnection[] = [];
  const open = (subscribeAfterMs = 0) =>
    MqttConnection.open({
      subscribeAfterMs,
      endpoint: { host: '127.0.0.1', port: broker.port, tls: false, ca: undefined },
      clientId: 'dvc_1',
      username: 'session',
      password: 'token',
      topics: ['a', 'b'],
      listener: {
        onMessage: () => {},
        onClose: (connection) => closed.push(connection),
      },
      keepAlive: new KeepAlive(time),
      signal: abort.signal,
    });
  return { time, abort, closed, open };
}

const message = (topic: string, payload: string, retain = false): Packet => {
  return { cmd: 'publish', topic, payload, retain, qos: 1, messageId: 9, dup: false };
};

it('an MQTT connection says goodbye when it ends', async () => {
  const broker = await scriptedBroker(welcoming);
  const connection = await client(broker).open();
  await connection.end();
  await eventually(() => expect(broker.received.at(-1)?.cmd).toBe('disconnect'));
});

it.each([
  [1, false],
  [3, false],
  [4, true],
  [5, true],
])('an MQTT connection rejects with the return code of a refusal: %i', async (returnCode, credentials) => {
  const broker = await scriptedBroker(() => ({ cmd: 'connack', returnCode, sessionPresent: false }));
  const { open, closed, time } = client(broker);
  const failure = await open().catch((error: MqttRefused) => error);
  expect(failure).toBeInstanceOf(MqttRefused);
  expect(failure).toMatchObject({ returnCode, credentials });
  await eventually(() => expect(broker.sockets.size).toBe(0));
  expect(closed).toEqual([]);
  expect(time.waiting).toEqual([]);
});

it('an MQTT connection fails when the broker hangs up between CONNACK and subscription', async () => {
  const broker = await scriptedBroker((packet, socket) => {
    const welcome = welcoming(packet);
    if (welcome !== undefined) socket.end(generate(welcome));
    return undefined;
  });
  await expect(client(broker).open(200)).rejects.toThrow('closed the connection');
  expect(broker.received).toHaveLength(1);
});

it('an MQTT connection ends at an abort while the broker does not answer', async () => {
  const broker = await scriptedBroker(() => undefined);
  const { open, abort } = client(broker);
  const opening = open();
  await eventually(() => expect(broker.received).toHaveLength(1));
  abort.abort(new Error('enough'));
  await expect(opening).rejects.toThrow('enough');
  await eventually(() => expect(broker.sockets.size).toBe(0));
});

it('an MQTT connection pings the broker within the keep-alive time, and ends when it gets no answer', async () => {
  let answers = 0;
  const broker = await scriptedBroker((packet) => {
    if (packet.cmd !== 'pingreq') return welcoming(packet);
    answers++;
    return answers > 2 ? undefined : { cmd: 'pingresp' };
  });
  const { open, time, closed } = client(broker);
  const connection = await open();
  for (let beat = 1; beat <= 3; beat++) {
    time.advance(20_000);
    await eventually(() => expect(answers).toBe(beat));
    // The client's PUBACK for a later packet proves that the client has received the PINGRESP.
    if (beat < 3) await roundTrip(broker);
  }
  expect(closed).toEqual([]);
  time.advance(20_000);
  await eventually(() => expect(closed).toEqual([connection]));
  expect(time.waiting).toEqual([]);
});

async function roundTrip(broker: ScriptedBroker): Promise<void> {
  const before = broker.received.length;
  for (const socket of broker.sockets) socket.write(generate(message('a', 'x')));
  await eventually(() => expect(broker.received.length).toBeGreaterThan(before));
}

it('the keep-alive wheel keeps its interval when every timer fires late', () => {
  const [intervalMs, lateMs] = [64, 40];
  let now = 0;
  let tick = (): void => {};
  const after = (_delayMs: number, run: () => void) => {
    tick = run;
    return undefined as never;
  };
  const wheel = new Wheel({ elapsed: () => now, after, cancel: () => {} }, intervalMs, 4);
  let beats = 0;
  wheel.add({ beat: () => (beats += 1) });
  for (; now < 10 * intervalMs; now += lateMs) tick();
  expect(beats).toBeGreaterThanOrEqual(9);
  expect(beats).toBeLessThanOrEqual(10);
});

it('the keep-alive wheel calls each member within the keep-alive time, with one timer for all', () => {
  const time = new ManualTime();
  const wheel = new KeepAlive(time);
  const members = Array.from({ length: 500 }, () => {
    time.advance(37);
    const each = { count: 0, beat: () => void each.count++ };
    wheel.add(each);
    return each;
  });
  expect(time.waiting).toHaveLength(1);
  const before = members.map(({ count }) => count);
  const most = { atOnce: 0 };
  for (let second = 0; second < KEEP_ALIVE_SECONDS; second++) {
    const sum = members.reduce((total, { count }) => total + count, 0);
    time.advance(1_000);
    most.atOnce = Math.max(most.atOnce, members.reduce((total, { count }) => total + count, 0) - sum);
  }
  const gained = members.map(({ count }, index) => count - (before[index] ?? 0));
  expect(Math.min(...gained)).toBeGreaterThanOrEqual(1);
  expect(Math.max(...gained)).toBeLessThanOrEqual(2);
  expect(most.atOnce).toBeLessThan(members.length / 5);
});

const publish = fc
  .record({ topic: fc.stringMatching(/^[a-z/]{1,20}$/), text: fc.string({ maxLength: 300 }), retain: fc.boolean() })
  .map(({ topic, text, retain }) => message(topic, text, retain));
const packet = fc.oneof(
  publish,
  fc.constant<Packet>({ cmd: 'connack', returnCode: 0, sessionPresent: false }),
  fc.constant<Packet>({ cmd: 'suback', messageId: 1, granted: [1, 1] }),
  fc.constant<Packet>({ cmd: 'pingresp' }),
);

/** Copies, because the parser reuses packets. */
const essence = (packet: Packet) =>
  packet.cmd === 'publish' ? [packet.topic, packet.payload.toString(), packet.retain] : [packet.cmd];

it('reading packets yields the sent packets for any split of their bytes', () => {
  fc.assert(
    fc.property(fc.array(packet, { maxLength: 8 }), fc.array(fc.nat(), { maxLength: 12 }), (packets, cuts) => {
      const stream = Buffer.concat(packets.map((each) => generate(each)));
      const bounds = [0, ...cuts.map((cut) => cut % (stream.length + 1)).sort((a, b) => a - b), stream.length];
      const read: unknown[] = [];
      let rest: Buffer | undefined;
      for (const [index, start] of bounds.slice(0, -1).entries()) {
        // A real socket reuses its buffer.
        const chunk = Buffer.from(stream.subarray(start, bounds[index + 1]));
        rest = readPackets(rest, chunk, (each) => read.push(essence(each)));
        chunk.fill(0xff);
      }
      expect(read).toEqual(packets.map(essence));
      expect(rest).toBeUndefined();
    }),
  );
});

it('reading packets refuses a packet that is too large before it has arrived', () => {
  expect(() => readPackets(undefined, Buffer.from([0x30, 0xff, 0xff, 0xff, 0x7f]), () => {})).toThrow(/at most/);
  expect(() => readPackets(undefined, Buffer.from([0x30, 0xff, 0xff, 0xff, 0xff]), () => {})).toThrow(/length/);
});
