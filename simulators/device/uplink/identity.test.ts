import { mkdir, readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { useScratch } from '../../common/testing/scratch.ts';
import { ensureKey, identityDirectory, loadDevice, publicKeyPem, saveDevice } from './identity.ts';

const home = useScratch();

const modeOf = async (path: string) => (await stat(path)).mode & 0o777;

it('the identity of a robot is made once, and only its owner can read it', async () => {
  expect(await ensureKey(home.path, 2048)).toBe('made');
  const pem = await publicKeyPem(home.path);
  await saveDevice(home.path, { device_id: 'dvc_1', session_id: 'dvc_sess_1' });
  expect(await ensureKey(home.path, 2048)).toBe('present');
  expect(await publicKeyPem(home.path)).toBe(pem);
  expect(await loadDevice(home.path)).toEqual({ device_id: 'dvc_1', session_id: 'dvc_sess_1' });
  const directory = identityDirectory(home.path);
  expect(await modeOf(directory)).toBe(0o700);
  const files = await readdir(directory);
  expect(files.sort()).toEqual(['device.json', 'private-key.pem']);
  for (const file of files) expect(await modeOf(join(directory, file))).toBe(0o600);
});

it.each(['', '{', '{}', '{"device_id":1,"session_id":"x"}', 'null'])('an identity is refused for %j', async (text) => {
  await mkdir(identityDirectory(home.path));
  await writeFile(join(identityDirectory(home.path), 'device.json'), text);
  await expect(loadDevice(home.path)).rejects.toThrow(/device\.json.*remove it/);
});

it('the identity of a robot is refused when its file holds no key, and the error hides the content', async () => {
  await ensureKey(home.path, 2048);
  const path = join(identityDirectory(home.path), 'private-key.pem');
  const secret = (await readFile(path, 'utf8')).split('\n')[1] ?? '';
  await writeFile(path, `-----BEGIN PRIVATE KEY-----\n${secret}\n`);
  const failure = await publicKeyPem(home.path).catch((error: Error) => error);
  expect(String(failure)).toMatch(/holds no private key/);
  expect(String(failure)).not.toContain(secret);
});
