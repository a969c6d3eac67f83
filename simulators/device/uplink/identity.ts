import crypto from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { Static } from 'typebox';
import { jsonOf } from '../../../harness/common/lenient.ts';
import { SECRET_MODE } from '../../../harness/common/user-files.ts';
import { shape, Type } from '../../../harness/contract/shape.ts';
import type { Clock } from '../../common/clock.ts';
import { signRs512 } from '../../common/jwt.ts';
import { type DiskIo, disk, ifPresent, removeUnfinished, replaceFile } from '../log/io.ts';

const KEY_FILE = 'private-key.pem';
const DEVICE_FILE = 'device.json';

const storedDevice = shape('device.json', Type.Object({ device_id: Type.String(), session_id: Type.String() }));
export type StoredDevice = Static<typeof storedDevice.schema>;

export const identityDirectory = (dir: string): string => join(dir, 'identity');

export async function loadDevice(dir: string): Promise<StoredDevice | undefined> {
  const path = join(identityDirectory(dir), DEVICE_FILE);
  const text = ifPresent(path, () => readFileSync(path, 'utf8'));
  if (text === undefined) return undefined;
  const value = jsonOf(text);
  if (!storedDevice.is(value))
    throw new Error(`${path} is not {"device_id", "session_id"}; remove it to provision again`);
  return value;
}

export async function saveDevice(dir: string, device: StoredDevice, io = disk): Promise<void> {
  await writeWhole(io, identityDirectory(dir), DEVICE_FILE, `${JSON.stringify(device)}\n`);
}

export async function ensureKey(dir: string, bits: number, io = disk): Promise<'made' | 'present'> {
  if (existsSync(join(identityDirectory(dir), KEY_FILE))) return 'present';
  const { privateKey } = await promisify(crypto.generateKeyPair)('rsa', { modulusLength: bits });
  const pem = privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
  await writeWhole(io, identityDirectory(dir), KEY_FILE, pem);
  return 'made';
}

export async function publicKeyPem(dir: string): Promise<string> {
  const key = crypto.createPublicKey(await privateKey(dir));
  return key.export({ type: 'spki', format: 'pem' }).toString();
}

/** Reads the key each time, because keeping keys costs memory in a fleet. */
export async function mintDeviceJwt(dir: string, clock: Clock): Promise<string> {
  const key = await privateKey(dir);
  const der = crypto.createPublicKey(key).export({ type: 'spki', format: 'der' });
  const issuedAt = Math.floor(clock.now() / 1000);
  // 120 seconds: the longest lifetime that the platform accepts.
  const claims = { jti: crypto.randomUUID(), iat: issuedAt, exp: issuedAt + 120 };
  return await signRs512(claims, key, crypto.createHash('sha256').update(der).digest('hex'));
}

async function privateKey(dir: string): Promise<crypto.KeyObject> {
  const path = join(identityDirectory(dir), KEY_FILE);
  const pem = await readFile(path);
  try {
    return crypto.createPrivateKey(pem);
  } catch {
    throw new Error(`${path} holds no private key; remove the identity directory to provision again`);
  }
}

async function writeWhole(io: DiskIo, directory: string, name: string, text: string): Promise<void> {
  io.makeDirectory(directory, 0o700);
  removeUnfinished(io, directory);
  await replaceFile(io, directory, name, text, false, SECRET_MODE);
}
