/** The load generators that are compared, and how each is asked for the same load. */
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { inScratch } from '../figure.ts';
import { runFleet } from '../fleet-command.ts';

const K6 = 'go.k6.io/k6@v1.8.1';
const CACHE = join(process.env['XDG_CACHE_HOME'] || join(homedir(), '.cache'), 'muster-bench', K6.replaceAll('/', '_'));
const FOLDER = import.meta.dirname;

export interface Load {
  port: number;
  /** Requests a second. */
  rate: number;
  seconds: number;
}

/** A load generator. `run` resolves when it has ended. */
export interface Tool {
  name: string;
  run(load: Load): Promise<void>;
}

/** The path that the server counts. */
const urlOf = ({ port }: Load): string => `http://127.0.0.1:${port}/beta/devices?limit=100&offset=0`;

export const muster: Tool = {
  name: 'muster fleet',
  run: ({ port, rate, seconds }) =>
    inScratch(async (dir) => {
      const scenario = `name: peers
uplink: polling
poll_every: 1h
subscribers: 0
phases:
  - { do: ramp, over: 0s, measure: false }
  - { do: hold, for: ${seconds}s, lists: ${rate}/s, arrivals: constant }
`;
      await runFleet(dir, { robots: 1, port, scenario });
    }),
};

export const node: Tool = {
  name: 'bare Node loop',
  run: (load) => command(process.execPath, [join(FOLDER, 'open-loop.js'), ...wordsOf(load)]),
};

const wordsOf = (load: Load): string[] => [urlOf(load), String(load.rate), String(load.rate * load.seconds)];

/** Those that Go has to build, once. Resolves with why not when it cannot. */
export async function built(): Promise<{ loop: Tool; k6: Tool } | string> {
  const bin = join(CACHE, 'bin');
  try {
    mkdirSync(bin, { recursive: true });
    await command('go', ['build', '-o', join(bin, 'open-loop'), join(FOLDER, 'open-loop.go')]);
    if (!existsSync(join(bin, 'k6'))) await command('go', ['install', K6], { GOBIN: bin });
  } catch (error) {
    return `Go cannot build the peers: ${(error as Error).message}`;
  }
  return {
    loop: { name: 'bare Go loop', run: (load) => command(join(bin, 'open-loop'), wordsOf(load)) },
    k6: {
      name: execFileSync(join(bin, 'k6'), ['version'], { encoding: 'utf8' }).split(' ').slice(0, 2).join(' '),
      run: (load) =>
        command(join(bin, 'k6'), ['run', '--quiet', '--no-usage-report', '--address', '', join(FOLDER, 'k6.js')], {
          URL: urlOf(load),
          RATE: String(load.rate),
          SECONDS: String(load.seconds),
          K6_NO_COLOR: 'true',
        }),
    },
  };
}

/** Rejects when it ends with another code than 0. */
async function command(file: string, words: readonly string[], env: NodeJS.ProcessEnv = {}): Promise<void> {
  const child = spawn(file, words, { stdio: ['ignore', 'ignore', 'pipe'], env: { ...process.env, ...env } });
  let said = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    said = (said + text).slice(-2000);
  });
  const [code] = (await once(child, 'close')) as [number | null];
  if (code !== 0) throw new Error(`${file} ended with ${code}: ${said.trim()}`);
}
