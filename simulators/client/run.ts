/** Runs the reference client on the one job that environment variables name. */

import type { Agent, IncomingHttpHeaders } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { isObject } from '../../harness/common/lenient.ts';
import { http } from '../../harness/common/node-http.ts';
import { LONGEST_TIMER_MS } from '../../harness/common/waiting.ts';
import {
  type CallJob,
  CLIENT_JOBS,
  CLIENT_PLACES,
  CLIENT_VARIABLES,
  type ClientValues,
  filledIn,
  jobOf,
} from '../../harness/contract/client.ts';
import { type Access, type Answer, CallFailed, type PageAsked, type PlainJob } from './behaviour.ts';
import { type FollowOptions, followEvents, whereIs } from './follow.ts';

interface CallsOptions extends Omit<FollowOptions, 'heartbeatSeconds'> {
  job: CallJob;
  access: Access;
  wanted: ClientValues;
  complain(text: string): void;
}

class Caller implements Disposable {
  readonly #options: CallsOptions;
  readonly #connections: Agent | false;

  constructor(options: CallsOptions) {
    this.#options = options;
    this.#connections = options.behaviour.calls.keepsAlive && new http.Agent({ keepAlive: true });
  }

  [Symbol.dispose](): void {
    if (this.#connections !== false) this.#connections.destroy();
  }

  async list(): Promise<void> {
    const { behaviour, wanted } = this.#options;
    const { calls } = behaviour;
    const seen = new Set<unknown>();
    const limit = wanted.limit === undefined ? undefined : Number(wanted.limit);
    let due: readonly PageAsked[] = [{ limit: calls.limit(limit), offset: 0 }];
    while (due.length > 0) {
      const answers = due.map((asked) => this.#ask(`?${new URLSearchParams(calls.query(asked))}`, {}, undefined));
      const got = (await Promise.all(answers)).map((value) => calls.page(value));
      for (const page of got) {
        for (const item of calls.items(page, seen)) {
          this.#print({ item });
          if (isObject(item)) seen.add(item['id']);
        }
      }
      const [page, asked] = [got.at(-1), due.at(-1)];
      due = page === undefined || asked === undefined ? [] : calls.next(page, asked);
    }
  }

  async call(job: PlainJob): Promise<void> {
    const { behaviour, wanted } = this.#options;
    const { requests, headers, body: bodyOf, shown } = behaviour.jobs[job];
    const body = bodyOf(wanted);
    let value: unknown;
    for (let count = 0; count < requests; count += 1) value = await this.#ask('', headers, body);
    this.#print(shown(isObject(value) ? value : {}));
  }

  #print(members: Record<string, unknown>): void {
    const { job, print } = this.#options;
    print(JSON.stringify({ saw: jobOf(job).claim.saw, ...members }));
  }

  #ask(query: string, own: Outgoing['headers'], contents: Record<string, unknown> | undefined): Promise<unknown> {
    const { behaviour, job, wanted, url = '', access } = this.#options;
    const { api, request } = jobOf(job);
    const { method } = request;
    const path = `${filledIn(request.path, wanted)}${query}`;
    const body = contents === undefined ? undefined : JSON.stringify(contents);
    const nanos = Number(contents?.['timeout_nanos'] ?? 0) || 0;
    if (api === 'device') {
      const agent = whereIs(this.#options);
      if (!agent) throw new CallFailed('the discovery file says nothing');
      const headers = { ...own, ...behaviour.follow.credentials(agent.token) };
      const address = new URL(`${agent.url}${path}`);
      return this.#exchange({ method, url: address, headers, body, socket: agent.socket }, nanos);
    }
    const headers = { ...own, ...behaviour.calls.access(access, job) };
    const address = new URL(`${url}${behaviour.calls.address(path, access, job)}`);
    return this.#exchange({ method, url: address, headers, body, socket: undefined }, nanos);
  }

  async #exchange(outgoing: Outgoing, nanos: number): Promise<unknown> {
    const { behaviour, job, signal } = this.#options;
    const { calls } = behaviour;
    for (let attempt = 0; ; attempt += 1) {
      const how = { withinMs: calls.answerMs(nanos), signal, agent: this.#connections };
      let received = await send(outgoing, how);
      const elsewhere = received?.headers.location;
      const headers = calls.redirected(outgoing.headers);
      if (elsewhere !== undefined && headers !== undefined)
        received = await send({ ...outgoing, url: new URL(elsewhere, outgoing.url), headers }, how);
      signal.throwIfAborted();
      const retryAfterMs = received && calls.askedToWait(received.headers);
      const waitMs = calls.retry({ job, status: received?.status, attempt, retryAfterMs });
      if (waitMs === undefined) {
        if (received === undefined) throw new CallFailed('no answer came');
        return calls.value(received, job);
      }
      await delay(Math.min(waitMs, LONGEST_TIMER_MS), undefined, { signal });
    }
  }
}

interface Outgoing {
  method: 'GET' | 'POST';
  /** URL of the request; only path and query count if `socket` is set. */
  url: URL;
  headers: Readonly<Record<string, string>>;
  body: string | undefined;
  socket: string | undefined;
}

type Received = Answer & { headers: IncomingHttpHeaders };

/** Undefined if no complete answer arrives within `withinMs`. */
function send(
  { method, url, headers, body, socket }: Outgoing,
  { withinMs, signal, agent }: { withinMs: number; signal: AbortSignal; agent: Agent | false },
): Promise<Received | undefined> {
  return new Promise((resolve) => {
    const place = socket === undefined ? { host: url.hostname, port: url.port } : { socketPath: socket };
    const path = `${url.pathname}${url.search}`;
    const opening = http.request({ ...place, method, path, headers, signal, agent });
    const timer = setTimeout(() => opening.destroy(), withinMs);
    const settle = (received?: Received): void => {
      clearTimeout(timer);
      resolve(received);
    };
    opening.on('error', () => settle());
    opening.once('response', (response) => {
      const pieces: Buffer[] = [];
      response.on('data', (piece: Buffer) => void pieces.push(piece));
      response.once('error', () => settle());
      response.once('end', () => {
        const { statusCode: status = 0, headers: received, complete } = response;
        settle(complete ? { status, headers: received, text: Buffer.concat(pieces).toString('utf8') } : undefined);
      });
      response.once('close', () => settle());
    });
    opening.end(body);
  });
}

interface RunOptions extends Pick<CallsOptions, 'behaviour' | 'signal' | 'print' | 'complain'> {
  variables: Readonly<Record<string, string | undefined>>;
}

/** Resolves with the exit code of the client. */
export async function runClient({ variables, ...how }: RunOptions): Promise<number> {
  const names = Object.entries(CLIENT_VARIABLES);
  const wanted: ClientValues = Object.fromEntries(names.map(([name, variable]) => [name, variables[variable]]));
  const { socket, discovery, deviceUrl, platformUrl, platformKey = '', platformVersion = '' } = wanted;
  if (wanted.job === 'describe') {
    how.print(JSON.stringify({ jobs: CLIENT_JOBS, reaches: CLIENT_PLACES, deduplicates: true, heartbeat: true }));
    return 0;
  }
  const job = CLIENT_JOBS.find((each) => each === wanted.job);
  if (job === undefined) {
    how.complain(`MUSTER_JOB=${wanted.job}: known are describe and ${CLIENT_JOBS.join(', ')}`);
    return 64;
  }
  if (job === 'follow') {
    const heartbeatSeconds = Number(wanted.heartbeatSeconds ?? 30);
    await followEvents({ ...how, socket, discovery, url: deviceUrl, heartbeatSeconds, types: wanted.types });
    return 0;
  }
  const url = jobOf(job).api === 'device' ? deviceUrl : platformUrl;
  const access = { key: platformKey, version: platformVersion };
  const { calls } = how.behaviour;
  const greeting = calls.greeting(access);
  if (greeting !== '') how.complain(greeting);
  using caller = new Caller({ ...how, job, url, socket, discovery, access, wanted });
  try {
    if (job === 'list') await caller.list();
    else await caller.call(job);
    return 0;
  } catch (error) {
    const { lines, complaint, code } = calls.failed(error, access);
    for (const line of lines) how.print(JSON.stringify(line));
    if (complaint !== '') how.complain(complaint);
    return code;
  }
}
