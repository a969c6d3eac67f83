/**
 * Runs a workflow as a runner does, as far as one can without GitHub: shell lines, and composite actions of this
 * checkout. For tests.
 */
import { execFile } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';

export interface Step {
  id?: string;
  if?: string;
  uses?: string;
  run?: string;
  with?: Record<string, string>;
  env?: Record<string, string>;
}

export interface Action {
  inputs: Record<string, { default?: string; required?: boolean }>;
  outputs: Record<string, { value: string }>;
  runs: { using: string; steps: Step[] };
}

export interface WorkflowRun {
  /** Exit code of the last step that ran; a red one ends the job but for what runs always. */
  code: number;
  out: string;
  summary: string;
  outputs: Record<string, string>;
  /** Every action of others that would have run, with its inputs. */
  used: { uses: string; with: Record<string, string> }[];
}

export const stepsOf = (workflow: string): Step[] =>
  Object.values((parse(workflow) as { jobs: Record<string, { steps: Step[] }> }).jobs).flatMap((job) => job.steps);

/** `actions`: folders of the actions that are run, by what `uses` contains. */
export async function runWorkflow(
  workflow: string,
  cwd: string,
  actions: Record<string, string>,
  env: Record<string, string | undefined> = process.env,
): Promise<WorkflowRun> {
  const files = { output: join(cwd, '.output'), summary: join(cwd, '.summary') };
  for (const file of Object.values(files)) writeFileSync(file, '');
  const job: WorkflowRun = { code: 0, out: '', summary: '', outputs: {}, used: [] };
  const world = {
    ...env,
    GITHUB_ACTIONS: 'true',
    GITHUB_OUTPUT: files.output,
    GITHUB_STEP_SUMMARY: files.summary,
  };

  const run = async (steps: readonly Step[], fill: (text: string) => string): Promise<void> => {
    for (const step of steps) {
      if (!due(fill(step.if ?? ''), job.code)) continue;
      const given = filled(step.with ?? {}, fill);
      const folder = Object.entries(actions).find(([name]) => step.uses?.includes(name))?.[1];
      if (step.uses !== undefined && folder !== undefined) await composite(folder, given);
      else if (step.uses !== undefined) job.used.push({ uses: step.uses, with: given });
      else if (step.run !== undefined) await shell(step.run, { ...world, ...filled(step.env ?? {}, fill) });
    }
  };
  const composite = async (folder: string, given: Record<string, string>): Promise<void> => {
    const action = parse(readFileSync(join(folder, 'action.yml'), 'utf8')) as Action;
    const inputs = Object.fromEntries(
      Object.entries(action.inputs).map(([name, input]) => [name, given[name] ?? input.default ?? '']),
    );
    await run(action.runs.steps, (text) =>
      text.replaceAll(/\$\{\{ (?:inputs\.([\w-]+)|(github\.action_path)) \}\}/g, (_, name: string | undefined) =>
        name === undefined ? folder : (inputs[name] ?? ''),
      ),
    );
  };
  const shell = async (line: string, environment: Record<string, string | undefined>): Promise<void> => {
    const { code, out } = await new Promise<{ code: number; out: string }>((resolve) => {
      const options = { cwd, env: environment as NodeJS.ProcessEnv, maxBuffer: 64 * 1024 * 1024 };
      execFile('bash', ['--noprofile', '--norc', '-eo', 'pipefail', '-c', line], options, (error, stdout, stderr) =>
        resolve({ code: error === null ? 0 : Number(error.code), out: stdout + stderr }),
      );
    });
    job.out += out;
    if (code !== 0) job.code = code;
  };

  await run(stepsOf(workflow), (text) => text);
  const written = existsSync(files.output) ? readFileSync(files.output, 'utf8') : '';
  for (const line of written.split('\n').filter((text) => text.includes('='))) {
    job.outputs[line.slice(0, line.indexOf('='))] = line.slice(line.indexOf('=') + 1);
  }
  job.summary = readFileSync(files.summary, 'utf8');
  return job;
}

/** The conditions that the action has: an input that is not empty, and always. */
function due(condition: string, code: number): boolean {
  if (condition.includes('always()')) return true;
  if (code !== 0) return false;
  const different = /^(?:\$\{\{ )?(.*?) != ''(?: \}\})?$/.exec(condition);
  return different === null ? condition === '' : different[1] !== '';
}

const filled = (values: Record<string, string>, fill: (text: string) => string): Record<string, string> =>
  Object.fromEntries(Object.entries(values).map(([name, value]) => [name, fill(String(value))]));
