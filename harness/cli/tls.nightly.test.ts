import { writeFileSync } from 'node:fs';
import https from 'node:https';
import net from 'node:net';
import type { SecureContextOptions } from 'node:tls';
import { expect, test, vi } from 'vitest';
import { listenAt } from '../../simulators/defects/null.ts';
import { issuingAuthority } from './enrol/authority.ts';
import { printed, reportIn, typed, useFolder } from './testing/muster.ts';

const at = useFolder();
const DAY_MS = 86_400_000;
const KEY = 'key_0123456789abcdef';
const { ca, issue } = issuingAuthority();
const good = issue();
writeFileSync(at('ca.pem'), ca);

const secured = (options: https.ServerOptions): net.Server =>
  https.createServer(options, (_, response) => response.end('{}')).on('tlsClientError', () => {});
const old = { minVersion: 'TLSv1', ciphers: 'ALL@SECLEVEL=0' } as const satisfies SecureContextOptions;
const alert = (description: number): Buffer => Buffer.from([0x15, 3, 3, 0, 2, 2, description]);

const saying = (say: (socket: net.Socket) => void): net.Server =>
  net.createServer((socket) => void socket.on('error', () => {}).once('data', () => say(socket)));

/** Answers a TLS handshake so slowly that the handshake would take an hour. */
const dripping = (socket: net.Socket): void => {
  socket.write(Buffer.from([0x16, 3, 3, 0x3f, 0xff, 2, 0, 0x3f, 0xfb, 3, 3]));
  const drip = setInterval(() => socket.write('x'), 200);
  socket.once('close', () => clearInterval(drip));
};

const CLIENT_CERTIFICATE = { ...good, ca: issuingAuthority().ca, requestCert: true };
const UNTRUSTED = /its certificate is signed by an authority that is not trusted here; --ca FILE names one to trust/;
const CLOSED = /the connection was closed before its TLS handshake was over/;
const DEMANDED = /it demands a certificate of the client/;
const REFUSED = /it refused the TLS handshake/;
const NOTHING_CAME = /cannot connect \(nothing came for \d+ ms\)/;

const CASES: readonly [what: string, () => net.Server, said: RegExp, host?: string][] = [
  ['an expired certificate', () => secured(issue(new Date(Date.now() - 8 * DAY_MS))), /\(certificate has expired\)/],
  ['one of next week', () => secured(issue(new Date(Date.now() + 8 * DAY_MS))), /certificate is not yet valid/],
  ['one of another name', () => secured(good), /127\.0\.0\.2 is not in the cert's list/, '127.0.0.2'],
  ['one of a foreign authority', () => secured(issuingAuthority().issue()), UNTRUSTED],
  ['TLS 1.1 alone', () => secured({ ...good, ...old, maxVersion: 'TLSv1.1' }), /it speaks neither TLS 1.2 nor TLS 1.3/],
  ['no cipher in common', () => secured({ ...good, ciphers: 'NULL@SECLEVEL=0', maxVersion: 'TLSv1.2' }), REFUSED],
  ['a client certificate asked for, TLS 1.2', () => secured({ ...CLIENT_CERTIFICATE, maxVersion: 'TLSv1.2' }), REFUSED],
  ['a client certificate asked for, TLS 1.3', () => secured(CLIENT_CERTIFICATE), DEMANDED],
  ['a handshake that stalls', () => saying(() => {}), NOTHING_CAME],
  ['a handshake of one byte in 200 ms', () => saying(dripping), NOTHING_CAME],
  ['a handshake that ends', () => saying((socket) => socket.end()), CLOSED],
  ['a handshake that is reset', () => saying((socket) => socket.resetAndDestroy()), CLOSED],
  ['an alert', () => saying((socket) => socket.end(alert(80))), /TLS: tlsv1 alert internal error/],
  ['plain HTTP', () => saying((socket) => socket.end('HTTP/1.1 400 Bad Request\r\n\r\n')), /the answer is not TLS/],
];

const LONGEST_MS = 120_000;
const LOCAL = '127.0.0.1';
vi.setConfig({ testTimeout: 300_000 });

async function checked(url: string) {
  const report = at('report.json');
  const options = typed`--ca ${at('ca.pem')} --api-key ${KEY} --section 8 --fast --patience 5 --report json=${report}`;
  const since = performance.now();
  const { code, text } = await printed([...typed`check platform --url ${url} --report pretty`, ...options]);
  const judged = reportIn(report).checks.filter(({ outcome }) => ['pass', 'fail', 'warn'].includes(outcome));
  return { code, said: text.replaceAll(/\s+/g, ' '), judged, ms: performance.now() - since };
}

test.each(CASES)('check platform names the TLS problem, and no verdict: %s', async (_, make, words, host = LOCAL) => {
  await using server = await listenAt(make(), { port: 0, host });
  const { code, said, judged, ms } = await checked(`https://${host}:${server.port}/beta`);
  expect(said).toMatch(words);
  expect(said).toContain('exit 2: the target could not be reached, so nothing was decided');
  expect(said).not.toMatch(/openssl|SSL routines/);
  expect(judged).toEqual([]);
  expect(code).toBe(2);
  expect(ms).toBeLessThan(LONGEST_MS);
});
