/** Control by shell lines of a target file, for agents that can be scripted but have no control API. */
import { quote } from '../../client/request-forms.ts';
import type { ControlCapability, ControlInfo } from '../../contract/control.ts';
import type { TargetFile } from '../fields.ts';
import { ProcessGroup } from '../launch/process.ts';
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

export type ControlCommands = Omit<NonNullable<TargetFile['control']>, 'http' | 'platform' | 'fill'>;

export type CommandControlOptions = Pick<LineOptions, 'env'> & Partial<Pick<LineOptions, 'cwd' | 'timeoutMs'>>;

/** A call without a shell line in the target file throws ControlError. */
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
      // After `start`, waits for the shell only, because the running agent keeps the pipes open.
      until: command === 'drive' || command === 'compact' ? 'ended' : 'exited',
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

export interface LineOptions {
  env: Record<string, string | undefined>;
  cwd: string | undefined;
  stdin: string;
  /** `exited`: waits for the shell; `ended`: waits for every process that holds the shell's output. */
  until: 'exited' | 'ended';
  timeoutMs: number;
  signal: AbortSignal | undefined;
}

const SHOWN_CHARACTERS = 2000;
/** Maximum number of bytes that a control command prints; a deployment has a few hundred. */
const MOST_PRINTED_BYTES = 1024 * 1024;

/**
 * Returns standard output. Throws ControlRefused for a nonzero exit code, ControlLate after `timeoutMs`, and
 * ControlError for other failures.
 */
export async function runControlLine(name: string, line: string, options: LineOptions): Promise<string> {
  const { env, cwd, stdin, until, timeoutMs, signal } = options;
  const late = AbortSignal.timeout(timeoutMs);
  const flooded = new AbortController();
  const pieces: Buffer[] = [];
  let bytes = 0;
  const onStdout = (piece: Buffer): void => {
    bytes += piece.length;
    if (bytes <= MOST_PRINTED_BYTES) pieces.push(piece);
    else flooded.abort();
  };
  const group = new ProcessGroup(line, env, { cwd, stdin, keptCharacters: SHOWN_CHARACTERS, onStdout });
  const over = AbortSignal.any([late, flooded.signal, signal].filter((one) => one !== undefined));
  const kill = (): void => void group.stop('SIGKILL');
  if (over.aborted) kill();
  else over.addEventListener('abort', kill, { once: true });
  await group[until];
  over.removeEventListener('abort', kill);
  group.release();
  const what = `control ${name}: \`${line}\``;
  const wrote = [group.stderr, group.stdout].map((text) => text.trim()).filter((text) => text !== '');
  const shown = wrote.length === 0 ? '' : `: ${wrote.join('\n')}`;
  if (flooded.signal.aborted)
    throw new ControlError(`${what} printed more than ${MOST_PRINTED_BYTES / 1024 / 1024} MiB, and was ended`);
  if (late.aborted) throw new ControlLate(`${what} did not end within ${timeoutMs / 1000} s${shown}`);
  if (signal?.aborted === true) throw new ControlError(`${what} was ended with its check`);
  if (group.code === 0) return Buffer.concat(pieces).toString('utf8');
  // A shell line refuses by its exit code; a shell that a signal ended has failed.
  throw new (group.code === undefined ? ControlError : ControlRefused)(`${what} ${group.how}${shown}`);
}
