/** Runs the command as a user does, in a process of its own. For tests. */

import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { EventEmitter, once } from 'node:events';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import http from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, afterEach, beforeEach, expect, type TestContext, vi } from 'vitest';
import { type FleetResult, fleetResult } from '../../../simulators/fleet/result/result.ts';
import { writeResult } from '../../../simulators/fleet/result/shards.ts';
import { resultWith } from '../../../simulators/fleet/result/testing/result.ts';
import { defined } from '../../common/defined.ts';
import { UsageError } from '../../common/usage.ts';
import type { Report } from '../../runner/types.ts';
import { parseCommandLine } from '../command-line.ts';
import { type CommandContext, complete } from '../options.ts';

/** The command, for Node. */
export const MAIN = fileURLToPath(new URL('../launch.cjs', import.meta.url));
/** Types are stripped once for all of these processes. */
const CACHE = fileURLToPath(new URL('../../../node_modules/.cache/muster', import.meta.url));

export interface Ended {
  code: number | null;
  stdout: string;
  stderr: string;
}

export interface RunOptions {
  env?: NodeJS.ProcessEnv;
  cwd?: string;
  /** A command that runs the rest of its words, such as `ip netns exec NAME`. */
  under?: readonly string[];
  /** A process group of its own, by default, so that it can be killed as one with whatever it started. */
  detached?: boolean;
}

export class Running implements AsyncDisposable {
  readonly child: ChildProcess;
  readonly ended: Promise<Ended>;
  stdout = '';
  stderr = '';
  /** Tells of every piece of output, and of the end. */
  readonly #news = new EventEmitter();

  constructor(words: readonly string[], { under = [], env, cwd, detached = true }: RunOptions = {}) {
    const [program = '', ...rest] = [...under, process.execPath, MAIN, ...words];
    this.child = spawn(program, rest, {
      detached,
      env: { ...process.env, NO_COLOR: '1', NODE_COMPILE_CACHE: CACHE, ...env },
      ...defined({ cwd }),
    });
    for (const name of ['stdout', 'stderr'] as const) {
      this.child[name]?.setEncoding('utf8').on('data', (text: string) => {
        this[name] += text;
        this.#news.emit('news');
      });
    }
    this.ended = new Promise((resolve, reject) => {
      this.child.once('error', reject);
      this.child.once('close', (code) => {
        resolve({ code, stdout: this.stdout, stderr: this.stderr });
        this.#news.emit('news');
      });
    });
  }

  /** Resolves with the first line of stdout that fits; rejects when the process ends without one. */
  line(fits: (line: string) => boolean): Promise<string> {
    return this.#until(() => this.stdout.split('\n').slice(0, -1).find(fits));
  }

  /** Resolves when stderr holds what fits. */
  said(pattern: RegExp): Promise<RegExpExecArray> {
    return this.#until(() => pattern.exec(this.stderr) ?? undefined);
  }

  /** The one JSON line that says ready. */
  async ready<T = Record<string, unknown>>(): Promise<T> {
    return JSON.parse(await this.line((line) => line.includes('"ready":true'))) as T;
  }

  /** Sends the signal, and waits for the end. */
  stop(signal: NodeJS.Signals = 'SIGTERM'): Promise<Ended> {
    this.child.kill(signal);
    return this.ended;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.child.exitCode === null && this.child.signalCode === null) this.child.kill('SIGTERM');
    await this.ended;
  }

  async #until<T>(find: () => T | undefined): Promise<T> {
    for (;;) {
      const found = find();
      if (found !== undefined) return found;
      if (this.child.exitCode !== null || this.child.signalCode !== null) {
        throw new Error(`ended before it came; stderr: ${this.stderr}`);
      }
      await once(this.#news, 'news');
    }
  }
}

export const muster = (...words: string[]): Promise<Ended> => new Running(words).ended;

/**
 * The words of a command line, which stand between blanks. What is put in is one word, or a part of one, whatever it
 * contains; a list is as many words.
 */
export function typed(
  line: TemplateStringsArray,
  ...values: readonly (string | number | readonly string[])[]
): string[] {
  const put = values.values();
  const next = (): string[] => [put.next().value ?? []].flat().map(String);
  const written = line.join('\0').trim().split(/\s+/);
  return written.flatMap((word) => (word === '\0' ? next() : word.replaceAll('\0', () => next().join(' '))));
}

/** Options as words; those that are undefined are left out. */
export const optionWords = (options: Readonly<Record<string, string | undefined>>): string[] =>
  Object.entries(options).flatMap(([name, value]) => (value === undefined ? [] : [`--${name}`, value]));

/** Places in a folder for all tests of a file. Call once in a test file. */
export function useFolder(): (...names: string[]) => string {
  const folder = mkdtempSync(join(tmpdir(), 'muster-cli-'));
  afterAll(() => rmSync(folder, { recursive: true, force: true }));
  return (...names) => join(folder, ...names);
}

