/** Control by shell lines of a target file, for agents that can be scripted but have no control API. */
import { spawn } from 'node:child_process';
import { quote } from '../../client/request-forms.ts';
import { defined } from '../../common/defined.ts';
import type { ControlCapability, ControlInfo } from '../../contract/control.ts';
import { OutputTail } from '../launch/started.ts';
import {
  type Answer,
  answerTo,
  Control,
  type ControlCall,
  ControlError,
  ControlLate,
  ControlRefused,
  withDeclared,
} from './control.ts';

const LINE_MS = 60_000;

/** The `control` of a target file, but for `http`. */
export interface ControlCommands {
  drive?: string;
  compact?: string;
  stop?: string;
  start?: string;
  retention?: number;
  heartbeat_seconds?: number;
  event_log?: string;
  config_root?: string;
  compact_restarts?: boolean;
}

/** Where and how long the lines run. */
export interface CommandControlOptions {
  env: Record<string, string | undefined>;
  cwd?: string;
  /** Longest run of one command, milliseconds. Default 60 000. */
  timeoutMs?: number;
}

/** Runs the shell line for each call; a call without a line throws ControlError. */
export class CommandControl extends Control {
  readonly kind = 'commands';
  readonly #commands: ControlCommands;
  readonly #options: CommandControlOptions;

  constructor(commands: ControlCommands, options: CommandControlOptions) {
    super();
    this.#commands = commands;
    this.#options = options;
  }

  info(): Promise<ControlInfo> {
    const { drive, compact, stop, start, ...declared } = this.#commands;
    const capabilities: ControlCapability[] = [];
    if (drive !== undefined) capabilities.push('drive');
    if (compact !== undefined) capabilities.push('compact');
    if (stop !== undefined && start !== undefined) capabilities.push('restart');
    return Promise.resolve(withDeclared({ capabilities }, declared));
  }
  async call(call: ControlCall, signal?: AbortSignal): Promise<Answer> {
    const { command, variables, request } = lineOf(call);
    const line = this.#commands[command];
    if (line === undefined) throw new ControlError(`control: the target file has no \`${command}\` command`);
    const { env, cwd, timeoutMs = LINE_MS } = this.#options;
    const printed = await runControlLine(command, line, {
      // A `start` line may leave the agent behind, which keeps the pipes open; a line that answers is read to its end.
      end: command === 'drive' || command === 'compact' ? 'close' : 'exit',
      cwd,
      timeoutMs,
      signal,
      env: { ...env, ...variables },
      stdin: JSON.stringify(request),
    });
    const what = call.name === 'publish' ? 'drive (publish)' : command;
    return answerTo(call, printed, `control ${what}: printed`, 'control drive: printed no deployment with an id');
  }
  override line(call: ControlCall): string | undefined {
    const { command, variables, request } = lineOf(call);
    const line = this.#commands[command];
    if (line === undefined) return undefined;
    const { cwd } = this.#options;
    const set = Object.entries(variables).map(([name, value]) => `${name}=${quote(value)} `);
    const run = `printf %s ${quote(JSON.stringify(request))} | ${set.join('')}/bin/sh -c ${quote(line)}`;
    return cwd === undefined ? run : `(cd ${quote(cwd)} && ${run})`;
  }
}

/** Which line makes a call, with what in its environment and on its standard input. */
function lineOf(call: ControlCall): {
  command: 'drive' | 'compact' | 'stop' | 'start';
  variables: Record<string, string>;
  request: object;
} {
  switch (call.name) {
    case 'deploy':
      return { command: 'drive', variables: { MUSTER_ACTION: 'deploy' }, request: call.request };
    case 'remove': {
      const { deploymentId: id } = call;
      const variables = { MUSTER_ACTION: 'remove', MUSTER_DEPLOYMENT_ID: id };
      return { command: 'drive', variables, request: { deployment_id: id } };
    }
    case 'publish': {
      const variables = { MUSTER_ACTION: 'publish', MUSTER_COUNT: String(call.count) };
      return { command: 'drive', variables, request: { count: call.count } };
    }
    case 'stop':
      return { command: 'stop', variables: { MUSTER_SIGNAL: call.signal }, request: {} };
    case 'compact':
    case 'start':
      return { command: call.name, variables: {}, request: {} };
  }
}

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

/** What a message shows of what a line wrote. */
const SHOWN_CHARACTERS = 2000;
/** Far more than any answer: a deployment has a few hundred characters. */
const MOST_PRINTED_BYTES = 1024 * 1024;

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
    throw new ControlError(`${what} printed more than ${MOST_PRINTED_BYTES / 1024 / 1024} MiB, and was ended`);
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
    const outTail = new OutputTail(SHOWN_CHARACTERS);
    const errors = new OutputTail(SHOWN_CHARACTERS);
    child.stdout.on('data', (piece: Buffer) => {
      outTail.add(piece);
      bytes += piece.length;
      if (bytes <= MOST_PRINTED_BYTES) pieces.push(piece);
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
