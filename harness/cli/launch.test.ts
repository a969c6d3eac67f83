import { execFileSync, spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it, test } from 'vitest';
import { EXIT } from '../common/usage.ts';
import { useFolder } from './testing/muster.ts';

const ROOT = join(import.meta.dirname, '../..');
const LAUNCHER = join(import.meta.dirname, 'launch.cjs');
const folder = useFolder()();

const { bin, engines } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as {
  bin: Record<string, string>;
  engines: { node: string };
};
const needed = engines.node;
const [major = 0, minor = 0] = needed.replace('>=', '').split('.').map(Number);

function launchedOn(version: string, launcher = LAUNCHER): { code: number | null; stdout: string; stderr: string } {
  const disguise = join(folder, 'disguise.cjs');
  writeFileSync(
    disguise,
    `const { FAKE_NODE: node, ...env } = process.env;
process.env = env;
Object.defineProperty(process, 'versions', { value: { ...process.versions, node } });`,
  );
  const { status, stdout, stderr } = spawnSync(process.execPath, ['--require', disguise, launcher, '--version'], {
    encoding: 'utf8',
    env: { ...process.env, FAKE_NODE: version },
  });
  return { code: status, stdout, stderr };
}

test('the package’s command is the launcher', () => {
  expect(bin).toEqual({ muster: 'dist/harness/cli/launch.cjs' });
  expect(needed).toMatch(/^>=\d+\.\d+$/);
});

test.each(['12.22.12', `${major - 1}.99.0`, `${major}.${minor - 1}.9`])('Node %s is refused as too old', (version) => {
  const { code, stdout, stderr } = launchedOn(version);
  expect(stderr).toBe(
    `muster: needs Node ${major}.${minor} or later, and this is Node ${version} (${process.execPath}): ` +
      'npm i -D node brings one\n',
  );
  expect(stdout).toBe('');
  expect(code).toBe(EXIT.harness);
});

test.each([`${major}.${minor}.0`, `${major + 1}.0.0`, '100.0.0'])('Node %s runs the command', (version) => {
  const { code, stdout, stderr } = launchedOn(version);
  expect(stderr).toBe('');
  expect(stdout).toMatch(/^\d+\.\d+\.\d+\n$/);
  expect(code).toBe(0);
});

describe('the installed launcher', () => {
  const compiled = join(folder, 'dist/harness/cli');
  beforeAll(() => {
    mkdirSync(compiled, { recursive: true });
    execFileSync(process.execPath, [join(ROOT, '.config/plain-files.ts'), join(folder, 'dist')]);
    cpSync(join(ROOT, 'package.json'), join(folder, 'package.json'));
  });
  const launcher = join(compiled, 'launch.cjs');

  it('starts the compiled command', () => {
    writeFileSync(join(compiled, 'main.js'), 'process.stdout.write(process.argv[2]); process.exitCode = 64;');
    expect(launchedOn(process.versions.node, launcher)).toEqual({ code: 64, stdout: '--version', stderr: '' });
    expect(launchedOn('20.20.2', launcher).stderr).toMatch(/^muster: needs Node \d+\.\d+ or later/);
  });

  it.each<[string, string, RegExp | undefined]>([
    ['a file cannot be loaded', "import './gone.js';", /^muster: .*gone\.js/],
    ['the command never finishes', 'await new Promise(() => {}); process.exitCode = 0;', undefined],
  ])('exits with 3 when %s', (_, source, said) => {
    writeFileSync(join(compiled, 'main.js'), source);
    const { code, stderr } = launchedOn(process.versions.node, launcher);
    if (said !== undefined) expect(stderr).toMatch(said);
    expect(code).toBe(EXIT.harness);
  });
});

/** Name and source of a file, and whether Node 12 can parse the source. */
const SOURCES = [
  ['launcher', readFileSync(LAUNCHER, 'utf8'), true],
  ['coalescing', 'exports.name = process.env.NAME ?? "none";', false],
  ['chaining', 'exports.length = process.env.NAME?.length;', false],
] as const;

describe('compilation to ES2019', () => {
  beforeAll(() => {
    const files = SOURCES.map(([name]) => join(folder, `${name}.cjs`));
    for (const [at, [, source]] of SOURCES.entries()) writeFileSync(files[at] ?? '', source);
    const tsc = [join(ROOT, 'node_modules/typescript/bin/tsc'), '--ignoreConfig', '--checkJs', '--strict', 'false'];
    const types = ['--types', 'node', '--typeRoots', join(ROOT, 'node_modules/@types'), '--module', 'nodenext'];
    for (const target of ['es2019', 'esnext']) {
      const places = ['--outDir', join(folder, target), '--target', target, '--skipLibCheck'];
      execFileSync(process.execPath, [...tsc, ...types, ...places, ...files]);
    }
  });

  it.each(SOURCES)('changes the %s only if Node 12 cannot parse it', (name, _, isOld) => {
    const written = (target: string): string => readFileSync(join(folder, target, `${name}.cjs`), 'utf8');
    expect(written('es2019') === written('esnext')).toBe(isOld);
  });
});