/** A folder, another one for each test of a file, and commands that end with the test. */
export function useHome() {
  const runs: Running[] = [];
  const home = {
    path: '',
    start: (words: readonly string[], options: RunOptions = {}): Running => {
      const run = new Running(words, { cwd: home.path, ...options });
      runs.push(run);
      return run;
    },
  };
  beforeEach(() => {
    home.path = mkdtempSync(join(tmpdir(), 'muster-cli-'));
  });
  afterEach(async ({ task }) => {
    for (const { child, ended } of runs.splice(0)) {
      child.kill('SIGKILL');
      const { stderr } = await ended;
      // A test that waited in vain says nothing of what came instead.
      if (task.result?.state === 'fail') process.stderr.write(stderr);
    }
    rmSync(home.path, { recursive: true, force: true });
  });
  return home;
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
      response.on('data', (part) => (text += part)).once('error', reject);
      response.once('end', () => resolve({ status: response.statusCode ?? 0, text }));
    });
    request.once('error', reject);
    request.end(body);
  });
}

// Runs a command in this process, for tests that need no child process.

/** Runs it; the exit code. */
export async function runCommand(words: readonly string[]): Promise<number> {
  const parsed = await parseCommandLine(words);
  if ('text' in parsed) return 0;
  const parse: CommandContext['parse'] = async (more) => {
    const inner = await parseCommandLine(more);
    return 'text' in inner ? undefined : inner;
  };
  return await parsed.command.run(complete(parsed.command.options, parsed.given) as never, {
    rest: parsed.rest,
    parse,
  });
}

/** The help, the version or the completions that it asks for. */
export async function shownText(words: readonly string[]): Promise<string> {
  const parsed = await parseCommandLine(words);
  if ('text' in parsed) return parsed.text;
  throw new Error(`runs a command: ${words.join(' ')}`);
}

/** Runs a command in this process; its exit code, and what it prints. */
export async function printed(words: readonly string[]): Promise<{ code: number; text: string }> {
  let text = '';
  const spy = vi.spyOn(process.stdout, 'write').mockImplementation((part) => {
    text += String(part);
    return true;
  });
  try {
    return { code: await runCommand(words), text };
  } finally {
    spy.mockRestore();
  }
}

/** The message of the UsageError that it ends with. */
export async function refusal(words: readonly string[]): Promise<string> {
  try {
    await runCommand(words);
  } catch (error) {
    if (error instanceof UsageError) return error.message;
    throw error;
  }
  throw new Error(`not refused: ${words.join(' ')}`);
}

// For tests of images.

export const hasDocker = (): boolean => spawnSync('docker', ['info'], { stdio: 'ignore' }).status === 0;

export function needsDocker(context: TestContext): void {
  if (!hasDocker()) context.skip('no Docker on this machine');
}

/** The words of a command under which another one finds no Docker: where it is, its socket is covered up. */
export function withoutDocker(context: TestContext): string[] {
  if (!hasDocker()) return [];
  if (process.getuid?.() !== 0) context.skip('there is Docker, and only root can hide it');
  return ['unshare', '--mount', 'sh', '-c', 'mount --bind /dev/null /var/run/docker.sock && exec "$0" "$@"'];
}

export const reportIn = (file: string): Report => JSON.parse(readFileSync(file, 'utf8')) as Report;

// Runs of `muster fleet` and `muster merge` in processes of their own. For tests.

/** Call once in a test file: each of its tests has a folder of its own. */
export function useFleetRuns() {
  const home = useHome();
  const path = (...names: string[]): string => join(home.path, ...names);
  const start = (words: readonly string[], env: Record<string, string> = {}): Running => {
    mkdirSync(path('tmp'), { recursive: true });
    return home.start(words, { env: { MUSTER_API_KEY: '', TMPDIR: path('tmp'), ...env } });
  };
  return {
    /** A path in the folder of the test. Everything that a run leaves for a time lies there, in `tmp`. */
    path,
    start,
    run: (words: readonly string[], env?: Record<string, string>): Promise<Ended> => start(words, env).ended,
    /**
     * The words of a run of 8 robots: `phases` is YAML and follows a ramp; an option of `change` that is undefined is
     * left out.
     */
    words: (phases: string, change: Record<string, string | undefined> = {}): string[] => {
      const scenario = path('s.yaml');
      const head = 'name: test\nkey_bits: 1024\nphases:\n  - { do: ramp, over: 200ms, measure: false }\n';
      writeFileSync(scenario, `${head}${phases}`);
      const folders = { out: path('out'), state: path('state'), dir: path('tmp') };
      const options = { scenario, platform: 'embedded', workers: '1', robots: '8', ...folders, ...change };
      return ['fleet', ...optionWords(options)];
    },
    /** The result in a folder, by default that of a run. */
    result: (folder: string = path('out')): FleetResult => {
      const value: unknown = JSON.parse(readFileSync(join(folder, 'result.json'), 'utf8'));
      expect(fleetResult.problems(value)).toEqual([]);
      return value as FleetResult;
    },
    /** Writes the result that a shard leaves. */
    leave: (index: number, count: number): void =>
      writeResult(path('results', `shard-${index}`), resultWith({ shard: { index, count }, robots: 5 })),
  };
}

/** On a machine that is busy with something else a run may end invalid, which comes before thresholds. */
export const unlessSaturated = (code: number, { verdict }: FleetResult): number => (verdict === 'invalid' ? 98 : code);
