/** The workflow of the README, run as a runner would run it: the action's own shell lines, with the inputs that the workflow gives. */
import { execFile } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { parse } from 'yaml';

const ROOT = join(import.meta.dirname, '../..');
const ACTION = '.github/actions/check';
const folder = mkdtempSync(join(tmpdir(), 'muster-gate-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

interface Step {
  uses?: string;
  run?: string;
  with?: Record<string, string>;
  env?: Record<string, string>;
}
interface Action {
  inputs: Record<string, { default?: string; required?: boolean }>;
  runs: { using: string; steps: Step[] };
}

const action = parse(readFileSync(join(ROOT, ACTION, 'action.yml'), 'utf8')) as Action;
/** Every place that shows the workflow. */
const shown = ['README.md', `${ACTION}/README.md`].flatMap((file) => {
  const blocks = readFileSync(join(ROOT, file), 'utf8').matchAll(/```ya?ml\n((?:.|\n)*?)```/g);
  return [...blocks]
    .map(([, text = '']) => text)
    .filter((text) => text.includes(ACTION))
    .map((text) => ({ file, text }));
});

function stepIn(text: string): Step {
  const workflow = parse(text) as { jobs?: Record<string, { steps: Step[] }> } | Step[];
  const steps = Array.isArray(workflow) ? workflow : Object.values(workflow.jobs ?? {}).flatMap((job) => job.steps);
  const step = steps.find(({ uses }) => uses?.includes(ACTION));
  if (step === undefined) throw new Error('no step uses the action');
  return step;
}

/** As a runner does: inputs into the environment, the shell lines through bash. */
function runAction(
  cwd: string,
  inputs: Record<string, string>,
): Promise<{ code: number; out: string; output: string }> {
  const bin = join(cwd, 'bin');
  mkdirSync(bin, { recursive: true });
  // Stands in for the registry: runs this checkout in place of the package.
  script(join(bin, 'npx'), `shift 2\nexec '${process.execPath}' '${join(ROOT, 'harness/cli.ts')}' "$@"`);
  const given = Object.fromEntries(
    Object.entries(action.inputs).map(([name, input]) => [name, inputs[name] ?? input.default ?? '']),
  );
  const fill = (text: string): string =>
    text.replaceAll(/\$\{\{ inputs\.(\w+) \}\}/g, (_, name: string) => given[name] ?? '');
  const [step] = action.runs.steps.filter(({ run }) => run !== undefined);
  const env = {
    ...process.env,
    PATH: [bin, process.env['PATH']].join(delimiter),
    GITHUB_ACTIONS: 'true',
    GITHUB_OUTPUT: join(cwd, 'output'),
    GITHUB_STEP_SUMMARY: join(cwd, 'summary.md'),
    ...Object.fromEntries(Object.entries(step?.env ?? {}).map(([name, value]) => [name, fill(value)])),
  };
  return new Promise((resolve) => {
    execFile('bash', ['-eo', 'pipefail', '-c', step?.run ?? ''], { cwd, env }, (error, out, err) => {
      const output = existsSync(env.GITHUB_OUTPUT) ? readFileSync(env.GITHUB_OUTPUT, 'utf8') : '';
      resolve({ code: error === null ? 0 : Number(error.code), out: out + err, output });
    });
  });
}

function script(file: string, text: string): void {
  writeFileSync(file, `#!/bin/bash\n${text}\n`);
  chmodSync(file, 0o755);
}

/** The `./agent` of the workflow: a simulated one. */
function withAgent(name: string): string {
  const cwd = join(folder, name);
  mkdirSync(cwd);
  script(
    join(cwd, 'agent'),
    `exec '${process.execPath}' '${join(ROOT, 'harness/cli.ts')}' simulate device --dir '${cwd}/robot' "$@"`,
  );
  return cwd;
}

test('the workflow is shown, in at most ten lines', () => {
  expect(shown.length).toBeGreaterThan(0);
  for (const { file, text } of shown) expect(text.trim().split('\n').length, file).toBeLessThanOrEqual(10);
});

test('every input that is shown is one of the action, and every required one is given', () => {
  for (const { text } of shown) {
    const given = Object.keys(stepIn(text).with ?? {});
    expect(Object.keys(action.inputs)).toEqual(expect.arrayContaining(given));
    const required = Object.entries(action.inputs).filter(([, input]) => input.required === true);
    expect(given).toEqual(expect.arrayContaining(required.map(([name]) => name)));
  }
});

test('a conforming agent passes the gate, and leaves its reports', async () => {
  const [first] = shown;
  const inputs = stepIn(first?.text ?? '').with ?? {};
  const cwd = withAgent('good');
  writeFileSync(join(cwd, 'muster.baseline.yaml'), 'known: []\n');
  const { code, out, output } = await runAction(cwd, {
    ...inputs,
    options: `${inputs['options']} --fast --section 2.1 9`,
  });
  expect(out).toContain('NO FAILURE FOUND');
  expect(code).toBe(0);
  expect(output).toBe('exit-code=0\n');
  for (const file of ['junit.xml', 'report.html', 'report.json'])
    expect(existsSync(join(cwd, 'muster-report', file)), file).toBe(true);
  expect(readFileSync(join(cwd, 'summary.md'), 'utf8')).toContain('✅ NO FAILURE FOUND');
});

test('one that does not conform is stopped, and annotated', async () => {
  const cwd = withAgent('bad');
  script(
    join(cwd, 'agent'),
    `exec '${process.execPath}' -e '
    require("node:http").createServer((q, s) => { s.setHeader("content-type", "application/json"); s.end("{}"); }).listen(process.argv[2])' x "\${@: -1}"`,
  );
  const { code, out, output } = await runAction(cwd, {
    options: "--command './agent --socket {socket}' --only device.deployment.shape",
  });
  expect(code).toBe(1);
  expect(output).toBe('exit-code=1\n');
  expect(out).toMatch(/^::error title=device.deployment.shape \(MUST%2C section 2.1\)::/m);
  expect(readFileSync(join(cwd, 'summary.md'), 'utf8')).toContain('❌ NOT CONFORMANT');
});
