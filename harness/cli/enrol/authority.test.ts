import { execFileSync, spawnSync } from 'node:child_process';
import { X509Certificate } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { useFolder } from '../testing/muster.ts';
import { issuingAuthority, makeAuthority } from './authority.ts';

const at = useFolder();
const made = makeAuthority();

test('each authority is a new one, and its server certificate is valid for a day, on loopback alone', () => {
  const cert = new X509Certificate(made.cert);
  expect(cert.ca).toBe(false);
  expect(cert.checkIP('127.0.0.1')).toBe('127.0.0.1');
  expect(cert.checkIP('::1')).toBe('::1');
  expect(cert.checkHost('localhost')).toBe('localhost');
  expect(cert.checkHost('example.com')).toBeUndefined();
  expect(cert.verify(new X509Certificate(made.ca).publicKey)).toBe(true);
  expect(cert.validFromDate.getTime()).toBeLessThan(Date.now());
  expect(cert.validToDate.getTime()).toBeGreaterThan(Date.now() + 86_400_000);
  expect(makeAuthority().ca).not.toBe(made.ca);
});

test.each(['2026-12-01', '2049-12-28', '2050-01-03'])('a certificate of %s is valid for a week from then', (day) => {
  const { validToDate } = new X509Certificate(issuingAuthority().issue(new Date(day)).cert);
  expect(validToDate.getTime() - Date.parse(day)).toBe(7 * 86_400_000);
});

test('OpenSSL accepts the certificate chain in strict mode', (context) => {
  if (spawnSync('openssl', ['version']).error !== undefined) context.skip('no openssl on this machine');
  for (const name of ['ca', 'cert'] as const) writeFileSync(at(`${name}.pem`), made[name]);
  const words = ['verify', '-x509_strict', '-purpose', 'sslserver', '-verify_ip', '127.0.0.1', '-CAfile', 'ca.pem'];
  expect(execFileSync('openssl', [...words, 'cert.pem'], { cwd: at(), encoding: 'utf8' })).toContain('OK');
});
