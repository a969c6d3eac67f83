/** Runs the command `muster` in a separate process or in this process. For tests. */

import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { EventEmitter, once } from 'node:events';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, expect, type TestContext, vi } from 'vitest';
import { send } from '../../../simulators/common/testing/requests.ts';
import { useScratch } from '../../../simulators/common/testing/scratch.ts';
import { type FleetResult, fleetResult } from '../../../simulators/fleet/result/result.ts';
import { writeResult } from '../../../simulators/fleet/result/shards.ts';
import { resultWith } from '../../../simulators/fleet/result/testing/result.ts';
import { defined } from '../../common/defined.ts';
import { UsageError } from '../../common/usage.ts';
import type { Report } from '../../runner/types.ts';
import { temporaryFolder } from '../../targets/testing/places.ts';
import { parseCommandLine } from '../command-line.ts';
import { type CommandContext, complete } from '../options.ts';

export const MAIN = fileURLToPath(new URL('../launch.cjs', import.meta.url));
/** Shared compile cache, for a faster start of each command. */
const CACHE = fileURLToPath(new URL('../../../node_modules/.cache/muster', import.meta.url));

export interface Ended {
  code: number | null;
  stdout: string;
  stderr: string;
}

export interface RunOptions {
  env?: NodeJS.ProcessEnv;
  cwd?: string;
  /** Words before the command, such as `ip netns exec NAME`. */
  under?: readonly string[];
  /** Starts a separate process group, so that a test can kill the command with its children. Default: true. */
  detached?: boolean;
}

export class Running implements AsyncDisposable {
  readonly child: ChildProcess;
  readonly ended: Promise<Ended>;
  stdout = '';
  stderr = '';
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

  line(fits: (line: string) => boolean): Promise<string> {
    return this.#until(() => this.stdout.split('\n').slice(0, -1).find(fits));
  }

  said(pattern: RegExp): Promise<RegExpExecArray> {
    return this.#until(() => pattern.exec(this.stderr) ?? undefined);
  }

  async ready<T = Record<string, unknown>>(): Promise<T> {
    return JSON.parse(await this.line((line) => line.includes('"ready":true'))) as T;
  }

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

export function withoutPackages(...names: readonly string[]): NodeJS.ProcessEnv {
  const source = `import{registerHooks}from'node:module';registerHooks({resolve(name,context,next){
    if(${JSON.stringify(names)}.includes(name)){const missing=new Error(\`Cannot find package '\${name}'\`);
    missing.code='ERR_MODULE_NOT_FOUND';throw missing}return next(name,context)}})`;
  return { NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(source)}` };
}

export const muster = (...words: string[]): Promise<Ended> => new Running(words).ended;

/** Splits a command line at blanks; an inserted text stays one word, an inserted list becomes several. */
export function typed(line: TemplateStringsArray, ...values: readonly (string | number | readonly string[])[]) {
  const put = values.values();
  const next = (): string[] => [put.next().value ?? []].flat().map(String);
  const written = line.join('\0').trim().split(/\s+/);
  return written.flatMap((word) => (word === '\0' ? next() : word.replaceAll('\0', () => next().join(' '))));
}

export const optionWords = (options: Readonly<Record<string, string | undefined>>): string[] =>
  Object.entries(options).flatMap(([name, value]) => (value === undefined ? [] : [`--${name}`, value]));

/** One folder for all tests of a file. */
export function useFolder(): (...names: string[]) => string {
  const folder = temporaryFolder();
  return (...names) => join(folder, ...names);
}

/** One folder for each test; the commands of a test end with the test. */
export function useHome() {
  const runs: Running[] = [];
  const home = useScratch();
  const start = (words: readonly string[], options: RunOptions = {}): Running => {
    const run = new Running(words, { cwd: home.path, ...options });
    runs.push(run);
    return run;
  };
  afterEach(async ({ task }) => {
    for (const { child, ended } of runs.splice(0)) {
      child.kill('SIGKILL');
      const { stderr } = await ended;
      // A timeout has no message, so the standard error of the command shows the cause.
      if (task.result?.state === 'fail') process.stderr.write(stderr);
    }
  });
  return Object.assign(home, { start });
}

export const ask = (socketPath: string, path: string, method = 'GET', body = '') =>
  send({ socketPath, path, method }, body);

export async function runCommand(words: readonly string[]): Promise<number> {
  const parsed = await parseCommandLine(words);
  if ('text' in parsed) return 0;
  const parse: CommandContext['parse'] = async (more, folder) => {
    const inner = await parseCommandLine(more, folder);
    return 'text' in inner ? undefined : inner;
  };
  return await parsed.command.run(complete(parsed.command.options, parsed.given) as never, {
    rest: parsed.rest,
    from: process.cwd(),
    parse,
  });
}

export async function shownText(words: readonly string[]): Promise<string> {
  const parsed = await parseCommandLine(words);
  if ('text' in parsed) return parsed.text;
  throw new Error(`runs a command: ${words.join(' ')}`);
}

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

export async function refusal(words: readonly string[]): Promise<string> {
  try {
    await runCommand(words);
  } catch (error) {
    if (error instanceof UsageError) return error.message;
    throw error;
  }
  throw new Error(`not refused: ${words.join(' ')}`);
}

export const hasDocker = (): boolean => spawnSync('docker', ['info'], { stdio: 'ignore' }).status === 0;

export function needsDocker(context: TestContext): void {
  if (!hasDocker()) context.skip('no Docker on this machine');
}

export function withoutDocker(context: TestContext): string[] {
  if (!hasDocker()) return [];
  if (process.getuid?.() !== 0) context.skip('there is Docker, and only root can hide it');
  return ['unshare', '--mount', 'sh', '-c', 'mount --bind /dev/null /var/run/docker.sock && exec "$0" "$@"'];
}

export const reportIn = (file: string): Report => JSON.parse(readFileSync(file, 'utf8')) as Report;

export function useFleetRuns() {
  const home = useHome();
  const path = (...names: string[]): string => join(home.path, ...names);
  const start = (words: readonly string[], env: Record<string, string> = {}): Running => {
    mkdirSync(path('tmp'), { recursive: true });
    return home.start(words, { env: { MUSTER_API_KEY: '', TMPDIR: path('tmp'), ...env } });
  };
  return {
    path,
    start,
    run: (words: readonly string[], env?: Record<string, string>): Promise<Ended> => start(words, env).ended,
    /** `phases` is YAML, and `change` overrides options (undefined removes an option). */
    words: (phases: string, change: Record<string, string | undefined> = {}): string[] => {
      const scenario = path('s.yaml');
      const head = 'name: test\nkey_bits: 1024\nphases:\n  - { do: ramp, over: 200ms, measure: false }\n';
      writeFileSync(scenario, `${head}${phases}`);
      const folders = { out: path('out'), state: path('state'), dir: path('tmp') };
      const options = { scenario, platform: 'embedded', workers: '1', robots: '8', ...folders, ...change };
      return ['fleet', ...optionWords(options)];
    },
    result: (folder: string = path('out')): FleetResult => {
      const value: unknown = JSON.parse(readFileSync(join(folder, 'result.json'), 'utf8'));
      expect(fleetResult.problems(value)).toEqual([]);
      return value as FleetResult;
    },
    leave: (index: number, count: number): void =>
      writeResult(path('results', `shard-${index}`), resultWith({ shard: { index, count }, robots: 5 })),
  };
}

/** Expected exit code: 98 if the machine was too busy for valid figures, else `code`. */
export const unlessSaturated = (code: number, { verdict }: FleetResult): number => (verdict === 'invalid' ? 98 : code);
