/** Bounds the packets of an MQTT client: a parser keeps what it has of a packet until it is complete, which may be never. */
import type { Client } from 'aedes';

/** Bytes. Before CONNECT a client is nobody, and sends an id, a name and a token. Afterwards it reports in a few hundred. */
const LARGEST_CONNECT = 16_384;
const LARGEST_PACKET = 65_536;

/** What the published types leave out. `parse` returns how many bytes of an incomplete packet it keeps. */
type ParsingClient = Client & { _parser: { parse(bytes: Buffer): number; packet?: { length: number } } };

/** Ends the connection of a client that sends, or announces, a larger packet. */
export function limitPackets(client: Client, onTooLarge: (error: Error) => void): void {
  const parser = (client as ParsingClient)._parser;
  const parse = parser.parse.bind(parser);
  const limit = () => (client.connected ? LARGEST_PACKET : LARGEST_CONNECT);
  parser.parse = (bytes) => {
    const kept = parse(bytes);
    const announced = parser.packet?.length ?? -1;
    if (kept <= limit() && announced <= limit()) return kept;
    client.conn.destroy();
    onTooLarge(new Error(`${client.id ?? 'a client'} sent an MQTT packet of more than ${limit()} bytes`));
    return 0;
  };
}
