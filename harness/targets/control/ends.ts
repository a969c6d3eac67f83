import { HttpClient, type HttpRequest, type HttpResponse } from '../../client/http.ts';
import { curlLine } from '../../client/request-forms.ts';
import { cut } from '../../client/timeline.ts';
import { quote } from '../../common/usage.ts';
import { type ControlCapability, type ControlInfo, controlInfo } from '../../contract/control.ts';
import type { TargetFile } from '../fields.ts';
import { ProcessGroup } from '../launch/process.ts';
import { endpointOf, type Given, webEndpoint } from '../transports/index.ts';
import {
  answerTo,
  Control,
  type ControlAnswer,
  type ControlCall,
  ControlError,
  ControlLate,
  ControlRefused,
  notOf,
  withDeclared,
} from './control.ts';

/** Milliseconds in which a call must end (`fixtures/control.md`). */
const CALL_MS = 60_000;

export const CONTROL_TOKEN = 'MUSTER_CONTROL_TOKEN';
const WANTED = `. Its token is taken from ${CONTROL_TOKEN}, or from the file of --control-token`;

const authorization = (token: string | undefined): Record<string, string> =>
  token === undefined ? {} : { authorization: `Bearer ${token}` };

export interface HttpControlOptions extends Pick<Given, 'ca' | 'caFile'> {
  /** Milliseconds within which each call must end. Default 60 000. */
  timeoutMs?: number;
  token?: string;
}

/** Control over HTTP, by the control API of `fixtures/control.md`. */
export class HttpControl extends Control {
  readonly kind: string;
  readonly #http: HttpClient;
  readonly #timeoutMs: number;
  readonly #token: string | undefined;

  /** `address`: an `http(s)://` URL, a port, or the path of a unix socket. */
  constructor(address: string, { timeoutMs = CALL_MS, token, ...authority }: HttpControlOptions = {}) {
    super();
    const { path, origin, ...socket } = endpointOf(address);
    const endpoint = { ...webEndpoint(origin, authority), ...socket };
    this.kind = `http ${address}`;
    this.#timeoutMs = timeoutMs;
    this.#token = token;
    this.#http = new HttpClient({ endpoint, basePath: path, headers: authorization(token) });
  }

