import fc from 'fast-check';
import { generate, type Packet } from 'mqtt-packet';
import { describe, expect, it } from 'vitest';
import { readPackets } from './packets.ts';

const publish = fc
  .record({ topic: fc.stringMatching(/^[a-z/]{1,20}$/), text: fc.string({ maxLength: 300 }), retain: fc.boolean() })
  .map(({ topic, text, retain }): Packet => {
    return { cmd: 'publish', topic, payload: text, qos: 1, messageId: 7, dup: false, retain };
  });
const packet = fc.oneof(
  publish,
  fc.constant<Packet>({ cmd: 'connack', returnCode: 0, sessionPresent: false }),
  fc.constant<Packet>({ cmd: 'suback', messageId: 1, granted: [1, 1] }),
  fc.constant<Packet>({ cmd: 'pingresp' }),
);

/** What a test can compare: the command, and what a publish carries, read before the next packet is parsed. */
const essence = (packet: Packet) =>
  packet.cmd === 'publish' ? [packet.topic, packet.payload.toString(), packet.retain] : [packet.cmd];

describe('reading packets', () => {
  it('gives the packets that were sent, however their bytes arrive', () => {
    fc.assert(
      fc.property(fc.array(packet, { maxLength: 8 }), fc.array(fc.nat(), { maxLength: 12 }), (packets, cuts) => {
        const stream = Buffer.concat(packets.map((each) => generate(each)));
        const bounds = [0, ...cuts.map((cut) => cut % (stream.length + 1)).sort((a, b) => a - b), stream.length];
        const read: unknown[] = [];
        let rest: Buffer | undefined;
        for (const [index, start] of bounds.slice(0, -1).entries()) {
          // As from a socket: the buffer is used again for the next read.
          const chunk = Buffer.from(stream.subarray(start, bounds[index + 1]));
          rest = readPackets(rest, chunk, (each) => read.push(essence(each)));
          chunk.fill(0xff);
        }
        expect(read).toEqual(packets.map(essence));
        expect(rest).toBeUndefined();
      }),
    );
  });

  it('fails or waits for more, whatever arrives', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
        try {
          const rest = readPackets(undefined, Buffer.from(bytes), () => {});
          expect(rest?.length ?? 0).toBeLessThanOrEqual(bytes.length);
        } catch (error) {
          expect(error).toBeInstanceOf(Error);
        }
      }),
    );
  });

  it('refuses a packet that is too large before it has arrived', () => {
    expect(() => readPackets(undefined, Buffer.from([0x30, 0xff, 0xff, 0xff, 0x7f]), () => {})).toThrow(/at most/);
    expect(() => readPackets(undefined, Buffer.from([0x30, 0xff, 0xff, 0xff, 0xff]), () => {})).toThrow(/length/);
  });

  it('is not disturbed by what another connection received', () => {
    fc.assert(
      fc.property(fc.uint8Array({ minLength: 1, maxLength: 40 }), (bytes) => {
        try {
          // The kind and length of a packet, and anything in it.
          readPackets(undefined, Buffer.from([(bytes[0] ?? 0) & 0xf2, bytes.length, ...bytes]), () => {});
        } catch {}
        const read: string[] = [];
        readPackets(undefined, generate({ cmd: 'pingresp' }), ({ cmd }) => read.push(cmd));
        expect(read).toEqual(['pingresp']);
      }),
      { numRuns: 500 },
    );
  });
});
