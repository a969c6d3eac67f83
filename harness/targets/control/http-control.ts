/** Control over HTTP, by the control API of `fixtures/control.md`. */

import { HttpClient, type HttpResponse } from '../../client/http.ts';
import { curlLine } from '../../client/request-forms.ts';
import { cut } from '../../client/timeline.ts';
import { type ControlInfo, controlInfo } from '../../contract/control.ts';
import { accepts } from '../transports/transport.ts';
import {
  type Answer,
  answerTo,
  Control,
  type ControlCall,
  ControlError,
  ControlLate,
  ControlRefused,
  notOf,
} from './control.ts';

/** Milliseconds in which a control API must answer (`fixtures/control.md`). */
const CALL_MS = 60_000;

export const CONTROL_TOKEN = 'MUSTER_CONTROL_TOKEN';
const WANTED = `. Its token is taken from ${CONTROL_TOKEN}, or from the file of --control-token`;

const authorization = (token: string | undefined): Record<string, string> =>
  token === undefined ? {} : { authorization: `Bearer ${token}` };

export interface HttpControlOptions {
  /** Milliseconds within which each call must end. Default 60 000. */
  timeoutMs?: number;
  token?: string;
}

export class HttpControl extends Control {
  readonly kind: string;
  readonly #http: HttpClient;
  readonly #timeoutMs: number;
  readonly #token: string | undefined;

  /** `address`: an `http(s)://` URL, a port, or the path of a unix socket. */
  constructor(address: string, { timeoutMs = CALL_MS, token }: HttpControlOptions = {}) {
    super();
    const { path, ...endpoint } = endpointOf(address);
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
  async call(call: ControlCall, signal?: AbortSignal): Promise<Answer> {
    const request = requestOf(call);
    const { text } = await this.#request(request, signal);
    const said = `control ${request.method} ${request.path} answered`;
    return answerTo(call, text, said, `${said} a deployment without id: ${cut(text, 300)}`);
  }
  override line(call: ControlCall): string {
    const { method, path, body } = requestOf(call);
    const { origin, socketPath } = this.#http.endpoint;
    return curlLine({
      method,
      socketPath,
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
