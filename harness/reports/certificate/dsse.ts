/**
 * Dead Simple Signing Envelope v1 (github.com/secure-systems-lab/dsse) around an in-toto statement. There is one written form: a file
 * that differs from it by a byte is refused, so nothing in it can change unnoticed.
 */
import { type KeyObject, sign, verify } from 'node:crypto';
import Type, { type Static } from 'typebox';
import { shape } from '../../contract/shape.ts';
import { keyId } from './keys.ts';

/** Media type of in-toto statements. */
export const PAYLOAD_TYPE = 'application/vnd.in-toto+json';

const envelope = shape(
  'DSSE envelope',
  Type.Object(
    {
      payloadType: Type.String(),
      payload: Type.String(),
      signatures: Type.Array(
        Type.Object({ keyid: Type.String(), sig: Type.String() }, { additionalProperties: false }),
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
  return written({
    payloadType: PAYLOAD_TYPE,
    payload: payload.toString('base64'),
    signatures: [{ keyid: keyId(privateKey), sig: sig.toString('base64') }],
  });
}

/** The payload of an envelope, after its signature by `publicKey` was verified. Throws Refused. */
export function open(text: string, publicKey: KeyObject): Buffer {
  const parsed = parse(text);
  if (!envelope.is(parsed)) throw new Refused(`not a DSSE envelope: ${envelope.problems(parsed)[0]?.message ?? ''}`);
  if (parsed.payloadType !== PAYLOAD_TYPE)
    throw new Refused(`the payload is not an in-toto statement but ${parsed.payloadType}`);
  if (written(parsed) !== text) throw new Refused('the file was changed after it was written');
  const payload = bytes(parsed.payload, 'payload');
  const id = keyId(publicKey);
  const signature = parsed.signatures.find((candidate) => candidate.keyid === id);
  if (signature === undefined || parsed.signatures.length > 1) {
    const by = parsed.signatures.map(({ keyid }) => keyid).join(', ');
    throw new Refused(`not signed by this key alone: the key is ${id}, the signature says ${by}`);
  }
  if (
    !verify(null, preAuthenticationEncoding(parsed.payloadType, payload), publicKey, bytes(signature.sig, 'signature'))
  ) {
    throw new Refused('the signature does not fit: the content was changed, or another key signed it');
  }
  return payload;
}

const written = ({ payloadType, payload, signatures }: Envelope): string =>
  `${JSON.stringify({ payloadType, payload, signatures: signatures.map(({ keyid, sig }) => ({ keyid, sig })) }, null, 2)}\n`;

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
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
