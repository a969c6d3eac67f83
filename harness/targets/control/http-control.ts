/** Control over HTTP: the control API of `fixtures/control.md`. */

import { curlLine } from '../../client/curl.ts';
import { HttpClient, type HttpRequest, type HttpResponse } from '../../client/http.ts';
import { cut } from '../../client/recorder.ts';
import {
  type ControlCompacted,
  type ControlDeployment,
  type ControlInfo,
  type ControlPublished,
  controlCompacted,
  controlInfo,
  controlPublished,
  type StopSignal,
} from '../../contract/control.ts';
import { type Deployment, deployment } from '../../contract/deployment.ts';
import type { Shape } from '../../contract/shape.ts';
import { accepts } from '../transports/transport.ts';
import {
  type Control,
  type ControlCall,
  ControlError,
  ControlLate,
  ControlRefused,
  type Exact,
  parseExact,
} from './control.ts';

/** Milliseconds: a control API answers within 60 seconds (`fixtures/control.md`). */
const CALL_MS = 60_000;

/** Environment variable with the token of a control API. */
export const CONTROL_TOKEN = 'MUSTER_CONTROL_TOKEN';
const WANTED = `. Its token is taken from ${CONTROL_TOKEN}, or from the file of --control-token`;

const authorization = (token: string | undefined): Record<string, string> =>
  token === undefined ? {} : { authorization: `Bearer ${token}` };

/** How long a call may take, and what ends it early. `http`: a client of the same address whose connections are shared. */
export interface HttpControlOptions {
  timeoutMs?: number;
  signal?: AbortSignal;
  /** Sent as `Authorization: Bearer TOKEN`. */
  token?: string;
  http?: HttpClient;
}

/** Speaks to a control API. */
export class HttpControl implements Control {
  readonly kind: string;
  readonly #address: string;
  readonly #http: HttpClient;
  readonly #timeoutMs: number;
  readonly #signal: AbortSignal | undefined;
  readonly #token: string | undefined;

  /** `address`: an `http(s)://` URL, a port, or the path of a unix socket. `timeoutMs` of one call: default 60 000. */
  constructor(address: string, options: HttpControlOptions = {}) {
    const { path, ...endpoint } = endpointOf(address);
    this.kind = `http ${address}`;
    this.#address = address;
    this.#timeoutMs = options.timeoutMs ?? CALL_MS;
    this.#signal = options.signal;
    this.#token = options.token;
    const headers = authorization(options.token);
    this.#http = options.http ?? new HttpClient({ endpoint, basePath: path, headers });
  }

