/** Signs and opens in-toto statements in envelopes of DSSE v1 (github.com/secure-systems-lab/dsse). */

import {
  createHash,
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  type KeyObject,
  sign,
  verify,
} from 'node:crypto';
import { closeSync, openSync, rmSync, statSync, writeFileSync } from 'node:fs';
import type { Static } from 'typebox';
import { NamedError, UsageError } from '../../common/usage.ts';
import { readInputText, whyNot } from '../../common/user-files.ts';
import { exact, shape, Type } from '../../contract/shape.ts';

/** SHA-256 of the SubjectPublicKeyInfo, in lowercase hex. */
export function keyId(key: KeyObject): string {
  const publicKey = key.type === 'private' ? createPublicKey(key) : key;
  return createHash('sha256')
    .update(publicKey.export({ type: 'spki', format: 'der' }))
    .digest('hex');
}

/**
 * Writes a private key to `file` (mode 0600), its public key to `file.pub`. Throws UsageError if a file exists or
 * cannot be written.
 */
export function generateKey(file: string): { keyId: string; publicFile: string } {
  const { privateKey, publicKey } = generateKeyPairSync('ed25519');
  const publicFile = `${file}.pub`;
  const made: string[] = [];
  const write = (path: string, pem: string | Buffer, mode: number): void => {
    const opened = openSync(path, 'wx', mode);
    made.push(path);
    try {
      writeFileSync(opened, pem);
    } finally {
      closeSync(opened);
    }
  };
  try {
    write(file, privateKey.export({ type: 'pkcs8', format: 'pem' }), 0o600);
    write(publicFile, publicKey.export({ type: 'spki', format: 'pem' }), 0o666);
  } catch (error) {
    for (const path of made) rmSync(path);
    const place = error instanceof Error && 'path' in error ? String(error.path) : file;
    const isThere = error instanceof Error && 'code' in error && error.code === 'EEXIST';
    const isFolder = isThere && statSync(place, { throwIfNoEntry: false })?.isDirectory() === true;
    const there = isFolder ? 'is a folder; name a file in it' : 'is there already, and is not overwritten';
    throw new UsageError(`${place}: ${isThere ? there : whyNot(error)}`, { cause: error });
  }
  return { keyId: keyId(publicKey), publicFile };
}

export const readPrivateKey = (file: string): KeyObject => read(file, 'private', (pem) => createPrivateKey(pem));

/** Throws UsageError unless the file holds a public key; a verifier must never see a private key. */
export const readPublicKey = (file: string): KeyObject =>
  read(file, 'public', (pem) => {
    if (pem.includes('PRIVATE KEY')) throw new Error('it holds a private key, which a verifier should never see');
    if (pem.includes('CERTIFICATE')) throw new Error('it is an X.509 certificate; export its public key');
    return createPublicKey(pem);
  });

function read(file: string, kind: string, make: (pem: string) => KeyObject): KeyObject {
  let key: KeyObject;
  try {
    const pem = readInputText(file);
    key = make(pem);
    if (pem.split('-----BEGIN').length > 2) throw new Error('it holds several keys; give one');
  } catch (error) {
    const why = `no ${kind} key in PEM form (${whyNot(error)}); \`muster keygen FILE\` makes one`;
    throw new UsageError(`--key ${file}: ${why}`, { cause: error });
  }
  if (key.asymmetricKeyType !== 'ed25519') {
    throw new UsageError(`--key ${file}: must be an Ed25519 key, and is ${key.asymmetricKeyType ?? 'none'}`);
  }
  return key;
}

/** Throws SyntaxError even for a repeated member, because readers disagree on which value counts. */
export function parseStrict(text: string): unknown {
  const value: unknown = JSON.parse(text);
  const open: (Set<string> | undefined)[] = [];
  let nameIsNext = false;
  for (const [token] of text.matchAll(/"(?:[^"\\]|\\.)*"|[[\]{},]/g)) {
    const names = open.at(-1);
    if (token === '{' || token === '[') {
      open.push(token === '{' ? new Set() : undefined);
      nameIsNext = token === '{';
    } else if (token === '}' || token === ']') {
      open.pop();
      nameIsNext = false;
    } else if (token === ',') nameIsNext = names !== undefined;
    else if (nameIsNext && names !== undefined) {
      const name = JSON.parse(token) as string;
      if (names.has(name)) throw new SyntaxError(`an object has ${JSON.stringify(name)} twice`);
      names.add(name);
      nameIsNext = false;
    }
  }
  return value;
}

const PAYLOAD_TYPE = 'application/vnd.in-toto+json';

const envelope = shape(
  'DSSE envelope',
  exact({
    payloadType: Type.String(),
    payload: Type.String(),
    signatures: Type.Array(exact({ keyid: Type.Optional(Type.String()), sig: Type.String() }), { minItems: 1 }),
  }),
);

export class Refused extends NamedError {}

export function preAuthenticationEncoding(payloadType: string, payload: Buffer): Buffer {
  const head = `DSSEv1 ${Buffer.byteLength(payloadType)} ${payloadType} ${payload.length} `;
  return Buffer.concat([Buffer.from(head), payload]);
}

export function sealEnvelope(payload: Buffer, privateKey: KeyObject): string {
  const sig = sign(null, preAuthenticationEncoding(PAYLOAD_TYPE, payload), privateKey);
  const made: Static<typeof envelope.schema> = {
    payloadType: PAYLOAD_TYPE,
    payload: payload.toString('base64'),
    signatures: [{ keyid: keyId(privateKey), sig: sig.toString('base64') }],
  };
  return `${JSON.stringify(made, null, 2)}\n`;
}

/** Returns the payload. Throws Refused unless `publicKey` verifies the only signature. */
export function openEnvelope(text: string, publicKey: KeyObject): Buffer {
  const parsed = parseSigned(text);
  if (!envelope.is(parsed)) throw new Refused(`not a DSSE envelope: ${envelope.problems(parsed)[0]?.message ?? ''}`);
  if (parsed.payloadType !== PAYLOAD_TYPE)
    throw new Refused(`the payload is not an in-toto statement but ${parsed.payloadType}`);
  const payload = bytes(parsed.payload, 'payload');
  const id = keyId(publicKey);
  const [signature, other] = parsed.signatures;
  // Compares the key id only if the signature names one, because DSSE makes it optional.
  if (signature === undefined || other !== undefined || (signature.keyid ?? id) !== id) {
    const by = parsed.signatures.map(({ keyid = 'a key without name' }) => keyid).join(', ');
    throw new Refused(`not signed by this key alone: the key is ${id}, the signature says ${by}`);
  }
  const signed = preAuthenticationEncoding(parsed.payloadType, payload);
  if (!verify(null, signed, publicKey, bytes(signature.sig, 'signature')))
    throw new Refused('the signature does not fit: the content was changed, or another key signed it');
  return payload;
}

export function parseSigned(text: string): unknown {
  try {
    return parseStrict(text);
  } catch (error) {
    throw new Refused(`not JSON (${error instanceof Error ? error.message : error})`, { cause: error });
  }
}

/** Accepts canonical base64 only, because decoders ignore stray characters. */
function bytes(base64: string, what: string): Buffer {
  const decoded = Buffer.from(base64, 'base64');
  if (decoded.toString('base64') !== base64) throw new Refused(`the ${what} is not in canonical base64`);
  return decoded;
}
