import { chmodSync, chownSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, expect, test } from 'vitest';
import { parseCommandLine } from './command-line.ts';
import type { ParsedCommand } from './options.ts';
import { typed, useFolder } from './testing/muster.ts';

const at = useFolder();
let root = '';
let count = 0;

beforeEach(() => {
  count += 1;
  root = at(String(count));
  mkdirSync(join(root, '.git'), { recursive: true });
  mkdirSync(join(root, 'sub/deep'), { recursive: true });
});

const file = (text: string, ...place: string[]): void => writeFileSync(join(root, ...place, 'muster.yaml'), text);
const parsed = async (words: readonly string[], folder = root): Promise<ParsedCommand> => {
  const invocation = await parseCommandLine(words, folder);
  if ('text' in invocation) throw new Error('a text');
  return invocation;
};
const sections = async (...words: string[]): Promise<unknown> =>
  (await parsed(['list', ...words], join(root, 'sub/deep'))).given['section'];
const mistake = (words: readonly string[], folder = root): Promise<string> =>
  parsed(words, folder).then(String, (error: Error) => error.message);

test('options come from muster.yaml, and typed options override them', async () => {
  file('check:\n  device:\n    command: ./agent\n    fast: true\n    runs: 2\n    only: [a, b]\n    report: pretty\n');
  const { given, config } = await parsed(typed`check device --runs 3 --no-fast --report json=x.json`);
  expect(given).toEqual({ command: './agent', fast: false, runs: 3, only: ['a', 'b'], report: ['json=x.json'] });
  expect(config).toMatchObject({ file: 'muster.yaml', folder: root, names: ['command', 'only'] });
});

test('numbers in muster.yaml are taken as they are written', async () => {
  file('check: {device: {target-version: 1.10, section: [6.10], seed: 7, runs: 1e1}}');
  const { given } = await parsed(typed`check device --socket s`);
  expect(given).toEqual({ 'target-version': '1.10', section: ['6.10'], seed: 7, runs: 10, socket: 's' });
});

test.each([
  ['verify c.json --artifact a', { file: 'c.json', key: 'k.pem', artifact: 'a' }],
  ['check device --socket /run/a.sock', { socket: '/run/a.sock', fast: true }],
  ['check device --target a.yaml', { target: 'a.yaml', fast: true }],
  ['check device --command ./new', { command: './new', socket: '/run/own.sock', fast: true }],
])('%s drops what conflicts with it in muster.yaml, like another target, and keeps the rest', async (words, kept) => {
  const own = '{command: ./agent, socket: /run/own.sock, fast: true}';
  file(`verify: {key: k.pem, digest: "sha256:1"}\ncheck: {device: ${own}}`);
  expect((await parsed(words.split(' '))).given).toEqual(kept);
});

test('muster.yaml is found in a parent folder, and typed paths keep the user’s folder', async () => {
  file('check: {device: {command: ./agent, target: t.yaml, report: [pretty, json=run.json]}}');
  const folder = join(root, 'sub/deep');
  const words = typed`check device --baseline b.yaml --report pretty --report junit=j.xml --control 8080 --only x`;
  const { given, config } = await parsed(words, folder);
  expect(config).toMatchObject({ file: '../../muster.yaml', folder: root });
  expect(given).toMatchObject({
    baseline: join(folder, 'b.yaml'),
    report: ['pretty', `junit=${join(folder, 'j.xml')}`],
    control: '8080',
    only: ['x'],
    target: 't.yaml',
  });
  const { given: reported } = await parsed(typed`check device`, folder);
  expect(reported).toMatchObject({ target: 't.yaml', report: ['pretty', `json=${join(root, 'run.json')}`] });
});

test('the nearest muster.yaml inside the repository counts, unless --no-config is typed', async () => {
  file('list: {section: ["5"]}');
  file('list: {section: ["6"]}', 'sub');
  expect(await sections()).toEqual(['6']);
  expect(await sections('--no-config')).toBeUndefined();
  mkdirSync(join(root, 'sub/deep/.git'));
  expect(await sections()).toBeUndefined();
  expect(await sections('--config', '../muster.yaml')).toEqual(['6']);
  // A call without a folder reads no config file.
  expect(await parseCommandLine(['list'])).toMatchObject({ given: {} });
});

test.each([
  ['chek: {}', 'muster.yaml: chek is no command; did you mean check?'],
  ['check: {devise: {}}', 'muster.yaml: check: devise is no command; did you mean device?'],
  ['check: {device: {fats: true}}', 'muster.yaml: check: device: --fats: no such option; did you mean --fast?'],
  ['check: {device: {toString: true}}', 'muster.yaml: check: device: --toString: no such option'],
  ['check: {device: {runs: many}}', 'muster.yaml: check: device: --runs: must be a number above 0, up to 10000'],
  ['check: {device: {profile: {}}}', 'device: profile: must be a text, a number, true, false or a list of texts'],
  ['check: {device: [1]}', 'muster.yaml: check: device: must be a map of options'],
  ['check: {device: {fast: 1}}', 'muster.yaml: check: device: fast: must be true or false'],
  ['check: {device: {baseline: true}}', 'muster.yaml: check: device: baseline: must be a text or a number'],
  ['- check', 'muster.yaml: must be a map of commands'],
  ['check: {device: {', 'options in muster.yaml:1:'],
])('%s is a mistake', async (text, message) => {
  file(text);
  expect(await mistake(typed`check device --socket s`)).toContain(message);
});

test('muster.yaml is ignored in a folder writable by others, or of another user', async () => {
  file('list: {section: ["5"]}');
  expect(await sections()).toEqual(['5']);
  chmodSync(root, 0o777);
  expect(await sections()).toBeUndefined();
  chmodSync(root, 0o755);
  if (process.getuid?.() !== 0) return;
  chownSync(root, 0, 65_534);
  expect(await sections()).toEqual(['5']);
  chmodSync(root, 0o775);
  expect(await sections()).toBeUndefined();
  chownSync(root, 0, process.getgid?.() ?? 0);
  expect(await sections()).toEqual(['5']);
  chmodSync(root, 0o755);
  chownSync(join(root, 'muster.yaml'), 65_534, 65_534);
  expect(await sections()).toBeUndefined();
});

test('secrets and positional arguments in muster.yaml are refused', async () => {
  file('check: {platform: {api-key: k}}\nreport: {file: r.json}');
  expect(await mistake(typed`check platform --url http://x`)).toBe(
    'muster.yaml: check: platform: api-key: a file holds no secrets; set MUSTER_API_KEY in the environment',
  );
  expect(await mistake(['report', 'r.json'])).toBe('muster.yaml: report: file: is typed, after the command');
  expect(await mistake(typed`list --config none.yaml`)).toContain('--config none.yaml: cannot be read');
  expect(await mistake(typed`list --config a --config b`)).toBe('--config: given twice; accepted: once');
});
