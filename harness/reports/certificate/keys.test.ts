import { createPrivateKey, createPublicKey, generateKeyPairSync } from 'node:crypto';
import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { temporaryFolder } from '../../targets/testing/places.ts';
import { certificateIssuer } from './certificate.ts';
import { generateKey, keyId, readPrivateKey, readPublicKey } from './envelope.ts';

const folder = temporaryFolder();
const keyFile = join(folder, 'key.pem');
generateKey(keyFile);
const publicKey = readPublicKey(`${keyFile}.pub`);

test('keys with Windows line ends are readable', () => {
  const windows = (file: string): string => {
    const copy = `${file}.crlf`;
    writeFileSync(copy, readFileSync(file, 'utf8').replaceAll('\n', '\r\n'));
    return copy;
  };
  expect(keyId(readPublicKey(windows(`${keyFile}.pub`)))).toBe(keyId(publicKey));
  expect(keyId(readPrivateKey(windows(keyFile)))).toBe(keyId(publicKey));
});

test('key files are private, never overwritten, and hold one Ed25519 key', () => {
  expect(statSync(keyFile).mode & 0o777).toBe(0o600);
  const before = readFileSync(keyFile, 'utf8');
  expect(() => generateKey(keyFile)).toThrow(/is there already, and is not overwritten/);
  expect(readFileSync(keyFile, 'utf8')).toBe(before);
  const half = join(folder, 'half.pem');
  writeFileSync(`${half}.pub`, '');
  expect(() => generateKey(half)).toThrow(/half\.pem\.pub: is there already/);
  expect(existsSync(half)).toBe(false);
  expect(keyId(createPublicKey(createPrivateKey(before)))).toBe(keyId(publicKey));
  expect(() => readPublicKey(keyFile)).toThrow(/holds a private key/);
  const more = join(folder, 'more.pub');
  writeFileSync(more, readFileSync(`${keyFile}.pub`, 'utf8').repeat(2));
  expect(() => readPublicKey(more)).toThrow(/holds several keys; give one/);
  writeFileSync(more, before.repeat(2));
  expect(() => readPrivateKey(more)).toThrow(/holds several keys; give one/);
  writeFileSync(more, '-----BEGIN CERTIFICATE-----');
  expect(() => readPublicKey(more)).toThrow(/is an X\.509 certificate; export its public key/);
  const rsa = join(folder, 'rsa.pem');
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  writeFileSync(rsa, privateKey.export({ type: 'pkcs8', format: 'pem' }));
  expect(() => readPrivateKey(rsa)).toThrow(/must be an Ed25519 key, and is rsa/);
  expect(() => certificateIssuer(join(folder, 'x'), undefined)).toThrow(/needs --key/);
});
