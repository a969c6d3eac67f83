/** Provisioning tokens of robots: issued by the platform, given in a file, or printed by a command. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import process from 'node:process';
import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';
import { endWithUs } from '../../../harness/common/reaper.ts';
import { masked } from '../platform/client.ts';
import type { Offer, OwnDevice } from '../platform/survey.ts';
import { indexIn } from '../scenario/uplinks.ts';

/** Returns the token of a robot, a new one if the platform refused `refused`, or undefined if its key suffices. */
export type Tokens = (refused: string | undefined, name: string) => string | undefined | Promise<string>;

interface TokenOptions {
  offer: Offer;
  /** API key for the command's own requests. */
  apiKey: string;
  signal: AbortSignal;
  issue(): Promise<string>;
}

export function tokensOf({ offer: { own, tokenCommand }, apiKey, signal, issue }: TokenOptions): Tokens {
  if (own !== undefined) return given(own);
  return tokenCommand === undefined ? renewed(issue) : printed(tokenCommand, apiKey, signal);
}

/** Shares one token among all callers until renewal or refusal; a clock that was turned may end it early. */
function renewed(issue: () => Promise<string>): Tokens {
  let token: Promise<string> | undefined;
  let issued: string | undefined;
  let until = 0;
  return (refused) => {
    const isRefused = refused !== undefined && refused === issued;
    if (token === undefined || isRefused || performance.now() > until) {
      // Tokens are valid for five minutes, so they are renewed well before.
      until = performance.now() + 120_000;
      token = issue();
      token.then(
        (text) => {
          issued = text;
        },
        () => {
          token = undefined;
        },
      );
    }
    return token;
  };
}

/** Each robot has a token of its own, and no other after a refusal. */
const given =
  (own: readonly OwnDevice[]): Tokens =>
  (refused, name) => {
    const device = own[indexIn(name)];
    if (device === undefined) throw new Error(`--tokens has nothing for ${name}`);
    const { line, token } = device;
    if (token === undefined || token !== refused) return token;
    throw new Error(
      `the token in line ${line} of --tokens was refused by the platform; it may be spent or too old: a new one ` +
        'will do, or --token-command, which prints each when it is needed',
    );
  };

const MOST_COMMANDS = 4;
const COMMAND_MS = 60_000;

/**
 * Runs a shell command that prints the token of the robot in `MUSTER_ROBOT`; its stderr goes to the terminal, with the
 * API key masked. It is a process group, so that nothing of it outlives the fleet.
 */
function printed(command: string, apiKey: string, signal: AbortSignal): Tokens {
  const lanes: Promise<unknown>[] = Array.from({ length: MOST_COMMANDS }, () => Promise.resolve());
  let calls = 0;
  return (_refused, name) => {
    const lane = calls % MOST_COMMANDS;
    calls += 1;
    const env = { ...process.env, MUSTER_API_KEY: apiKey, MUSTER_ROBOT: name };
    const answer = (lanes[lane] ?? Promise.resolve()).then(() => tokenFrom(command, env, signal));
    lanes[lane] = answer.catch(() => {});
    return answer;
  };
}

async function tokenFrom(command: string, env: NodeJS.ProcessEnv, signal: AbortSignal): Promise<string> {
  signal.throwIfAborted();
  const about = `--token-command for ${env['MUSTER_ROBOT']}`;
  const child = spawn('/bin/sh', ['-c', command], { env, stdio: ['ignore', 'pipe', 'pipe'], detached: true });
  child.on('error', () => {});
  // A worker that is killed cannot end it.
  const untie = child.pid === undefined ? () => {} : endWithUs(child.pid);
  const said = createInterface({ input: child.stderr });
  said.on('line', (line) => process.stderr.write(`${masked(line, { apiKey: env['MUSTER_API_KEY'] ?? '' })}\n`));
  const end = (): void => {
    try {
      if (child.pid !== undefined) process.kill(-child.pid, 'SIGKILL');
    } catch {
      // All of the group has ended.
    }
  };
  let isLate = false;
  const late = setTimeout(() => {
    isLate = true;
    end();
  }, COMMAND_MS);
  signal.addEventListener('abort', end, { once: true });
  const ended = once(child, 'close').finally(() => {
    clearTimeout(late);
    signal.removeEventListener('abort', end);
    end();
    untie();
  });
  const [stdout, [code, killedBy]] = (await Promise.all([text(child.stdout), ended])) as [string, [number, string?]];
  signal.throwIfAborted();
  if (isLate) throw new Error(`${about} took longer than ${COMMAND_MS / 1000} s`);
  if (code !== 0) throw new Error(`${about} ended with ${killedBy ?? code}`);
  const token = stdout.trim();
  if (token === '') throw new Error(`${about} printed no token`);
  if (/\s/.test(token)) throw new Error(`${about} printed more than a token: it has blanks or several lines`);
  return token;
}
