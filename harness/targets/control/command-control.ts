/** Control by shell lines of a target file, for agents that can be scripted but have no control API. */
import { spawn } from 'node:child_process';
import {
  type ControlCapability,
  type ControlCompacted,
  type ControlDeployment,
  type ControlInfo,
  type ControlPublished,
  controlCompacted,
  controlPublished,
  type StopSignal,
} from '../../contract/control.ts';
import type { Deployment } from '../../contract/deployment.ts';
import type { Shape } from '../../contract/shape.ts';
import { OutputTail } from '../launch/started.ts';
import { type Control, ControlError, type Exact, parseExact, withDeclared } from './control.ts';

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
}

/** Where and how long the lines run. */
export interface CommandControlOptions {
  env: Record<string, string | undefined>;
  cwd?: string;
  /** Longest run of one command, milliseconds. Default 60 000. */
  timeoutMs?: number;
}

const ERROR_TAIL = 2000;

/** Runs the shell line for each call; a call without a line throws ControlError. */
export class CommandControl implements Control {
  readonly kind = 'commands';
  readonly #commands: ControlCommands;
  readonly #options: CommandControlOptions;

  constructor(commands: ControlCommands, options: CommandControlOptions) {
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
  async deploy(request: ControlDeployment = {}): Promise<Deployment> {
    return this.#deployment(await this.#run('drive', { MUSTER_ACTION: 'deploy' }, request));
  }
  async remove(deploymentId: string): Promise<Deployment> {
    const request = { deployment_id: deploymentId };
    return this.#deployment(
      await this.#run('drive', { MUSTER_ACTION: 'remove', MUSTER_DEPLOYMENT_ID: deploymentId }, request),
    );
  }
  async publish(count: number): Promise<Exact<ControlPublished>> {
    const answer = await this.#run('drive', { MUSTER_ACTION: 'publish', MUSTER_COUNT: String(count) }, { count });
    return checked(answer, controlPublished, 'drive (publish)') as ControlPublished;
  }
  async compact(): Promise<Exact<ControlCompacted>> {
    return checked(await this.#run('compact'), controlCompacted, 'compact') as ControlCompacted;
  }
  async stop(signal: StopSignal = 'SIGTERM'): Promise<void> {
    await this.#run('stop', { MUSTER_SIGNAL: signal });
  }
  async start(): Promise<void> {
    await this.#run('start');
  }
  close(): Promise<void> {
    return Promise.resolve();
  }

  #deployment(printed: string): Deployment {
    const answer = json(printed);
    // The suite decides whether a deployment has its shape; control needs only the id.
    if (typeof (answer as { id?: unknown } | undefined)?.id === 'string') return answer as Deployment;
    throw new ControlError('control drive: printed no deployment with an id');
  }

  /** Runs a line and resolves with its standard output. */
  #run(
    name: 'drive' | 'compact' | 'stop' | 'start',
    variables: Record<string, string> = {},
    request: unknown = {},
  ): Promise<string> {
    const line = this.#commands[name];
    if (line === undefined)
      return Promise.reject(new ControlError(`control: the target file has no \`${name}\` command`));
    const { env, cwd, timeoutMs = 60_000 } = this.#options;
    return new Promise((resolve, reject) => {
      const child = spawn('/bin/sh', ['-c', line], {
        env: { ...env, ...variables } as NodeJS.ProcessEnv,
        timeout: timeoutMs,
        killSignal: 'SIGKILL',
        ...(cwd === undefined ? {} : { cwd }),
      });
      let out = '';
      const err = new OutputTail(ERROR_TAIL);
      child.stdout.setEncoding('utf8').on('data', (text: string) => (out += text));
      child.stderr.setEncoding('utf8').on('data', (text: string) => err.add(text));
      child.stdin.on('error', () => {});
      child.stdin.end(JSON.stringify(request));
      const fail = (why: string): void =>
        reject(new ControlError(`control ${name}: \`${line}\` ${why}${err.text === '' ? '' : `: ${err.text.trim()}`}`));
      child.once('error', (error) => fail(`could not be started (${error.message})`));
      // A `start` line may leave the agent behind, which keeps the pipes open; a line that answers is read to its end.
      child.once(name === 'drive' || name === 'compact' ? 'close' : 'exit', (code, signal) => {
        child.stdout.destroy();
        child.stderr.destroy();
        if (signal !== null) fail(`did not end within ${timeoutMs / 1000} s`);
        else if (code !== 0) fail(`ended with exit code ${code}`);
        else resolve(out);
      });
    });
  }
}

function checked(printed: string, shape: Shape, what: string): unknown {
  const answer = json(printed);
  if (shape.is(answer)) return parseExact(printed);
  const [problem] = shape.problems(answer);
  throw new ControlError(
    `control ${what}: printed something that is not a ${shape.name}: ${problem?.path ?? ''} ${problem?.message ?? ''}`,
  );
}

function json(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
