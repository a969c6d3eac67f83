/** Runs a shell line of a target file that controls an agent, within its time and with a bound on what it prints. */

import { spawn } from 'node:child_process';
import { defined } from '../../common/defined.ts';
import { OutputTail } from '../launch/started.ts';
import { ControlError, ControlLate, ControlRefused } from './control.ts';

/** Where, how long and with what a line runs. */
export interface LineOptions {
  env: Record<string, string | undefined>;
  cwd: string | undefined;
  stdin: string;
  /** The event of the shell after which all is said. */
  end: 'close' | 'exit';
  /** Milliseconds after which it is killed, with everything that it started. */
  timeoutMs: number;
  /** Kills it too. */
  signal: AbortSignal | undefined;
}

/** Characters of what a line wrote that a message shows. */
const SHOWN = 2000;
/** Far more than any answer: a deployment has a few hundred characters. */
const MOST_BYTES = 1024 * 1024;

/**
 * Resolves with the standard output of the line. Throws ControlRefused when it ends with another exit code than 0, ControlLate after its
 * time, otherwise ControlError; messages show the end of both outputs.
 */
export async function runControlLine(name: string, line: string, options: LineOptions): Promise<string> {
  const { timeoutMs, signal } = options;
  const late = AbortSignal.timeout(timeoutMs);
  const flooded = new AbortController();
  const ends = [late, flooded.signal, ...(signal === undefined ? [] : [signal])];
  const ran = await run(line, options, AbortSignal.any(ends), () => flooded.abort());
  const what = `control ${name}: \`${line}\``;
  const wrote = [ran.errors, ran.outTail].map((text) => text.trim()).filter((text) => text !== '');
  const shown = wrote.length === 0 ? '' : `: ${wrote.join('\n')}`;
  if (flooded.signal.aborted)
    throw new ControlError(`${what} printed more than ${MOST_BYTES / 1024 / 1024} MiB, and was ended`);
  if (late.aborted) throw new ControlLate(`${what} did not end within ${timeoutMs / 1000} s${shown}`);
  if (signal?.aborted === true) throw new ControlError(`${what} was ended with its check`);
  if (ran.code === 0) return ran.out;
  // A line that ends with an exit code has decided that it cannot do this.
  throw new (ran.code === undefined ? ControlError : ControlRefused)(`${what} ${ran.how}${shown}`);
}

interface Ran {
  out: string;
  /** The end of its standard output, and of its standard error. */
  outTail: string;
  errors: string;
  /** Undefined when it was ended by a signal or could not be started. */
  code: number | undefined;
  /** How it ended, in words. */
  how: string;
}

/** Runs a shell line in a process group of its own. Resolves however it ends; `over` kills the group. */
function run(
  line: string,
  { env, cwd, stdin, end }: LineOptions,
  over: AbortSignal,
  onFlood: () => void,
): Promise<Ran> {
  return new Promise((resolve) => {
    const child = spawn('/bin/sh', ['-c', line], {
      env: env as NodeJS.ProcessEnv,
      detached: true,
      ...defined({ cwd }),
    });
    const pieces: Buffer[] = [];
    let bytes = 0;
    const outTail = new OutputTail(SHOWN);
    const errors = new OutputTail(SHOWN);
    child.stdout.on('data', (piece: Buffer) => {
      outTail.add(piece);
      bytes += piece.length;
      if (bytes <= MOST_BYTES) pieces.push(piece);
      else onFlood();
    });
    child.stderr.on('data', (piece: Buffer) => errors.add(piece));
    child.stdin.on('error', () => {});
    child.stdin.end(stdin);
    const kill = (): void => killGroup(child.pid);
    const ended = (how: string, code?: number): void => {
      over.removeEventListener('abort', kill);
      child.stdout.destroy();
      child.stderr.destroy();
      resolve({ out: Buffer.concat(pieces).toString('utf8'), outTail: outTail.text, errors: errors.text, code, how });
    };
    child.once('error', (error) => ended(`could not be started (${error.message})`));
    child.once(end, (code: number | null, signal: string | null) =>
      signal === null ? ended(`ended with exit code ${code}`, code ?? undefined) : ended(`was ended by ${signal}`),
    );
    if (over.aborted) kill();
    else over.addEventListener('abort', kill, { once: true });
  });
}

function killGroup(pid: number | undefined): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, 'SIGKILL');
  } catch {
    // It has ended already.
  }
}
