/** Who may use a console: whoever knows its token, from its own page, under its own name. */
import { hash, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage } from 'node:http';

/** Names under which this machine's loopback is reached. A web page can make a name of its own point there. */
const NAMES = ['127.0.0.1', 'localhost'];

const digest = (text: string): Buffer => hash('sha256', text, 'buffer');

/** Why a request is refused with 403; undefined when it may be served. `token` is the first part of the path. */
export function refusalOf(
  { headers }: IncomingMessage,
  given: string,
  token: string,
  port: number,
): string | undefined {
  const { host = '', origin } = headers;
  const site = headers['sec-fetch-site'];
  if (!NAMES.some((name) => host === `${name}:${port}`)) return 'this name is not the one of the console';
  if (origin !== undefined && origin !== `http://${host}`) return 'another page may not use the console';
  // A link from elsewhere may open the page, as a person who clicks it does; it needs the token all the same.
  if (site === 'cross-site' && headers['sec-fetch-mode'] !== 'navigate') return 'another page may not use the console';
  if (!timingSafeEqual(digest(given), digest(token))) return 'the address has another token; the console printed it';
  return undefined;
}
