/**
 * Retained messages of the embedded broker, found by their exact topic.
 *
 * The stock in-memory persistence tests every retained topic against every subscription, which costs a fleet of n robots
 * n² pattern matches to connect. Here no subscription has a wildcard (the access rules see to that), so a lookup is enough.
 */
import { Readable } from 'node:stream';
import type { Aedes } from 'aedes';

interface RetainedPacket {
  cmd: 'publish';
  topic: string;
  payload: Buffer;
  qos: 0 | 1 | 2;
}

/** The part of aedes' persistence interface that concerns retained messages. */
interface RetainedStore {
  storeRetained(packet: RetainedPacket): Promise<void>;
  createRetainedStreamCombi(topics: string[]): Readable;
}

/** Puts the lookup in place of the stock one, and returns what stores a retained message. */
export function installExactRetained(aedes: Aedes): RetainedStore['storeRetained'] {
  const retained = new Map<string, RetainedPacket>();
  const { persistence } = aedes as unknown as { persistence: RetainedStore };
  persistence.storeRetained = async ({ topic, payload, qos }) => {
    if (payload.length === 0) retained.delete(topic);
    // A copy: the payload may be a view of a whole read buffer.
    else retained.set(topic, { cmd: 'publish', topic, payload: Buffer.from(payload), qos });
  };
  persistence.createRetainedStreamCombi = (topics) =>
    Readable.from(topics.flatMap((topic) => retained.get(topic) ?? []));
  return persistence.storeRetained;
}