  async info(signal?: AbortSignal): Promise<ControlInfo> {
    const { json } = await this.#request({ method: 'GET', path: '/' }, signal);
    if (controlInfo.is(json)) return json;
    throw notOf(controlInfo, json, 'control GET / answered');
  }
  async call(call: ControlCall, signal?: AbortSignal): Promise<ControlAnswer> {
    const request = requestOf(call);
    const { text } = await this.#request(request, signal);
    const said = `control ${request.method} ${request.path} answered`;
    return answerTo(call, text, said, `${said} a deployment without id: ${cut(text, 300)}`);
  }
  override line(call: ControlCall): string {
    const { method, path, body } = requestOf(call);
    const { origin, socketPath, caFile } = this.#http.endpoint;
    return curlLine({
      method,
      socketPath,
      caFile,
      timeoutMs: this.#timeoutMs,
      url: `${origin}${this.#http.basePath}${path}`,
      headers: { ...authorization(this.#token), ...(body !== undefined && { 'content-type': 'application/json' }) },
      body: body === undefined ? undefined : JSON.stringify(body),
      variable: (secret) => (secret === this.#token ? CONTROL_TOKEN : undefined),
    });
  }
  override close(): Promise<void> {
    return this.#http.close();
  }

  async #request(request: ControlRequest, over: AbortSignal | undefined): Promise<HttpResponse> {
    const what = `control ${request.method} ${request.path}`;
    const late = AbortSignal.timeout(this.#timeoutMs);
    const signal = over === undefined ? late : AbortSignal.any([over, late]);
    // Sets the client's limit higher, so that `signal` ends a late request with a message about control.
    const client = this.#http.with({ signal, timeoutMs: 2 * this.#timeoutMs });
    const response = await client.request(request).catch((error: unknown) => {
      if (late.aborted) throw new ControlLate(`${what}: no whole answer within ${this.#timeoutMs / 1000} s`);
      throw new ControlError(error instanceof Error ? `control: ${error.message}` : String(error), { cause: error });
    });
    const { status, text } = response;
    if (status >= 200 && status <= 299) return response;
    const refused = status >= 400 && status < 500;
    throw new (refused ? ControlRefused : ControlError)(
      `${what} answered ${status}: ${cut(text, 300)}${status === 401 ? WANTED : ''}`,
    );
  }
}

type ControlRequest = Pick<HttpRequest, 'path' | 'body'> & { method: string };

function requestOf(call: ControlCall): ControlRequest {
  const method = 'POST';
  if (call.name === 'deploy') return { method, path: '/deployments', body: call.request };
  if (call.name === 'remove') return { method, path: `/deployments/${encodeURIComponent(call.deploymentId)}/remove` };
  if (call.name === 'publish') return { method, path: '/events', body: { count: call.count } };
  if (call.name === 'stop') return { method, path: '/stop', body: { signal: call.signal } };
  return { method, path: `/${call.name satisfies 'compact' | 'start'}` };
}

export type ControlCommands = Omit<NonNullable<TargetFile['control']>, 'http' | 'platform' | 'fill'>;

export type CommandControlOptions = Pick<LineOptions, 'env'> & Partial<Pick<LineOptions, 'cwd' | 'timeoutMs'>>;

/**
 * Control by shell lines of a target file, for agents without a control API. A call without a shell line throws
 * ControlError.
 */
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
  async call(call: ControlCall, signal?: AbortSignal): Promise<ControlAnswer> {
    const { command, variables, request } = lineOf(call);
    const line = this.#commands[command];
    if (line === undefined) throw new ControlError(`control: the target file has no \`${command}\` command`);
    const { env, cwd, timeoutMs = CALL_MS } = this.#options;
    const printed = await runControlLine(command, line, {
      // Waits only for the shell of `stop` and `start`, because a started agent keeps the pipes open.
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
  const drive = (request: object, variables: Record<string, string> = {}) =>
    ({ command: 'drive', variables: { MUSTER_ACTION: call.name, ...variables }, request }) as const;
  if (call.name === 'deploy') return drive(call.request);
  if (call.name === 'remove')
    return drive({ deployment_id: call.deploymentId }, { MUSTER_DEPLOYMENT_ID: call.deploymentId });
  if (call.name === 'publish') return drive({ count: call.count }, { MUSTER_COUNT: String(call.count) });
  if (call.name === 'stop') return { command: 'stop', variables: { MUSTER_SIGNAL: call.signal }, request: {} };
  return { command: call.name, variables: {}, request: {} };
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

/** Bytes that a control command may print; a deployment has a few hundred. */
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
  const group = new ProcessGroup(line, env, { cwd, stdin, keptCharacters: 2000, onStdout });
  const over = AbortSignal.any([late, flooded.signal, signal].filter((one) => one !== undefined));
  const kill = (): void => void group.stop('SIGKILL');
  if (over.aborted) kill();
  else over.addEventListener('abort', kill, { once: true });
  await group[until];
  over.removeEventListener('abort', kill);
  if (until === 'exited' && group.code === 0) group.discard();
  else group.release();
  const what = `control ${name}: \`${line}\``;
  const wrote = [group.stderr, group.stdout].map((text) => text.trim()).filter((text) => text !== '');
  const shown = wrote.length === 0 ? '' : `: ${wrote.join('\n')}`;
  if (flooded.signal.aborted)
    throw new ControlError(`${what} printed more than ${MOST_PRINTED_BYTES / 1024 / 1024} MiB, and was ended`);
  if (late.aborted) throw new ControlLate(`${what} did not end within ${timeoutMs / 1000} s${shown}`);
  if (signal?.aborted === true) throw new ControlError(`${what} was ended with its check`);
  if (group.code === 0) return Buffer.concat(pieces).toString('utf8');
  // A shell line refuses by its exit code; a shell ended by a signal has failed.
  throw new (group.code === undefined ? ControlError : ControlRefused)(`${what} ${group.how}${shown}`);
}
