/** `check platform` against TLS that is wrong in each of these ways: said in words, soon, and held against nobody. */
import { writeFileSync } from 'node:fs';
import https from 'node:https';
import net from 'node:net';
import tls, { type SecureContextOptions } from 'node:tls';
import { expect, onTestFinished, test } from 'vitest';
import { listenAt } from '../../simulators/defects/null.ts';
import { simulatePlatform } from '../../simulators/platform/index.ts';
import { localhostTls } from '../common/testing/localhost-tls.ts';
import { issuingAuthority } from './enrol/authority.ts';
import { printed, reportIn, typed, useFolder } from './testing/muster.ts';

const at = useFolder();
const DAY_MS = 86_400_000;
const KEY = 'key_0123456789abcdef';
const { ca, issue } = issuingAuthority();
const good = issue();
writeFileSync(at('ca.pem'), ca);

/** An answer is never asked for: the handshake fails. */
const secured = (options: https.ServerOptions): net.Server =>
  https.createServer(options, (_, response) => response.end('{}')).on('tlsClientError', () => {});
const old = { minVersion: 'TLSv1', ciphers: 'ALL@SECLEVEL=0' } as const satisfies SecureContextOptions;
const alert = (description: number): Buffer => Buffer.from([0x15, 3, 3, 0, 2, 2, description]);

/** Says this as soon as it has the first bytes of the client. */
const saying = (say: (socket: net.Socket) => void): net.Server =>
  net.createServer((socket) => void socket.on('error', () => {}).once('data', () => say(socket)));

/** A server hello that comes one byte after the other, and would take an hour. */
const dripping = (socket: net.Socket): void => {
  socket.write(Buffer.from([0x16, 3, 3, 0x3f, 0xff, 2, 0, 0x3f, 0xfb, 3, 3]));
  const drip = setInterval(() => socket.write('x'), 200);
  socket.once('close', () => clearInterval(drip));
};

const CLIENT_CERTIFICATE = { ...good, ca: issuingAuthority().ca, requestCert: true };
const UNTRUSTED = /its certificate is signed by an authority that is not trusted here; --ca FILE names one to trust/;
const CLOSED = /the connection was closed before its TLS handshake was over/;
const OLD = /it speaks neither TLS 1.2 nor TLS 1.3/;
const REFUSED = /it refused the TLS handshake/;
const NOTHING_CAME = /cannot connect \(nothing came for \d+ ms\)/;

