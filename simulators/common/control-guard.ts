/** Guards a control API on a TCP port by a token, because web pages and other users can reach the port. */
import { hash, randomBytes, timingSafeEqual } from 'node:crypto';
import { closeSync, openSync, rmSync, writeFileSync } from 'node:fs';
import type { IncomingMessage } from 'node:http';
import { NEW_FILE, readInputText, SECRET_MODE } from '../../harness/common/user-files.ts';

export interface ControlRefusal {
  status: 400 | 401 | 403 | 415;
  code: string;
  message: string;
  headers?: Record<string, string>;
}

export const newControlToken = (): string => randomBytes(32).toString('base64url');

const TOKEN = /^[\w.~+/=-]{16,512}$/;

/** Reads the token in `file`, or creates the file with a new token. Throws Error for an invalid token. */
export function controlTokenIn(file: string): string {
  let token = newControlToken();
  try {
    const opened = openSync(file, NEW_FILE, SECRET_MODE);
    try {
      writeFileSync(opened, `${token}\n`);
    } catch (error) {
      rmSync(file, { force: true });
      throw error;
    } finally {
      closeSync(opened);
    }
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    token = readInputText(file).trim();
  }
  if (!TOKEN.test(token)) throw new Error(`${file} holds no token: 16 to 512 characters of A-Z a-z 0-9 . _ ~ + / = -`);
  return token;
}

/** Reason to refuse the request before its body is read; undefined accepts it. */
export function controlRefusal(request: IncomingMessage, token: string): ControlRefusal | undefined {
  const refusal = webPageRefusal(request) ?? unauthorized(request, token);
  if (refusal !== undefined) return refusal;
  const { headers } = request;
  const none = headers['transfer-encoding'] === undefined && Number(headers['content-length'] ?? 0) === 0;
  const type = (headers['content-type'] ?? '').split(';', 1)[0]?.trim().toLowerCase();
  // Requires JSON, because a web form can send any body, but not with that content type.
  if (none || type === 'application/json') return undefined;
  return { status: 415, code: 'unsupported_media_type', message: 'a body is sent with Content-Type: application/json' };
}

/** Accepted host names, because a web page may point any other name to the loopback port. */
const HOSTS: readonly string[] = ['127.0.0.1', 'localhost', '[::1]'];

function webPageRefusal({ headers, headersDistinct }: IncomingMessage): ControlRefusal | undefined {
  if ((headersDistinct['host']?.length ?? 0) !== 1)
    return { status: 400, code: 'invalid_request', message: 'a request has one Host header' };
  const host = (headers.host ?? '').toLowerCase().replace(/:\d+$/, '');
  const byPage = headers.origin !== undefined || headers['sec-fetch-site'] !== undefined;
  if (!byPage && HOSTS.includes(host)) return undefined;
  const why = byPage ? 'not a web page' : `under the name ${HOSTS.join(', ')}`;
  return {
    status: 403,
    code: 'foreign_request',
    message: `only programs on this machine may use the control API, ${why}`,
  };
}

function unauthorized({ headers }: IncomingMessage, token: string): ControlRefusal | undefined {
  const [, given] = /^Bearer +(\S+) *$/i.exec(headers.authorization ?? '') ?? [];
  if (given !== undefined && timingSafeEqual(digest(given), digest(token))) return undefined;
  const problem =
    given === undefined ? 'the header Authorization: Bearer TOKEN is missing' : 'the token is not this one';
  return {
    status: 401,
    code: 'unauthorized',
    message: `${problem}: the ready line has the token as control_token, or the file of --control-token`,
    headers: { 'WWW-Authenticate': 'Bearer' },
  };
}

const digest = (text: string): Buffer => hash('sha256', text, 'buffer');
