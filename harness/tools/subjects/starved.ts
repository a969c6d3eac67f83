/**
 * Subjects where Muster itself lacks something: the command runs with few descriptors, a small heap or a full disk,
 * against correct targets.
 */
import { execFile } from 'node:child_process';
import process from 'node:process';
import { fileURLToPath } from 'node:url';
import { EXIT } from '../../common/usage.ts';
import type { Api, Report } from '../../runner/types.ts';
import { optionsFor, startRobot, startWorkspace } from './simulators.ts';

interface Starved {
  api: Extract<Api, 'device' | 'platform'>;
  name: string;
  summary: string;
  /** What the shell does before it runs the command. */
  limit?: string;
  /** Arguments of Node. */
  node?: readonly string[];
  /** Arguments of the command. */
  words?: readonly string[];
  reason?: RegExp;
  /** Exit codes that are due. */
  codes: readonly number[];
}

const descriptors = (api: Starved['api'], count: number): Starved => ({
  api,
  name: `${count}-descriptors`,
  summary: `The command may open ${count} files.`,
  limit: `ulimit -n ${count}`,
  reason: /raise `ulimit -n`/,
  codes: [EXIT.incomplete],
});

export const STARVED: readonly Starved[] = [
  descriptors('device', 24),
  descriptors('device', 32),
  { ...descriptors('device', 48), codes: [EXIT.conformant, EXIT.incomplete] },
  descriptors('platform', 24),
  { ...descriptors('platform', 44), codes: [EXIT.conformant, EXIT.incomplete] },
  {
    api: 'device',
    name: 'small-heap',
    summary: 'The command has a heap of 64 MiB.',
    node: ['--max-old-space-size=64'],
    codes: [EXIT.conformant],
  },
  {
    api: 'device',
    name: 'full-disk',
    summary: 'One of the reports goes to a full disk.',
    words: ['--report', 'html=/dev/full'],
    codes: [EXIT.harness],
  },
];

const CLI = fileURLToPath(new URL('../../cli/main.ts', import.meta.url));
/** No run may hang, milliseconds. */
const LONGEST_MS = 300_000;
const MOST_OUTPUT = 64 * 1024 * 1024;

async function check({ api, limit = ':', node = [], words = [], codes }: Starved, place: string[]): Promise<Report> {
  const command = [process.execPath, ...node, CLI, 'check', api, ...place, '--fast', '--report', 'json', ...words];
  const { code, stdout, stderr } = await new Promise<{ code: unknown; stdout: string; stderr: string }>((resolve) => {
    const options = { timeout: LONGEST_MS, killSignal: 'SIGKILL', maxBuffer: MOST_OUTPUT } as const;
    execFile('/bin/sh', ['-c', `${limit}; exec "$@"`, 'sh', ...command], options, (error, out, err) =>
      resolve({ code: error === null ? 0 : (error.code ?? error.signal), stdout: out, stderr: err }),
    );
  });
  if (!codes.some((due) => due === code))
    throw new Error(
      `ended with ${code} instead of ${codes.join(' or ')}: ${stderr.slice(-2000) || stdout.slice(-2000)}`,
    );
  return JSON.parse(stdout) as Report;
}

/** Runs the command with that limit, against the reference. */
export async function runStarved(starved: Starved): Promise<Report> {
  if (starved.api === 'device') {
    await using robot = await startRobot();
    return await check(starved, optionsFor(robot.place));
  }
  await using workspace = await startWorkspace();
  return await check(starved, optionsFor(await workspace.place()));
}