const CASES: readonly [what: string, () => net.Server, said: RegExp, host?: string][] = [
  ['an expired certificate', () => secured(issue(new Date(Date.now() - 8 * DAY_MS))), /\(certificate has expired\)/],
  ['one of next week', () => secured(issue(new Date(Date.now() + 8 * DAY_MS))), /certificate is not yet valid/],
  ['one of another name', () => secured(good), /127\.0\.0\.2 is not in the cert's list/, '127.0.0.2'],
  ['a self-signed one', () => secured(localhostTls), UNTRUSTED],
  ['one of a foreign authority', () => secured(issuingAuthority().issue()), UNTRUSTED],
  ['TLS 1.0 alone', () => secured({ ...good, ...old, maxVersion: 'TLSv1' }), OLD],
  ['TLS 1.1 alone', () => secured({ ...good, ...old, maxVersion: 'TLSv1.1' }), OLD],
  ['no cipher in common', () => secured({ ...good, ciphers: 'NULL@SECLEVEL=0', maxVersion: 'TLSv1.2' }), REFUSED],
  ['a client certificate asked for, TLS 1.2', () => secured({ ...CLIENT_CERTIFICATE, maxVersion: 'TLSv1.2' }), REFUSED],
  [
    'a client certificate asked for, TLS 1.3',
    () => secured(CLIENT_CERTIFICATE),
    /it demands a certificate of the client/,
  ],
  ['a handshake that stalls', () => saying(() => {}), NOTHING_CAME],
  ['a handshake of one byte in 200 ms', () => saying(dripping), NOTHING_CAME],
  ['a handshake that ends', () => saying((socket) => socket.end()), CLOSED],
  ['a handshake that is reset', () => saying((socket) => socket.resetAndDestroy()), CLOSED],
  ['an alert', () => saying((socket) => socket.end(alert(80))), /TLS: tlsv1 alert internal error/],
  ['plain HTTP', () => saying((socket) => socket.end('HTTP/1.1 400 Bad Request\r\n\r\n')), /what came is no TLS/],
];

/** Only ends what hangs: two waits of ten seconds, and a machine that is busy with something else. */
const LONGEST_MS = 120_000;

async function checked(url: string) {
  const report = at('report.json');
  const options = typed`--ca ${at('ca.pem')} --api-key ${KEY} --section 8 --fast --patience 5 --report json=${report}`;
  const since = performance.now();
  const { code, text } = await printed([...typed`check platform --url ${url} --report pretty`, ...options]);
  const { checks } = reportIn(report);
  const judged = checks.filter(({ outcome }) => ['pass', 'fail', 'warn'].includes(outcome));
  const outcomes = Object.fromEntries(checks.map(({ id, outcome }) => [id, outcome]));
  return { code, said: text.replaceAll(/\s+/g, ' '), checks, judged, outcomes, ms: performance.now() - since };
}

test.each(CASES)(
  '%s',
  async (_, make, words, host = '127.0.0.1') => {
    await using server = await listenAt(make(), { port: 0, host });
    const { code, said, judged, ms } = await checked(`https://${host}:${server.port}/beta`);
    expect(said).toMatch(words);
    expect(said).toContain('exit 2: the target could not be reached, so nothing was decided');
    expect(said).not.toMatch(/openssl|SSL routines/);
    expect(judged).toEqual([]);
    expect(code).toBe(2);
    expect(ms).toBeLessThan(LONGEST_MS);
  },
  300_000,
);

/** A correct platform behind the TLS that `front` makes of its connections. */
async function behind(front: (plain: net.Socket, upstream: net.Socket) => void, options: tls.TlsOptions = {}) {
  const platform = await simulatePlatform({ keys: [{ key: KEY, scopes: 'all' }], devices: 5, mqtt: false });
  onTestFinished(() => platform[Symbol.asyncDispose]());
  const { hostname, port } = new URL(platform.url);
  const server = tls.createServer({ ...good, ...options }, (socket) => {
    const upstream = net.connect(Number(port), hostname).on('error', () => {});
    socket.on('error', () => {}).once('close', () => upstream.destroy());
    upstream.once('close', () => socket.destroy());
    front(socket, upstream);
  });
  return { server: server.on('tlsClientError', () => {}), plain: await checked(platform.url) };
}

const pass = (socket: net.Socket, upstream: net.Socket): void => void socket.pipe(upstream).pipe(socket);

test('renegotiation in mid-request changes no verdict', async () => {
  let renegotiated = 0;
  const { server, plain } = await behind(
    (socket, upstream) => {
      upstream.pipe(socket);
      let requests = 0;
      socket.on('data', (piece: Buffer) => {
        requests += 1;
        // A server of Node's takes many for an attack, whoever asked for them.
        if (requests > 1) {
          upstream.write(piece);
          return;
        }
        (socket as tls.TLSSocket).renegotiate({}, (error) => {
          if (error === null) renegotiated += 1;
          upstream.write(piece);
        });
      });
    },
    { maxVersion: 'TLSv1.2' },
  );
  await using listening = await listenAt(server, { port: 0 });
  const { code, outcomes } = await checked(`https://127.0.0.1:${listening.port}/beta`);
  expect(outcomes).toEqual(plain.outcomes);
  expect(code).toBe(plain.code);
  expect(renegotiated).toBeGreaterThan(3);
});

test.each([
  ['no TLS any more', Buffer.from('HTTP/1.1 400 Bad Request\r\n\r\n'), /what came is no TLS/],
  ['alerts', alert(80), /TLS: tlsv1 alert internal error/],
])(
  'a platform that speaks %s on the way is not judged by it',
  async (_, bytes, words) => {
    const { server } = await behind(pass);
    let connections = 0;
    const front = net.createServer((socket) => {
      connections += 1;
      if (connections <= 12)
        server.emit(
          'connection',
          socket.on('error', () => {}),
        );
      else socket.on('error', () => {}).once('data', () => socket.end(bytes));
    });
    await using listening = await listenAt(front, { port: 0 });
    const { code, checks, judged } = await checked(`https://127.0.0.1:${listening.port}/beta`);
    expect(connections).toBeGreaterThan(12);
    expect(judged.filter(({ outcome }) => outcome !== 'pass')).toEqual([]);
    const blocked = checks.filter(({ outcome }) => outcome === 'blocked');
    expect(blocked.length).toBeGreaterThan(0);
    for (const { reason } of blocked) expect(reason).toMatch(words);
    expect(code).toBe(2);
  },
  300_000,
);
