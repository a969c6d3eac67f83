/** Provisioning tokens of robots: issued by the platform, given in a file, or printed by a command. */
import { execFile } from 'node:child_process';
import process from 'node:process';
import { promisify } from 'node:util';
import type { Offer } from '../platform/survey.ts';
import { indexIn } from '../scenario/uplinks.ts';

/** Gives the token of a robot, and another one when the platform refused `refused`. */
export type Tokens = (refused: string | undefined, name: string) => string | Promise<string>;

/** `issue`: asks the platform for a token. */
export function tokensOf({ tokens, tokenCommand }: Offer, issue: () => Promise<string>): Tokens {
  if (tokens !== undefined) return given(tokens);
  return tokenCommand === undefined ? renewed(issue) : printed(tokenCommand);
}

/** Provisioning tokens live five minutes. */
const RENEW_MS = 120_000;

/**
 * Shares one token among all callers until it is due for renewal, or was refused: a clock that is turned ends it early.
 */
function renewed(issue: () => Promise<string>): Tokens {
  let token: Promise<string> | undefined;
  let issued: string | undefined;
  let until = 0;
  return (refused) => {
    const isRefused = refused !== undefined && refused === issued;
    if (token === undefined || isRefused || performance.now() > until) {
      until = performance.now() + RENEW_MS;
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

/** Each robot has its own token, and no other when that is refused. */
const given =
  (tokens: readonly string[]): Tokens =>
  (refused, name) => {
    const token = tokens[indexIn(name)];
    if (token !== undefined && token !== refused) return token;
    throw new Error(`the token in line ${indexIn(name) + 1} of --tokens was refused by the platform`);
  };

/** Commands of one process that run at once. */
const MOST_COMMANDS = 4;
const COMMAND_MS = 60_000;
/** Characters of what a command says. */
const MOST_SAID = 300;

/** A line of a shell prints the token of the robot in `MUSTER_ROBOT`. */
function printed(command: string): Tokens {
  const lanes: Promise<unknown>[] = Array.from({ length: MOST_COMMANDS }, () => Promise.resolve());
  let calls = 0;
  return (_refused, name) => {
    const lane = calls % MOST_COMMANDS;
    calls += 1;
    const answer = (lanes[lane] ?? Promise.resolve()).then(() => tokenFrom(command, name));
    lanes[lane] = answer.catch(() => {});
    return answer;
  };
}

async function tokenFrom(command: string, name: string): Promise<string> {
  const options = { env: { ...process.env, MUSTER_ROBOT: name }, timeout: COMMAND_MS };
  const { stdout } = await promisify(execFile)('/bin/sh', ['-c', command], options).catch((error: unknown) => {
    const { code, killed = false, stderr = '' } = error as { code?: unknown; killed?: boolean; stderr?: string };
    const how = killed ? `took more than ${COMMAND_MS / 1000} s` : `ended with ${String(code ?? 'a signal')}`;
    const said = stderr.trim().slice(0, MOST_SAID);
    throw new Error(`--token-command for ${name} ${how}${said === '' ? '' : `: ${said}`}`);
  });
  const token = stdout.trim();
  if (token === '') throw new Error(`--token-command for ${name} printed no token`);
  return token;
}
