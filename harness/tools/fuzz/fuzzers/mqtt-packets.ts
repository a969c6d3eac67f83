/** MQTT packets as inputs: whole ones of every kind, with fields that fit badly, and damage to their bytes. */
import fc from 'fast-check';
import { generate, type Packet } from 'mqtt-packet';
import { anyBytes, type Damage, damageWith, utf8 } from '../bytes.ts';

const text = fc.oneof(
  fc.constantFrom('', '#', '+', '$SYS/#', '$share/g/t', 'a/b', '/', 'a//b', '\u0000', '😀', 'x'.repeat(300)),
  fc.string({ maxLength: 12 }),
);
const id = fc.oneof(fc.constantFrom(1, 65_535), fc.integer({ min: 1, max: 65_535 }));
const qos = fc.constantFrom(0 as const, 1 as const, 2 as const);
const flag = fc.boolean();
const payload = fc.oneof(anyBytes(30), fc.constantFrom('{}', '{"is_synced":false}', '{"message_id":1}', '[', 'null'));

/** Packets that a client sends; `topics` are tried among others. */
const packet = (topics: readonly string[]): fc.Arbitrary<object> => {
  const topic = fc.oneof(text, ...(topics.length > 0 ? [fc.constantFrom(...topics)] : []));
  return fc.oneof(
    fc.record({ cmd: fc.constant('publish'), topic, payload, qos, retain: flag, dup: flag, messageId: id }),
    fc.record({
      cmd: fc.constant('subscribe'),
      messageId: id,
      subscriptions: fc.array(fc.record({ topic, qos }), { minLength: 1, maxLength: 5 }),
    }),
    fc.record({
      cmd: fc.constant('unsubscribe'),
      messageId: id,
      unsubscriptions: fc.array(topic, { minLength: 1, maxLength: 3 }),
    }),
    fc.record({ cmd: fc.constantFrom('puback', 'pubrec', 'pubrel', 'pubcomp', 'unsuback'), messageId: id }),
    fc.record({
      cmd: fc.constant('suback'),
      messageId: id,
      granted: fc.array(fc.constantFrom(0, 1, 2, 128), { maxLength: 4 }),
    }),
    fc.record({ cmd: fc.constant('connack'), returnCode: fc.nat(255), sessionPresent: flag }),
    fc.constantFrom({ cmd: 'pingreq' }, { cmd: 'pingresp' }, { cmd: 'disconnect' }),
    fc.record({
      cmd: fc.constant('connect'),
      protocolId: fc.constantFrom('MQTT', 'MQIsdp'),
      protocolVersion: fc.constantFrom(3, 4),
      clean: flag,
      clientId: text,
      keepalive: fc.constantFrom(0, 1, 65_535),
      username: text,
      password: text,
      will: fc.option(fc.record({ topic, payload, qos, retain: flag }), { nil: undefined }),
    }),
  );
};

function bytesOfPacket(fields: object): string {
  try {
    return generate(fields as Packet).toString('latin1');
  } catch {
    // The generator refuses to write some of them: the bytes of a reserved kind instead.
    return '\u00f0\u0000';
  }
}

/** A length of up to five bytes: the protocol takes four. */
const header = fc
  .tuple(
    fc.nat(255),
    fc.array(fc.constantFrom(0xff, 0x80, 0x7f, 0x00, 0x02), { minLength: 1, maxLength: 5 }),
    anyBytes(40),
  )
  .map(([first, length, rest]) => String.fromCharCode(first, ...length) + rest);

/** Bytes of some packets, and damage to them. */
export interface PacketsInput {
  packets: string[];
  damages: Damage[];
}

/** Packets in a row, most of them whole. */
export const packetsInput = (topics: readonly string[]): fc.Arbitrary<PacketsInput> =>
  fc.record({
    packets: fc.array(
      fc.oneof(
        { weight: 6, arbitrary: packet(topics.map(utf8)).map(bytesOfPacket) },
        { weight: 1, arbitrary: header },
        { weight: 1, arbitrary: anyBytes(60) },
      ),
      { maxLength: 10 },
    ),
    damages: fc.array(damageWith(['\u00ff\u00ff\u00ff\u007f', '\u0000', '\u0010', '\u0030']), { maxLength: 3 }),
  });
