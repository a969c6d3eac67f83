import { existsSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { expect, onTestFinished, test, vi } from 'vitest';
import { Redactor } from '../common/redact.ts';
import { localhostTls } from '../common/testing/localhost-tls.ts';
import { NEWEST_VERSION } from '../contract/versions.ts';
import type { DeviceTargetOptions, PlatformTargetOptions, TargetFile } from './fields.ts';
import { declaredCapabilities, deviceSettings, platformSettings } from './settings.ts';
import { temporaryFolder } from './testing/places.ts';

const folder = temporaryFolder();
function given<O extends { target?: string }>(options: O): O & { redactor: Redactor } {
  const path = join(folder, 'target.yaml');
  if (options.target !== undefined) writeFileSync(path, options.target);
  return { redactor: new Redactor(), env: {}, ...options, ...(options.target === undefined ? {} : { target: path }) };
}
const device = (options: Partial<DeviceTargetOptions>) => deviceSettings(given(options));
const platform = (options: Partial<PlatformTargetOptions>) =>
  platformSettings(given({ apiKey: 'k', url: 'http://x', ...options }));

const unix = { at: { address: '/f', transport: { name: 'unix' } } };
test.each<[string, Partial<DeviceTargetOptions>, object]>([
  ['an option names the device', { socket: '/a' }, { at: { address: '/a' }, command: undefined }],
  ['over the file', { url: 'http://o', target: 'device: {socket: /f}' }, { at: { transport: { name: 'url' } } }],
  ['as the file does', { target: 'device: {socket: /f}' }, { ...unix, folder }],
  ['the first of two in a file', { target: 'device: {url: "http://f", discovery: /d}' }, { at: { address: '/d' } }],
  ['a command runs here', { command: 'a', target: 'device: {cwd: /f}' }, { command: 'a', cwd: undefined }],
  ['that of a file where it says', { target: 'device: {command: agent, cwd: w}' }, { cwd: join(folder, 'w') }],
  ['or beside it', { target: 'device: {command: agent}' }, { command: 'agent', cwd: folder }],
  ['paths of the caller', { command: '{ca} {ca} {x}', placeholders: { ca: '/c' } }, { command: '/c /c {x}' }],
  ['an image by its name', { image: 'i' }, { image: { name: 'i' }, at: undefined, command: undefined }],
  ['an image has its own socket', { image: 'i', socket: '/s' }, { image: { socket: '/s' }, at: undefined }],
  ['one of a file', { port: 7, target: 'device: {image: {name: i, port: 8}}' }, { image: { name: 'i', port: 7 } }],
  ['a control inside it', { image: 'i', control: '/c' }, { image: { control: '/c' }, control: undefined }],
  ['a control outside of it', { image: 'i', control: '8080' }, { image: { name: 'i' }, control: '8080' }],
  ['a control of the file', { socket: '/a', target: 'control: {http: c}' }, { control: join(folder, 'c') }],
  ['seconds to start', { target: 'device: {socket: /a, start_seconds: 2}' }, { startOptions: { timeoutMs: 2000 } }],
])('%s: %j', (_, options, settings) => {
  expect(device(options)).toMatchObject(settings);
});

test.each<[Partial<DeviceTargetOptions>, RegExp]>([
  [{}, /^which device\? Give one of --socket PATH, --discovery FILE, --url URL, --image IMAGE, --command LINE or/],
  [{ command: 'a', image: 'b' }, /^--command and --image: give one of them$/],
  [{ socket: 'a', url: 'http://b' }, /^--socket and --url: give one of them$/],
  [{ command: 'a', control: 'HTTP://127.0.0.1:80801' }, /^--control HTTP:\/\/127\.0\.0\.1:80801: is no address; /],
  [{ command: 'a', control: 'http://rig:pw@h:8082' }, /^--control: credentials do not belong into the address$/],
  [{ command: 'a', control: '99999' }, /^--control 99999: is no address; accepted: an http\(s\) URL, a port or a so/],
  [{ image: 'i', port: 7, control: '/c' }, /^--control \/c: an image with a port has no .* give its control API's URL/],
  [{ target: 'device: {image: {name: i, port: 7, control: /c}}' }, /^--control \/c: an image with a port has no /],
  [{ socket: 'a', ca: '/nonexistent' }, /^--ca \/nonexistent: cannot be read/],
])('a device target by %j is refused', (options, words) => {
  expect(() => device(options)).toThrow(words);
});

test('the places of a command are in a private folder, which is removed later', () => {
  const { at, command, control, removeFolder } = device({ command: 'a {socket} {control} {dir} {other} {socket}' });
  const [, socket = '', ...rest] = command?.split(' ') ?? [];
  const place = dirname(socket);
  const places = ['agent.sock', `${place}/control.sock`, `${place}/agent`, '{other}', socket];
  expect([basename(socket), ...rest]).toEqual(places);
  expect(at).toMatchObject({ transport: { name: 'unix' }, address: socket });
  expect(control).toBe(`${place}/control.sock`);
  expect(existsSync(place)).toBe(true);
  removeFolder();
  expect(existsSync(place)).toBe(false);
  const other = device({ command: 'a {discovery}', control: '/c' });
  expect(other.command).toMatch(/\/discovery\.json$/);
  expect(other).toMatchObject({ at: { transport: { name: 'loopback' } }, control: '/c' });
  other.removeFolder();
  expect(() => device({ command: 'a {dir}' }).removeFolder()).not.toThrow();
  expect(device({ command: 'a', socket: '/s' })).toMatchObject({ at: { address: '/s' }, control: undefined });
});

test('a token is masked, whether from an option or a file', () => {
  const redactor = new Redactor();
  device({ url: 'http://x', token: 'the-token-of-an-option', redactor });
  device({ redactor, target: 'device: {url: "http://x", token: the-token-of-a-file}' });
  expect(redactor.text('the-token-of-an-option the-token-of-a-file')).toBe('*** ***');
});

test.each<[string, Partial<DeviceTargetOptions>, string]>([
  ['the environment', { url: 'http://x' }, 'e'],
  ['this environment, and not that of the agent', { url: 'http://x', env: { MUSTER_TOKEN: 'agent' } }, 'e'],
])('the token of a device comes from %s', (_, options, token) => {
  vi.stubEnv('MUSTER_TOKEN', 'e');
  onTestFinished(() => void vi.unstubAllEnvs());
  expect(device(options).fields).toMatchObject({ token });
  vi.stubEnv('MUSTER_TOKEN', '');
  expect(device(options).fields).toEqual({ url: 'http://x' });
});

const usual = { dialect: 'spec', apiVersion: NEWEST_VERSION, readOnly: false, apiKey: 'k', cwd: undefined };
const miru = 'platform: {dialect: miru, read_only: true, online_device: d}';
const limited = { MUSTER_LIMITED_KEY: 'l' };
test.each<[string, Partial<PlatformTargetOptions>, object]>([
  ['defaults', {}, usual],
  ['a file', { target: miru }, { dialect: 'miru', readOnly: true, onlineDevice: 'd', versionHeader: 'Miru-Version' }],
  ['a flag by either', { readOnly: false, target: 'platform: {read_only: true}' }, { readOnly: true }],
  ['keys of the environment', { env: limited }, { limitedKey: 'l' }],
  ['keys of a file before it', { env: limited, target: 'platform: {limited_key: f}' }, { limitedKey: 'f' }],
  ['an image without a port', { image: 'i' }, { image: { name: 'i', port: 8080 } }],
  ['an image', { image: 'i', port: 9 }, { image: { name: 'i', port: 9 }, startOptions: { timeoutMs: 60_000 } }],
  [
    'a command of a file',
    { target: 'platform: {command: p, start_seconds: 3}' },
    { command: 'p', cwd: folder, startOptions: { timeoutMs: 3000 } },
  ],
])('platform settings come from %s', (_, options, settings) => {
  expect(platform(options)).toMatchObject(settings);
});

test.each<[Partial<PlatformTargetOptions>, string[]]>([
  [{}, ['seed-data', 'write']],
  [{ limitedKey: 'l', readOnly: true, capability: ['write,online-device'] }, ['limited-key', 'online-device']],
  [{ env: { MUSTER_LIMITED_KEY: '' } }, ['seed-data', 'write']],
])('a platform by %j declares %j before it is asked', (options, capabilities) => {
  expect([...platform(options).capabilities].sort()).toEqual(capabilities);
});

test('keys are masked, and an empty key is refused', () => {
  const redactor = new Redactor();
  platform({ apiKey: 'key-1f2e3d4c5b', limitedKey: 'key-6a7b8c9d0e', redactor });
  expect(redactor.text('key-1f2e3d4c5b key-6a7b8c9d0e')).toBe('*** ***');
  expect(() => platform({ apiKey: '' })).toThrow('--api-key: missing; give it, or set MUSTER_API_KEY');
  expect(() => platform({ url: 'nowhere' })).toThrow('--url nowhere: must be an http');
  const unnamed = { redactor, env: {}, apiKey: 'k' };
  expect(() => platformSettings(unnamed)).toThrow(/^which platform\? Give one of --url URL, --image IMAGE, --command/);
});

test('the file of --ca is read, and must hold a certificate', () => {
  const ca = join(folder, 'ca.pem');
  writeFileSync(ca, localhostTls.cert);
  expect(platform({ ca })).toMatchObject({ ca: localhostTls.cert, caFile: ca });
  expect(device({ target: 'device: {socket: /a, ca: ca.pem}' })).toMatchObject({ ca: localhostTls.cert, caFile: ca });
  writeFileSync(ca, localhostTls.key);
  expect(() => platform({ ca })).toThrow(`--ca ${ca}: holds no certificate in PEM form`);
});

test('declared capabilities join options and file, and must exist for the target', () => {
  const file: TargetFile = { capabilities: ['restart', 'write'] };
  const declared = declaredCapabilities('device', { capability: ['drive,log', 'files'] }, file);
  expect([...declared]).toEqual(['drive', 'log', 'files', 'restart', 'write']);
  const refused = (kind: 'platform' | 'client', name: string) => () =>
    declaredCapabilities(kind, { capability: [name] }, {});
  expect(refused('platform', 'wirte')).toThrow(/^--capability wirte: did you mean write\? acc/);
  expect(refused('client', 'zzzzzzzz')).toThrow(/^--capability zzzzzzzz: accepted are /);
});
