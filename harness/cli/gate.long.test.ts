/** Runs the script of the GitHub action as GitHub runs it. */
import { spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { PLATFORM_PACKAGES } from '../common/platform-packages.ts';
import { MAIN, useFolder } from './testing/muster.ts';

const NAME = '.github/actions/check';
const PLACE = join(import.meta.dirname, '../..', NAME);
const at = useFolder();
const CLI = `'${process.execPath}' '${MAIN}'`;

interface Action {
  inputs: Record<string, { default: string }>;
  runs: { steps: { run?: string; env?: Record<string, string> }[] };
}
interface Workflow {
  jobs: { conformance: { steps: { uses?: string; with?: Record<string, string> }[] } };
}
const action = parse(readFileSync(join(PLACE, 'action.yml'), 'utf8')) as Action;
const workflow = /```yaml\n((?:.|\n)*?)```/.exec(readFileSync(join(PLACE, 'README.md'), 'utf8'))?.[1] ?? '';
const { steps } = (parse(workflow) as Workflow).jobs.conformance;
const shown = steps.find(({ uses }) => uses?.includes(NAME))?.with ?? {};

function repository(name: string, agent = `exec ${CLI} simulate device --dir "$PWD/robot" "$@"`): string {
  mkdirSync(at(name));
  writeFileSync(at(name, 'agent'), `#!/bin/bash\n${agent}\n`, { mode: 0o755 });
  writeFileSync(at(name, 'muster.baseline.yaml'), 'known: []\n');
  return at(name);
}

function checked(cwd: string, given: Record<string, string>) {
  const { run = '', env = {} } = action.runs.steps.find((step) => step.run !== undefined) ?? {};
  const filled = Object.entries(env).map(([name, text]) => [
    name,
    text.replace(/\$\{\{ (?:inputs\.([\w-]+)|github\.action_path) \}\}/, (_, input: string | undefined) =>
      input === undefined ? PLACE : (given[input] ?? action.inputs[input]?.default ?? expect.unreachable(input)),
    ),
  ]);
  const files = { GITHUB_OUTPUT: join(cwd, '.output'), GITHUB_STEP_SUMMARY: join(cwd, '.summary') };
  const PATH = [join(cwd, 'bin'), dirname(process.execPath), process.env['PATH']].join(delimiter);
  const { status, stdout, stderr } = spawnSync('bash', ['--noprofile', '--norc', '-eo', 'pipefail', '-c', run], {
    ...{ cwd, encoding: 'utf8' },
    env: { ...process.env, PATH, GITHUB_ACTIONS: 'true', ...files, ...Object.fromEntries(filled) },
  });
  const [output, summary] = Object.values(files).map((file) => readFileSync(file, 'utf8'));
  return { status, out: stdout + stderr, output, summary };
}

test('the README shows a workflow of ten lines at most with known inputs', () => {
  expect(workflow.trim().split('\n').length).toBeLessThanOrEqual(10);
  expect(Object.keys(action.inputs)).toEqual(expect.arrayContaining(Object.keys(shown)));
});

test('the gate passes a conforming agent and writes its reports', () => {
  const cwd = repository('good');
  const { status, out, output, summary } = checked(cwd, { options: `${shown['options']} --fast --section 2.1 9` });
  expect(status, out).toBe(0);
  expect(out).toContain('NO FAILURE FOUND');
  expect(output).toBe('exit-code=0\n');
  expect(summary).toContain('✅ NO FAILURE FOUND');
  const reports = (file: string): string => readFileSync(join(cwd, 'muster-report', file), 'utf8');
  expect(reports('junit.xml')).toContain('<testsuites ');
  expect(reports('report.html')).toContain('NO FAILURE FOUND');
  expect(JSON.parse(reports('report.json'))).toMatchObject({ exit_code: 0 });
});

test('the gate stops and annotates a failing agent and keeps its reports', () => {
  const program = `
    const json = { "content-type": "application/json" };
    const server = require("node:http").createServer((q, s) => s.writeHead(200, json).end("{}"));
    server.listen(process.argv[2])`;
  const cwd = repository('bad', `exec '${process.execPath}' -e '${program}' x "\${@: -1}"`);
  const options = `${shown['options']} --only device.deployment.shape`;
  const { status, out, output, summary } = checked(cwd, { options });
  expect(status, out).toBe(1);
  expect(output).toBe('exit-code=1\n');
  expect(out).toMatch(/^::error title=device.deployment.shape \(MUST%2C section 2.1\)::/m);
  expect(summary).toContain('❌ NOT CONFORMANT');
  expect(readFileSync(join(cwd, 'muster-report/report.html'), 'utf8')).toContain('NOT CONFORMANT');
});

test('the gate reads options from muster.yaml and runs another package with npx', () => {
  const cwd = repository('configured');
  const only = 'device.version.prefix';
  writeFileSync(join(cwd, 'muster.yaml'), `check: {device: {command: './agent --socket {socket}', only: ${only}}}\n`);
  mkdirSync(join(cwd, 'bin'));
  // This `npx` runs the checkout, because the test must not use the registry.
  const npx = `#!/bin/bash\necho "npx $*" >&2\nuntil [ "$1" = muster ]; do shift; done\nshift\nexec ${CLI} "$@"\n`;
  writeFileSync(join(cwd, 'bin/npx'), npx, { mode: 0o755 });
  const { status, out } = checked(cwd, { package: 'https://example.com/muster.tgz' });
  expect(out).toContain('npx --yes --package https://example.com/muster.tgz muster');
  expect(out).toContain('options from muster.yaml: command, only');
  expect(status).toBe(0);
  const driven = checked(cwd, { package: 'https://example.com/muster.tgz', options: '--control platform --help' });
  const wanted = ['testcontainers@12', ...PLATFORM_PACKAGES].map((name) => `--package=${name}`).join(' ');
  expect(driven.out).toContain(`npx --yes ${wanted} --package https://example.com/muster.tgz muster`);
});