  info(): Promise<ControlInfo> {
    return this.#call({ method: 'GET', path: '/' }, controlInfo);
  }
  deploy(request: ControlDeployment = {}): Promise<Deployment> {
    return this.#call(requestOf({ name: 'deploy', request }), deployment);
  }
  remove(deploymentId: string): Promise<Deployment> {
    return this.#call(requestOf({ name: 'remove', deploymentId }), deployment);
  }
  publish(count: number): Promise<Exact<ControlPublished>> {
    return this.#call(requestOf({ name: 'publish', count }), controlPublished);
  }
  compact(): Promise<Exact<ControlCompacted>> {
    return this.#call(requestOf({ name: 'compact' }), controlCompacted);
  }
  async stop(signal: StopSignal = 'SIGTERM'): Promise<void> {
    await this.#call(requestOf({ name: 'stop', signal }));
  }
  async start(): Promise<void> {
    await this.#call(requestOf({ name: 'start' }));
  }
  line(call: ControlCall): string {
    const { method, path, body } = requestOf(call);
    const { origin, socketPath } = this.#http.endpoint;
    return curlLine({
      ...{ method, socketPath, timeoutMs: this.#timeoutMs },
      url: `${origin}${this.#http.basePath}${path}`,
      headers: { ...authorization(this.#token), ...(body !== undefined && { 'content-type': 'application/json' }) },
      body: body === undefined ? undefined : JSON.stringify(body),
      variable: (secret) => (secret === this.#token ? CONTROL_TOKEN : undefined),
    });
  }
  bound(signal: AbortSignal): HttpControl {
    const same = {
      http: this.#http,
      timeoutMs: this.#timeoutMs,
      ...(this.#token !== undefined && { token: this.#token }),
    };
    return new HttpControl(this.#address, { ...same, signal });
  }
  close(): Promise<void> {
    return this.#http.close();
  }

  async #call<T>(request: ControlRequest, answer?: Shape): Promise<T> {
    const what = `control ${request.method} ${request.path}`;
    const response = await this.#request(request);
    if (response.status < 200 || response.status > 299) {
      const refused = response.status >= 400 && response.status < 500;
      throw new (refused ? ControlRefused : ControlError)(
        `${what} answered ${response.status}: ${cut(response.text, 300)}${response.status === 401 ? WANTED : ''}`,
      );
    }
    if (answer === undefined) return undefined as T;
    // The suite decides whether a deployment has its shape; control needs only the id.
    if (answer === (deployment as Shape)) {
      if (typeof (response.json as { id?: unknown } | undefined)?.id === 'string') return response.json as T;
      throw new ControlError(`${what} answered a deployment without id: ${cut(response.text, 300)}`);
    }
    if (!answer.is(response.json)) {
      const [problem] = answer.problems(response.json);
      throw new ControlError(
        `${what} answered something that is not a ${answer.name}: ${problem?.path ?? ''} ${problem?.message ?? ''}`,
      );
    }
    return (answer === (controlInfo as Shape) ? response.json : parseExact(response.text)) as T;
  }

  async #request(request: HttpRequest): Promise<HttpResponse> {
    const late = AbortSignal.timeout(this.#timeoutMs);
    const signal = this.#signal === undefined ? late : AbortSignal.any([this.#signal, late]);
    try {
      // The client's own limit stands behind this one.
      return await this.#http.with({ signal, timeoutMs: 2 * this.#timeoutMs }).request(request);
    } catch (error) {
      const what = `control ${request.method} ${request.path}`;
      if (late.aborted) throw new ControlLate(`${what}: no whole answer within ${this.#timeoutMs / 1000} s`);
      throw new ControlError(error instanceof Error ? `control: ${error.message}` : String(error), { cause: error });
    }
  }
}

interface ControlRequest {
  method: 'GET' | 'POST';
  path: string;
  body?: unknown;
}

function requestOf(call: ControlCall): ControlRequest {
  switch (call.name) {
    case 'deploy':
      return { method: 'POST', path: '/deployments', body: call.request };
    case 'remove':
      return { method: 'POST', path: `/deployments/${encodeURIComponent(call.deploymentId)}/remove` };
    case 'publish':
      return { method: 'POST', path: '/events', body: { count: call.count } };
    case 'stop':
      return { method: 'POST', path: '/stop', body: { signal: call.signal } };
    case 'compact':
    case 'start':
      return { method: 'POST', path: `/${call.name}` };
  }
}

/** Whether a control API accepts connections at this address now. */
export function acceptsControl(address: string): Promise<boolean> {
  const { origin, socketPath } = endpointOf(address);
  if (socketPath !== undefined) return accepts({ path: socketPath });
  const { hostname, port } = new URL(origin);
  return accepts({ host: hostname, port: Number(port || 80) });
}

function endpointOf(address: string): { origin: string; socketPath?: string; path: string } {
  if (/^\d+$/.test(address)) return { origin: `http://127.0.0.1:${address}`, path: '' };
  if (/^https?:/.test(address)) {
    const url = new URL(address);
    return { origin: url.origin, path: url.pathname.replace(/\/$/, '') };
  }
  return { origin: 'http://localhost', socketPath: address, path: '' };
}
