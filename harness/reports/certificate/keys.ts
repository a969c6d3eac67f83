/** Ed25519 keys that sign certificates. */
import { createHash, createPrivateKey, createPublicKey, generateKeyPairSync, type KeyObject } from 'node:crypto';
import { rmSync, statSync, writeFileSync } from 'node:fs';
import { UsageError } from '../../common/usage.ts';
import { readInputText, whyNot } from '../../common/user-files.ts';

/** The name of a key: lowercase hex SHA-256 of the public key's SubjectPublicKeyInfo. */
export function keyId(key: KeyObject): string {
  const publicKey = key.type === 'private' ? createPublicKey(key) : key;
  return createHash('sha256')
    .update(publicKey.export({ type: 'spki', format: 'der' }))
    .digest('hex');
}

/** Makes a key pair and writes `file` (private, readable by its owner alone) and `file.pub`. Never overwrites. Throws UsageError. */
export function generateKey(file: string): { keyId: string; publicFile: string } {
  const { privateKey, publicKey } = generateKeyPairSync('ed25519');
  const publicFile = `${file}.pub`;
  let written = false;
  try {
    writeFileSync(file, privateKey.export({ type: 'pkcs8', format: 'pem' }), { mode: 0o600, flag: 'wx' });
    written = true;
    writeFileSync(publicFile, publicKey.export({ type: 'spki', format: 'pem' }), { flag: 'wx' });
  } catch (error) {
    if (written) rmSync(file);
    const place = error instanceof Error && 'path' in error ? String(error.path) : file;
    throw new UsageError(`${place}: ${whyNotMade(place, error)}`, { cause: error });
  }
  return { keyId: keyId(publicKey), publicFile };
}

function whyNotMade(place: string, error: unknown): string {
  if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) return whyNot(error);
  return statSync(place, { throwIfNoEntry: false })?.isDirectory() === true
    ? 'is a folder; name a file in it'
    : 'is there already, and is not overwritten';
}

/** A private key in PEM form. Throws UsageError. */
export function readPrivateKey(file: string): KeyObject {
  return read(file, '--key', 'private', (pem) => createPrivateKey(pem));
}

/** A public key in PEM form. Throws UsageError, also for a private one. */
export function readPublicKey(file: string): KeyObject {
  return read(file, '--key', 'public', (pem) => {
    if (pem.includes('PRIVATE KEY')) throw new Error('it holds a private key, which a verifier should never see');
    return createPublicKey(pem);
  });
}

function read(file: string, option: string, kind: string, make: (pem: string) => KeyObject): KeyObject {
  let key: KeyObject;
  try {
    key = make(readInputText(file));
  } catch (error) {
    throw new UsageError(
      `${option} ${file}: no ${kind} key in PEM form (${whyNot(error)}); \`muster keygen FILE\` makes one`,
      {
        cause: error,
      },
    );
  }
  if (key.asymmetricKeyType !== 'ed25519') {
    throw new UsageError(`${option} ${file}: must be an Ed25519 key, and is ${key.asymmetricKeyType ?? 'none'}`);
  }
  return key;
}
