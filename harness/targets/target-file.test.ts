import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { Redactor } from '../common/redact.ts';
import { UsageError } from '../common/usage.ts';
import { loadTargetFile } from './settings.ts';
import { temporaryFolder } from './testing/places.ts';

const folder = temporaryFolder();

function file(name: string, text: string): string {
  mkdirSync(join(folder, name, '..'), { recursive: true });
  writeFileSync(join(folder, name), text);
  return join(folder, name);
}
const variable = (name: string): string => `$\{${name}}`;
const load = (path: string, env: Record<string, string> = {}, redactor = new Redactor()) =>
  loadTargetFile(path, env, redactor).file;

test('a target file overrides its bases, merges maps, and resolves paths by their file', () => {
  file(
    'base/base.yaml',
    'name: agent\nversion: "1"\nartifact: a.bin\ndevice: {socket: ./a.sock, start_seconds: 5}\ncapabilities: [log]\n',
  );
  const over = file(
    'over.yaml',
    'extends: base/base.yaml\nversion: "2"\ndevice: {start_seconds: 9}\ncapabilities: [files]\n',
  );
  expect(load(over)).toEqual({
    name: 'agent',
    version: '2',
    artifact: join(folder, 'base/a.bin'),
    device: { socket: join(folder, 'base/a.sock'), start_seconds: 9 },
    capabilities: ['files'],
  });
});

test('a later base overrides an earlier base', () => {
  file('one.yaml', 'name: one\nversion: "1"\n');
  file('two.yaml', 'name: two\n');
  expect(load(file('both.yaml', 'extends: [one.yaml, two.yaml]\n'))).toEqual({ name: 'two', version: '1' });
});

test('a target file fills in environment variables, and masks secret ones', () => {
  const redactor = new Redactor();
  const path = file(
    'env.yaml',
    `platform: {url: "http://127.0.0.1:${variable('PORT:-8080')}/beta", api_key: "${variable('THE_KEY')}"}\n`,
  );
  expect(load(path, { THE_KEY: 'abcd-efgh-1' }, redactor).platform).toEqual({
    url: 'http://127.0.0.1:8080/beta',
    api_key: 'abcd-efgh-1',
  });
  expect(redactor.text('it is abcd-efgh-1')).toBe('it is ***');
  load(file('token.yaml', 'device: {url: "http://x", token: tk-1f2e3d4c}\n'), {}, redactor);
  expect(redactor.text('tk-1f2e3d4c')).toBe('***');
  load(
    file('named.yaml', `name: "${variable('A_password')} ${variable('OTHER')}"\n`),
    { A_password: 'pw-1f2e3d4c', OTHER: 'ot-1f2e3d4c' },
    redactor,
  );
  expect(redactor.text('pw-1f2e3d4c ot-1f2e3d4c')).toBe('*** ot-1f2e3d4c');
  const env = { DB_PWD: 'db-1f2e3d4c', WIFI_PSK: 'wi-1f2e3d4c', PWD: '/home/robot-1', OLDPWD: '/home/robot-2' };
  load(file('more.yaml', `name: "${Object.keys(env).map(variable).join(' ')}"\n`), env, redactor);
  expect(redactor.text(Object.values(env).join(' '))).toBe('*** *** /home/robot-1 /home/robot-2');
});

test.each([
  ['a: [', /bad\.yaml:1:5: Flow sequence/],
  ['name: x\nname: y\n', /bad\.yaml:2:1: the key 'name' stands twice$/],
  ['- a\n', /must be a map/],
  ['name: x\ndevise: {}\n', /bad\.yaml:2:1: \/devise is not known here; accepted are .*device, control, platform/],
  ['device:\n  sokcet: a\n', /bad\.yaml:2:3: \/device\/sokcet is not known here; accepted are socket, discovery, url/],
  ['device: {image: {nam: a}}\n', /bad\.yaml:1:\d+: \/device\/image/],
  ['device: {socket: 7}\n', /bad\.yaml:1:10: \/device\/socket/],
  ['capabilities: [fly]\n', /must be one of .*"drive"/],
  ['device: {"a~/b": 1}\n', /bad\.yaml:1:10: \/device\/a~0~1b is not known here/],
  ['{}\nx', /bad\.yaml:2:1: /],
  ['extends: .\n', /: cannot be read \(/],
  ['extends: bad.yaml\n', /--target: \S+bad\.yaml extends \S+bad\.yaml: a circle/],
  ['extends: gone.yaml\n', /gone\.yaml: no such file \(extended by/],
  [`name: "${variable('NOT_SET')}"\n`, /the environment variable NOT_SET is not set/],
])('a target file of %j is refused, with the position', (text, words) => {
  const path = file('bad.yaml', text);
  expect(() => load(path)).toThrow(words);
  expect(() => load(path)).toThrow(UsageError);
});

test('a mistake in a base is reported with its position there', () => {
  file('wrong.yaml', 'name: x\ndevice:\n  start_seconds: soon\n');
  expect(() => load(file('over-wrong.yaml', 'extends: wrong.yaml\nversion: "1"\n'))).toThrow(
    /\/wrong\.yaml:3:3: \/device\/start_seconds must be number/,
  );
});

test('every target file of the project is accepted', () => {
  const targets = join(import.meta.dirname, '../../fixtures/targets');
  const files = readdirSync(targets).filter((name) => name.endsWith('.yaml'));
  expect(files.length).toBeGreaterThan(0);
  const env = { AGENT_DIR: folder, MUSTER_API_KEY: 'some-key', AGENT_TOKEN: 'some-token', MIRU_AGENT: '/a' };
  for (const name of files) expect(() => load(join(targets, name), env), name).not.toThrow();
});
