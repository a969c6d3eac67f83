/**
 * Dead Simple Signing Envelope v1 (github.com/secure-systems-lab/dsse) around an in-toto statement. Nothing that bears on the statement
 * can change unnoticed; the layout of the file, line ends included, is free, since others write envelopes too.
 */
import { type KeyObject, sign, verify } from 'node:crypto';
import Type, { type Static } from 'typebox';
import { shape } from '../../contract/shape.ts';
import { keyId } from './keys.ts';
import { parseStrict } from './strict-json.ts';

/** Media type of in-toto statements. */
export const PAYLOAD_TYPE = 'application/vnd.in-toto+json';

const envelope = shape(
  'DSSE envelope',
  Type.Object(
    {
      payloadType: Type.String(),
      payload: Type.String(),
      signatures: Type.Array(
        Type.Object({ keyid: Type.Optional(Type.String()), sig: Type.String() }, { additionalProperties: false }),
        {
          minItems: 1,
        },
      ),
    },
    { additionalProperties: false },
  ),
);
/** A signed envelope. */
export type Envelope = Static<typeof envelope.schema>;

/** The file cannot be trusted; the message says why. */
export class Refused extends Error {
  override name = 'Refused';
}

/** Pre-authentication encoding: what is signed. */
export function preAuthenticationEncoding(payloadType: string, payload: Buffer): Buffer {
  const head = `DSSEv1 ${Buffer.byteLength(payloadType)} ${payloadType} ${payload.length} `;
  return Buffer.concat([Buffer.from(head), payload]);
}

/** The envelope of a payload, signed. */
export function seal(payload: Buffer, privateKey: KeyObject): string {
  const sig = sign(null, preAuthenticationEncoding(PAYLOAD_TYPE, payload), privateKey);
  const made: Envelope = {
    payloadType: PAYLOAD_TYPE,
    payload: payload.toString('base64'),
    signatures: [{ keyid: keyId(privateKey), sig: sig.toString('base64') }],
  };
  return `${JSON.stringify(made, null, 2)}\n`;
}

/** The payload of an envelope, after its signature by `publicKey` was verified. Throws Refused. */
export function open(text: string, publicKey: KeyObject): Buffer {
  const parsed = parseSigned(text);
  if (!envelope.is(parsed)) throw new Refused(`not a DSSE envelope: ${envelope.problems(parsed)[0]?.message ?? ''}`);
  if (parsed.payloadType !== PAYLOAD_TYPE)
    throw new Refused(`the payload is not an in-toto statement but ${parsed.payloadType}`);
  const payload = bytes(parsed.payload, 'payload');
  const id = keyId(publicKey);
  const [signature, other] = parsed.signatures;
  // A key's name is a hint, and may be left out; the signature decides.
  if (signature === undefined || other !== undefined || (signature.keyid ?? id) !== id) {
    const by = parsed.signatures.map(({ keyid = 'a key without name' }) => keyid).join(', ');
    throw new Refused(`not signed by this key alone: the key is ${id}, the signature says ${by}`);
  }
  if (
    !verify(null, preAuthenticationEncoding(parsed.payloadType, payload), publicKey, bytes(signature.sig, 'signature'))
  ) {
    throw new Refused('the signature does not fit: the content was changed, or another key signed it');
  }
  return payload;
}

/** Throws Refused. */
export function parseSigned(text: string): unknown {
  try {
    return parseStrict(text);
  } catch (error) {
    throw new Refused(`not JSON (${error instanceof Error ? error.message : error})`, { cause: error });
  }
}

/** Accepts only canonical base64; decoders accept much more. */
function bytes(base64: string, what: string): Buffer {
  const decoded = Buffer.from(base64, 'base64');
  if (decoded.toString('base64') !== base64) throw new Refused(`the ${what} is not in canonical base64`);
  return decoded;
}
