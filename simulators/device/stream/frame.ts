/** Server-sent event frames (specification section 6.1) and how they travel in an HTTP/1.1 body. */
import type { StoredEvent } from '../log/line.ts';

export const frame = ({ id, type, json }: StoredEvent): string => `id: ${id}\nevent: ${type}\ndata: ${json}\n\n`;

export const HEARTBEAT = ': heartbeat\n\n';

const CRLF = Buffer.from('\r\n');
export const LAST_CHUNK = Buffer.from('0\r\n\r\n');

/** One HTTP chunk of `body`. */
export function chunk(body: Buffer): Buffer {
  return Buffer.concat([Buffer.from(`${body.length.toString(16)}\r\n`), body, CRLF]);
}
