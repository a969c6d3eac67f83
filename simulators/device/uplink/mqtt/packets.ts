/** Cuts a byte stream into MQTT packets. One parser serves all connections of the process, because it gets whole packets only. */
import { type Packet, parser } from 'mqtt-packet';

/** The platform sends far less; a larger packet comes from a broken or hostile broker. */
const MAX_PACKET_BYTES = 256 * 1024;

let shared: { parse(bytes: Buffer): Packet } | undefined;

function wholePacketParser() {
  const stream = parser({ protocolVersion: 4 });
  let parsed: Packet | undefined;
  let failure: Error | undefined;
  stream.on('packet', (packet) => {
    parsed = packet;
  });
  stream.on('error', (error: Error) => {
    failure = error;
  });
  return {
    parse: (bytes: Buffer): Packet => {
      parsed = undefined;
      const left = stream.parse(bytes);
      if (failure) throw failure;
      if (!parsed || left > 0) throw new Error('malformed MQTT packet');
      return parsed;
    },
  };
}

function parse(bytes: Buffer): Packet {
  shared ??= wholePacketParser();
  try {
    return shared.parse(bytes);
  } catch (error) {
    // The parser may keep half a packet, which must not reach another connection.
    shared = undefined;
    throw error;
  }
}

/** Total length of the packet at `start`; undefined while the length field is not complete. Throws when it is malformed. */
function packetLength(bytes: Buffer, start: number): number | undefined {
  let length = 0;
  for (let index = 0; index < 4; index++) {
    const byte = bytes[start + 1 + index];
    if (byte === undefined) return undefined;
    length += (byte & 0x7f) * 128 ** index;
    if (byte < 0x80) {
      if (length > MAX_PACKET_BYTES)
        throw new Error(`MQTT packet of ${length} bytes; at most ${MAX_PACKET_BYTES} are taken`);
      return 2 + index + length;
    }
  }
  throw new Error('malformed MQTT packet length');
}

/**
 * Passes each whole packet of `rest` + `chunk` to `onPacket`, and returns a copy of the bytes that are left over. Packets are
 * views of the input, valid during the call only. Throws when the stream is not MQTT.
 */
export function readPackets(
  rest: Buffer | undefined,
  chunk: Buffer,
  onPacket: (packet: Packet) => void,
): Buffer | undefined {
  const bytes = rest ? Buffer.concat([rest, chunk]) : chunk;
  let start = 0;
  while (start < bytes.length) {
    const length = packetLength(bytes, start);
    if (length === undefined || start + length > bytes.length) break;
    onPacket(parse(bytes.subarray(start, start + length)));
    start += length;
  }
  return start === bytes.length ? undefined : Buffer.from(bytes.subarray(start));
}
