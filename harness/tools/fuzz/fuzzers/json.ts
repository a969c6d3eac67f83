/** JSON and odd calls against every operation: never a failure of the server, always its envelope, and the process lives on. */

import type { HttpResponse } from '../../../client/http.ts';
import { AGENT_BASE_PATH } from '../../../contract/agent.ts';
import { bytesOf } from '../bytes.ts';
import { type Fuzzer, fuzzer, type Subject } from '../fuzzer.ts';
import { Servers } from '../servers.ts';
import { type Call, calls } from './json-calls.ts';

/** Attacks after which the servers start afresh, because what they keep grows. */
const FRESH_AFTER = 5_000;

class Apis implements Subject<Call[]> {
  #servers: Servers;
  readonly #ids = new Map<string, string>();
  #attacks = 0;
  unharmed = true;

  constructor(servers: Servers) {
    this.#servers = servers;
  }

  async attack(all: Call[]): Promise<string | undefined> {
    this.#attacks += 1;
    if (this.#attacks % FRESH_AFTER === 0) {
      await this.#servers[Symbol.asyncDispose]();
      this.#servers = await Servers.start();
      this.#ids.clear();
    }
    for (const call of all) {
      const wrong = await this.#call(call);
      if (wrong !== undefined) return (await this.#trouble()) ?? wrong;
    }
    return await this.#trouble();
  }

  async #trouble(): Promise<string | undefined> {
    const trouble = await this.#servers.trouble();
    this.unharmed = trouble === undefined;
    return trouble;
  }

  async #call({ server, method, path, query, body, type, version }: Call): Promise<string | undefined> {
    const filled = (text: string): string =>
      text.replaceAll(/@([a-z_]+)/g, (_, kind) => this.#ids.get(kind) ?? `${kind}_none`);
    const agent = path.startsWith(AGENT_BASE_PATH);
    const answer = await this.#servers.client(server).request({
      method,
      path: filled(path),
      query: filled(query),
      absolute: agent,
      headers: {
        ...(type === '' ? {} : { 'content-type': type }),
        ...(agent ? { 'service-version': 'v0.4', authorization: 'Bearer x' } : {}),
        ...(version !== undefined && server === 'platform' && !agent ? { 'service-version': version } : {}),
      },
      ...(body === undefined ? {} : { body: bytesOf(filled(body)) }),
    });
    this.#learn(answer);
    return wrongWith(answer, `${server}: ${method} ${path.slice(0, 60)}`, method);
  }

  #learn({ json }: HttpResponse): void {
    const { object, id, data } = (json ?? {}) as { object?: unknown; id?: unknown; data?: unknown };
    if (object === 'list' && Array.isArray(data) && data[0] !== undefined)
      this.#learn({ json: data[0] } as HttpResponse);
    else if (typeof object === 'string' && typeof id === 'string') this.#ids.set(object, id);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#servers[Symbol.asyncDispose]();
  }
}

function wrongWith({ status, json, text, headers }: HttpResponse, what: string, method: string): string | undefined {
  if (status >= 500) return `${what} is answered '${status}'`;
  if (method === 'HEAD' || status === 204) return undefined;
  if (status < 400) {
    const isJson = (headers['content-type'] ?? '').includes('json');
    return isJson && json === undefined ? `${what} is answered with a body that is no JSON` : undefined;
  }
  const { error } = (json ?? {}) as { error?: Record<string, unknown> };
  const { code, params, message } = error ?? {};
  const whole = typeof code === 'string' && typeof params === 'object' && typeof message === 'string';
  return whole ? undefined : `${what} is refused without the envelope: '${status} ${text.slice(0, 100)}'`;
}

const it: Fuzzer<Call[]> = {
  name: 'json',
  about: 'JSON of every shape against every operation of the simulators',
  slow: true,
  inputs: calls,
  open: async () => new Apis(await Servers.start()),
};

export const json = fuzzer(it);
