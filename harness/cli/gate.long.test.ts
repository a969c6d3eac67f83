/**
 * The workflow of the action's page in a repository of its own, run as a runner would run it, against an agent that is
 * built there.
 */
import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { MAIN, useFolder } from './testing/muster.ts';
import { type Action, runWorkflow, stepsOf, type WorkflowRun } from './testing/workflow.ts';

const ROOT = join(import.meta.dirname, '../..');
const NAME = '.github/actions/check';
const at = useFolder();
const CLI = `'${process.execPath}' '${MAIN}'`;

const action = parse(readFileSync(join(ROOT, NAME, 'action.yml'), 'utf8')) as Action;
const page = readFileSync(join(ROOT, NAME, 'README.md'), 'utf8');
const workflow = /```ya?ml\n((?:.|\n)*?)```/.exec(page)?.[1] ?? '';

/** A checkout of Muster where a runner puts it, with its packages installed. */
function checkout(): string {
  const home = at('actions/OWNER/muster/main');
  mkdirSync(home, { recursive: true });
  cpSync(join(ROOT, NAME), join(home, NAME), { recursive: true });
  for (const name of ['harness', 'suites', 'simulators', 'package.json', 'node_modules'])
    symlinkSync(join(ROOT, name), join(home, name));
  return join(home, NAME);
}
const actions = { [NAME]: checkout() };

/** A team's repository: `make agent` builds an agent from `agent.sh`, the workflow stands where GitHub looks for it. */
function repository(name: string, agent: string): string {
  const cwd = at(name);
  mkdirSync(join(cwd, '.github/workflows'), { recursive: true });
  const write = (file: string, text: string): void => writeFileSync(join(cwd, file), text);
  write('agent.sh', `#!/bin/bash\n${agent}\n`);
  write('Makefile', 'agent: agent.sh\n\tcp agent.sh agent\n\tchmod +x agent\n');
  write('muster.baseline.yaml', 'known: []\n');
  write('.github/workflows/gate.yml', workflow);
  execFileSync('git', ['init', '--quiet'], { cwd });
  return cwd;
}

/** As the workflow stands, but with a faster choice of checks. */
function push(cwd: string, more: string, change: (text: string) => string = (text) => text): Promise<WorkflowRun> {
  const text = readFileSync(join(cwd, '.github/workflows/gate.yml'), 'utf8');
  const path = [join(cwd, 'bin'), dirname(process.execPath), process.env['PATH']].join(delimiter);
  const env = { ...process.env, PATH: path };
  return runWorkflow(change(text.replace(/^( *options: .*)$/m, `$1 ${more}`)), cwd, actions, env);
}

const simulated = `exec ${CLI} simulate device --dir "$PWD/robot" "$@"`;

test('the workflow is shown, in at most ten lines', () => {
  expect(workflow).toContain(NAME);
  expect(workflow.trim().split('\n').length).toBeLessThanOrEqual(10);
});

test('every input that is shown is one of the action, and every required one is given', () => {
  const given = Object.keys(stepsOf(workflow).find(({ uses }) => uses?.includes(NAME))?.with ?? {});
  expect(Object.keys(action.inputs)).toEqual(expect.arrayContaining(given));
  const required = Object.entries(action.inputs).filter(([, input]) => input.required === true);
  expect(given).toEqual(expect.arrayContaining(required.map(([name]) => name)));
});

test('a conforming agent passes the gate, and leaves its reports', async () => {
  const cwd = repository('good', simulated);
  const { code, out, outputs, summary, used } = await push(cwd, '--fast --section 2.1 9');
  expect(out).toContain('NO FAILURE FOUND');
  expect(code).toBe(0);
  expect(outputs).toEqual({ 'exit-code': '0' });
  expect(summary).toContain('✅ NO FAILURE FOUND');
  expect(used.map(({ uses }) => uses.replace(/@.*/, ''))).toEqual([
    'actions/checkout',
    'actions/setup-node',
    'actions/upload-artifact',
  ]);
  const upload = used.at(-1)?.with;
  expect(upload).toMatchObject({ name: 'muster-report', path: 'muster-report' });
  const reports = (file: string): string => readFileSync(join(cwd, upload?.['path'] ?? '', file), 'utf8');
  expect(reports('junit.xml')).toContain('<testsuites ');
  expect(reports('report.html')).toContain('NO FAILURE FOUND');
  expect(JSON.parse(reports('report.json'))).toMatchObject({ exit_code: 0 });
});

test('one that does not conform is stopped, annotated, and its reports are kept', async () => {
  const cwd = repository(
    'bad',
    `exec '${process.execPath}' -e '
    const json = { "content-type": "application/json" };
    const server = require("node:http").createServer((q, s) => s.writeHead(200, json).end("{}"));
    server.listen(process.argv[2])' x "\${@: -1}"`,
  );
  const { code, out, outputs, summary, used } = await push(cwd, '--only device.deployment.shape');
  expect(code).toBe(1);
  expect(outputs).toEqual({ 'exit-code': '1' });
  expect(out).toMatch(/^::error title=device.deployment.shape \(MUST%2C section 2.1\)::/m);
  expect(summary).toContain('❌ NOT CONFORMANT');
  expect(used.at(-1)?.uses).toContain('upload-artifact');
  expect(readFileSync(join(cwd, 'muster-report/report.html'), 'utf8')).toContain('NOT CONFORMANT');
});

test('one that dies is undecided, and its last lines are in the report', async () => {
  const { code, out } = await push(repository('dead', 'echo "no such device" >&2; exit 3'), '--fast');
  expect(code).toBe(2);
  expect(out.replaceAll(/\s+/g, ' ')).toMatch(
    /ended with exit code 3 before it served .*; the last lines that it wrote: no such device/,
  );
});

test('options that stand in muster.yaml need not stand in the workflow', async () => {
  const cwd = repository('configured', simulated);
  const only = 'device.version.prefix';
  writeFileSync(join(cwd, 'muster.yaml'), `check: {device: {command: './agent --socket {socket}', only: ${only}}}\n`);
  const { code, out } = await push(cwd, '', (text) => text.replace(/^ *(?:options|with):.*\n/gm, ''));
  expect(out).toContain('options from muster.yaml: command, only');
  expect(code).toBe(0);
});

test('another package can be named, which npx runs', async () => {
  const cwd = repository('packaged', simulated);
  const bin = join(cwd, 'bin');
  mkdirSync(bin);
  // Stands in for the registry.
  const npx = `#!/bin/bash\necho "npx $1 $2 $3 $4" >&2; shift 4\nexec ${CLI} "$@"\n`;
  writeFileSync(join(bin, 'npx'), npx, { mode: 0o755 });
  const name = 'https://example.com/muster.tgz';
  const { code, out } = await push(cwd, '--only device.version.prefix', (text) =>
    text.replace(/^( *)options:/m, `$1package: ${name}\n$1options:`),
  );
  expect(out).toContain(`npx --yes --package ${name} muster`);
  expect(code).toBe(0);
});
