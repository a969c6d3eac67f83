/** `muster simulate device` as a process in a folder of its own, which ends with the test. */
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import http from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect } from 'vitest';

export const CLI = new URL('../main.ts', import.meta.url).pathname;
/** Types are stripped once for all of these processes. */
const CACHE = new URL('../../../node_modules/.cache/muster', import.meta.url).pathname;

export interface Run {
  child: ChildProcess;
  stdout: string;
  stderr: string;
  /** Exit code. */
  ended: Promise<number | null>;
}

/** Where the commands of a test file run. */
export interface Home {
  /** Absolute path; another one for each test. */
  path: string;
  /** Starts the command with these options. */
  muster(...options: string[]): Run;
}

/** Registers the hooks that make the folder, and end what was started. */
export function deviceHome(): Home {
  const runs: Run[] = [];
  const home: Home = { path: '', muster: (...options) => started(home.path, options, runs) };
  beforeEach(() => {
    home.path = mkdtempSync(join(tmpdir(), 'muster-cli-'));
  });
  afterEach(async () => {
    for (const { child, ended } of runs.splice(0)) {
      child.kill('SIGKILL');
      await ended;
    }
    rmSync(home.path, { recursive: true, force: true });
  });
  return home;
}

function started(cwd: string, options: readonly string[], runs: Run[]): Run {
  const child = spawn(process.execPath, [CLI, 'simulate', 'device', ...options], {
    cwd,
    stdio: 'pipe',
    env: { ...process.env, NODE_COMPILE_CACHE: CACHE },
  });
  const ended = new Promise<number | null>((resolve) => child.once('close', resolve));
  const run: Run = { child, stdout: '', stderr: '', ended };
  child.stdout.on('data', (part) => (run.stdout += part));
  child.stderr.on('data', (part) => (run.stderr += part));
  runs.push(run);
  return run;
}

/** The ready line. */
export async function ready(run: Run): Promise<Record<string, unknown>> {
  const line = new Promise<void>((resolve) => {
    run.child.stdout?.on('data', () => (run.stdout.includes('\n') ? resolve() : undefined));
  });
  const code = await Promise.race([line.then(() => 'ready'), run.ended]);
  expect(code, run.stderr).toBe('ready');
  return JSON.parse(run.stdout) as Record<string, unknown>;
}

/** One request over a unix socket. */
export function ask(
  socketPath: string,
  path: string,
  method = 'GET',
  body = '',
): Promise<{ status: number; text: string }> {
  return new Promise((resolve, reject) => {
    const request = http.request({ socketPath, path, method, agent: false }, (response) => {
      let text = '';
      response.on('data', (part) => (text += part));
      response.once('end', () => resolve({ status: response.statusCode ?? 0, text }));
    });
    request.once('error', reject);
    request.end(body);
  });
}
