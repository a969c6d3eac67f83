/** Control by shell lines of a target file, for agents that can be scripted but have no control API. */
import { quote } from '../../client/curl.ts';
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
import { type Control, type ControlCall, ControlError, type Exact, parseExact, withDeclared } from './control.ts';
import { runControlLine } from './shell-line.ts';

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
  /** Kills the lines that run. */
  signal?: AbortSignal;
}

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
    return this.#deployment(await this.#run({ name: 'deploy', request }));
  }
  async remove(deploymentId: string): Promise<Deployment> {
    return this.#deployment(await this.#run({ name: 'remove', deploymentId }));
  }
  async publish(count: number): Promise<Exact<ControlPublished>> {
    const answer = await this.#run({ name: 'publish', count });
    return checked(answer, controlPublished, 'drive (publish)') as ControlPublished;
  }
  async compact(): Promise<Exact<ControlCompacted>> {
    return checked(await this.#run({ name: 'compact' }), controlCompacted, 'compact') as ControlCompacted;
  }
  async stop(signal: StopSignal = 'SIGTERM'): Promise<void> {
    await this.#run({ name: 'stop', signal });
  }
  async start(): Promise<void> {
    await this.#run({ name: 'start' });
  }
  line(call: ControlCall): string | undefined {
    const { command, variables, request } = lineOf(call);
    const line = this.#commands[command];
    if (line === undefined) return undefined;
    const { cwd } = this.#options;
    const set = Object.entries(variables).map(([name, value]) => `${name}=${quote(value)} `);
    const run = `printf %s ${quote(JSON.stringify(request))} | ${set.join('')}/bin/sh -c ${quote(line)}`;
    return cwd === undefined ? run : `(cd ${quote(cwd)} && ${run})`;
  }
  bound(signal: AbortSignal): CommandControl {
    return new CommandControl(this.#commands, { ...this.#options, signal });
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
  async #run(call: ControlCall): Promise<string> {
    const { command: name, variables, request } = lineOf(call);
    const line = this.#commands[name];
    if (line === undefined) throw new ControlError(`control: the target file has no \`${name}\` command`);
    const { env, cwd, timeoutMs = 60_000, signal } = this.#options;
    return runControlLine(name, line, {
      // A `start` line may leave the agent behind, which keeps the pipes open; a line that answers is read to its end.
      end: name === 'drive' || name === 'compact' ? 'close' : 'exit',
      ...{ cwd, timeoutMs, signal },
      env: { ...env, ...variables },
      stdin: JSON.stringify(request),
    });
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
