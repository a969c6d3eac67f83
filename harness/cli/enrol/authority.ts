/** Certificates in DER (RFC 5280): an authority for one run, and servers on loopback. */
import { createHash, generateKeyPairSync, type KeyObject, randomBytes, sign } from 'node:crypto';

export type ServerCertificate = { cert: string; key: string };
export type Authority = ServerCertificate & { ca: string };

/** Authority and server certificate, both valid for a week; the authority's private key is discarded. */
export function makeAuthority(): Authority {
  const { ca, issue } = issuingAuthority();
  return { ca, ...issue() };
}

export function issuingAuthority(): { ca: string; issue(now?: Date): ServerCertificate } {
  const ca = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const issuer = { name: nameOf(`Muster run ${randomBytes(4).toString('hex')}`), key: ca.privateKey };
  const ofCa = [
    extension('2.5.29.19', true, sequence(TRUE)),
    // keyUsage: keyCertSign and cRLSign
    extension('2.5.29.15', true, Buffer.from([0x03, 0x02, 0x01, 0x06])),
    extension('2.5.29.14', false, octets(keyIdentifier(ca.publicKey))),
  ];
  const ofServer = [
    extension('2.5.29.19', true, sequence()),
    // keyUsage: digitalSignature
    extension('2.5.29.15', true, Buffer.from([0x03, 0x02, 0x07, 0x80])),
    // extendedKeyUsage: serverAuth
    extension('2.5.29.37', false, sequence(oid('1.3.6.1.5.5.7.3.1'))),
    extension('2.5.29.17', false, sequence(tagged(0x82, Buffer.from('localhost')), ...LOOPBACK)),
    extension('2.5.29.35', false, sequence(tagged(0x80, keyIdentifier(ca.publicKey)))),
  ];
  return {
    ca: certificate(issuer, issuer.name, ca.publicKey, ofCa, new Date()),
    issue: (now = new Date()) => {
      const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
      return {
        cert: certificate(issuer, nameOf('localhost'), publicKey, ofServer, now),
        key: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
      };
    },
  };
}

type Issuer = { name: Buffer; key: KeyObject };

function certificate(issuer: Issuer, subject: Buffer, publicKey: KeyObject, extensions: readonly Buffer[], now: Date) {
  const ecdsaWithSha256 = sequence(oid('1.2.840.10045.4.3.2'));
  const serial = randomBytes(16);
  // A serial number must be positive and must not begin with a zero byte.
  serial[0] = ((serial[0] ?? 0) & 0x7f) | 0x40;
  const content = sequence(
    tagged(0xa0, tagged(0x02, Buffer.from([2]))),
    tagged(0x02, serial),
    ecdsaWithSha256,
    issuer.name,
    // Start of validity in milliseconds before now, because the clocks of two machines may differ.
    sequence(time(now.getTime() - 3_600_000), time(now.getTime() + 7 * 86_400_000)),
    subject,
    spki(publicKey),
    tagged(0xa3, sequence(...extensions)),
  );
  const signature = sign('sha256', content, issuer.key);
  const der = sequence(content, ecdsaWithSha256, tagged(0x03, Buffer.concat([Buffer.from([0]), signature])));
  const lines = der.toString('base64').match(/.{1,64}/g) ?? [];
  return ['-----BEGIN CERTIFICATE-----', ...lines, '-----END CERTIFICATE-----', ''].join('\n');
}

function tagged(tag: number, content: Buffer): Buffer {
  const { length } = content;
  const head =
    length < 128 ? [tag, length] : length < 256 ? [tag, 0x81, length] : [tag, 0x82, length >> 8, length & 0xff];
  return Buffer.concat([Buffer.from(head), content]);
}

const sequence = (...items: readonly Buffer[]): Buffer => tagged(0x30, Buffer.concat(items));
const octets = (content: Buffer): Buffer => tagged(0x04, content);
const TRUE = Buffer.from([0x01, 0x01, 0xff]);
const LOOPBACK = [tagged(0x87, Buffer.from([127, 0, 0, 1])), tagged(0x87, Buffer.from([...Array(15).fill(0), 1]))];

const extension = (id: string, isCritical: boolean, value: Buffer): Buffer =>
  sequence(oid(id), ...(isCritical ? [TRUE] : []), octets(value));

const nameOf = (text: string): Buffer =>
  sequence(tagged(0x31, sequence(oid('2.5.4.3'), tagged(0x0c, Buffer.from(text)))));

/** Encodes a date as UTCTime, whose years have two digits, until 2049, and as GeneralizedTime after it (RFC 5280). */
function time(at: number): Buffer {
  const digits = new Date(at).toISOString().replaceAll(/[-:T]|\.\d+/g, '');
  return digits < '2050' ? tagged(0x17, Buffer.from(digits.slice(2))) : tagged(0x18, Buffer.from(digits));
}

const spki = (key: KeyObject): Buffer => key.export({ type: 'spki', format: 'der' });
const keyIdentifier = (key: KeyObject): Buffer => createHash('sha1').update(spki(key)).digest();

function oid(text: string): Buffer {
  const [first = 0, second = 0, ...rest] = text.split('.').map(Number);
  const bytes = [first * 40 + second, ...rest].flatMap((arc) => {
    const digits = [arc & 0x7f];
    for (let left = arc >> 7; left > 0; left >>= 7) digits.unshift(0x80 | (left & 0x7f));
    return digits;
  });
  return tagged(0x06, Buffer.from(bytes));
}
