/** Connects shards without a shared disk: the merge serves the run's folder over HTTP, and each shard mirrors it. */
import { createHash, timingSafeEqual } from 'node:crypto';
import { createWriteStream, existsSync, mkdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { basename, dirname, join } from 'node:path';
import process, { getBuiltinModule } from 'node:process';
import { pipeline } from 'node:stream/promises';
import { setTimeout as delay } from 'node:timers/promises';
import { http, type Listening, listening } from '../../../harness/common/node-http.ts';
import { headerSecret } from '../../../harness/common/usage.ts';
import { whyNot } from '../../../harness/common/user-files.ts';
import { isPassing, poll } from '../../../harness/common/waiting.ts';
import {
  ALIVE_FILE,
  type Alive,
  FAILED_FILE,
  type Failed,
  foldersIn,
  isAlive,
  isFailed,
  NoRunError,
  RESULT_FILE,
  ResultError,
  readJsonFile,
  readResult,
  shardFolder,
  writeAlive,
} from './shards.ts';

const TOKEN_VARIABLE = 'MUSTER_RESULTS_TOKEN';
const SHORTEST_TOKEN = 16;

/** Throws RangeError for a missing or short token. */
export function tokenOfResults(env: NodeJS.ProcessEnv): string {
  const token = env[TOKEN_VARIABLE];
  if (token !== undefined && token.length >= SHORTEST_TOKEN) return headerSecret(TOKEN_VARIABLE, token);
  const needed = `${SHORTEST_TOKEN} characters or more, the same for merge and shards`;
  throw new RangeError(`${TOKEN_VARIABLE} must hold ${needed}`);
}

const RUN_ID = /^[A-Za-z0-9][\w.-]{0,62}$/;
const FOLDER = /^shard-(\d{1,6})-of-(\d{1,6})$/;
const MOST_BYTES: Readonly<Record<string, number>> = {
  [ALIVE_FILE]: 2 ** 16,
  [FAILED_FILE]: 2 ** 16,
  [RESULT_FILE]: 2 ** 29,
};

interface Listing {
  run_id: string;
  shards: { folder: string; alive?: Alive; ended: boolean }[];
}

interface ServeOptions {
  dir: string;
  runId: string;
  token: string;
  port: number;
  host: string;
  tls?: { cert: string; key: string };
}

/** Serves a run's folder to its shards until disposed; rejects for an unusable port. */
export async function serveResults(options: ServeOptions): Promise<Listening> {
  const { port, host, tls } = options;
  const listener = (request: IncomingMessage, response: ServerResponse): void => {
    answer(options, request, response).catch((error: unknown) => {
      if (!response.headersSent) response.writeHead(500, { 'Content-Type': 'text/plain' });
      response.end(`${error instanceof Error ? error.message : String(error)}\n`);
    });
  };
  const server =
    tls === undefined ? http.createServer(listener) : getBuiltinModule('node:https').createServer(tls, listener);
  return await listening(server, port, host);
}

const digest = (text: string): Buffer => createHash('sha256').update(text).digest();

async function answer(options: ServeOptions, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const say = (status: number, text: string): void =>
    void response.writeHead(status, { 'Content-Type': 'text/plain', Connection: 'close' }).end(`${text}\n`);
  const { authorization = '' } = request.headers;
  if (!timingSafeEqual(digest(authorization), digest(`Bearer ${options.token}`)))
    return say(401, `the token is not that of the merge: both take it from ${TOKEN_VARIABLE}`);
  const [, kind = '', runId = '', folder = '', file = ''] = (request.url ?? '').split('/');
  const run = join(options.dir, options.runId);
  if (request.method === 'GET' && kind === 'run') {
    const folders = foldersIn(run).filter((name) => FOLDER.test(name));
    const shards = folders.map((name) => {
      const alive = readJsonFile<Alive>(join(run, name, ALIVE_FILE));
      const ended = [RESULT_FILE, FAILED_FILE].some((of) => existsSync(join(run, name, of)));
      return { folder: name, ended, ...(alive && { alive }) };
    });
    const listing: Listing = { run_id: options.runId, shards };
    return void response.writeHead(200, { 'Content-Type': 'application/json' }).end(JSON.stringify(listing));
  }
  const [, index = 0, count = 0] = FOLDER.exec(folder)?.map(Number) ?? [];
  if (request.method !== 'PUT' || kind !== 'runs' || index < 1 || index > count || !Object.hasOwn(MOST_BYTES, file))
    return say(404, 'accepted: GET /run, and PUT /runs/RUN/shard-N-of-M/FILE');
  if (runId !== options.runId) return say(409, `the run is ${options.runId}, not ${runId}`);
  const problem = await take(join(run, folder), file, request);
  return problem === undefined ? void response.writeHead(204).end() : say(409, problem);
}

async function take(folder: string, file: string, request: IncomingMessage): Promise<string | undefined> {
  mkdirSync(folder, { recursive: true });
  const part = join(folder, `.${file}.${process.pid}-${performance.now()}`);
  try {
    await pipeline(request, (source) => bounded(source, MOST_BYTES[file] ?? 0), createWriteStream(part));
    if (file !== RESULT_FILE) {
      const sign = readJsonFile<unknown>(part);
      const isWhole = file === ALIVE_FILE ? isAlive(sign) : isFailed(sign);
      if (!isWhole || shardFolder((sign as Alive | Failed).shard) !== basename(folder))
        return `${file} must name the shard of ${basename(folder)}, and its beat and phase, or the reason of its end`;
    } else {
      const known = join(folder, RESULT_FILE);
      const { job_id: job } = readResult(part);
      const isOther = existsSync(known) && !readFileSync(known).equals(readFileSync(part));
      if (isOther && (job === undefined || readResult(known).job_id !== job))
        return `${basename(folder)} has a result already; only the job that made it may replace it`;
    }
    renameSync(part, join(folder, file));
    for (const other of [ALIVE_FILE, FAILED_FILE]) if (other !== file) rmSync(join(folder, other), { force: true });
    return undefined;
  } catch (error) {
    if (error instanceof ResultError || error instanceof RangeError) return error.message.replace(part, file);
    throw error;
  } finally {
    rmSync(part, { force: true });
  }
}

async function* bounded(source: AsyncIterable<Buffer>, most: number): AsyncGenerator<Buffer> {
  let bytes = 0;
  for await (const chunk of source) {
    bytes += chunk.length;
    if (bytes > most) throw new RangeError(`the file has more than ${most} bytes`);
    yield chunk;
  }
}

/** Maximum milliseconds for sending after an interrupt; a cluster kills the process after 30 s. */
const LAST_DELIVERY_MS = 20_000;
const PAUSE_MS = 2000;
/** Bytes per millisecond of the slowest link. */
const SLOWEST_LINK = 32;

interface MirrorOptions {
  url: URL;
  token: string;
  root: string;
  runId?: string;
  say(line: string): void;
}

export class Mirror implements Disposable {
  readonly #options: MirrorOptions;
  readonly #timer: NodeJS.Timeout;
  #runId: string | undefined;
  #refused: AccessError | undefined;
  #own: string | undefined;
  #sent = '';
  #looking = false;
  readonly #looks = new AbortController();
  #told = Number.NEGATIVE_INFINITY;
  trouble: string | undefined;

  constructor(options: MirrorOptions) {
    this.#options = options;
    this.#timer = setInterval(() => void this.#look(), 1000);
    void this.#look();
  }

  follow(folder: string): void {
    this.#own = folder;
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer);
    this.#looks.abort();
  }

  /** Resolves with the run's id. Rejects with AccessError, NoRunError, or the signal's reason. */
  async awaitRun(timeoutMs: number, signal: AbortSignal): Promise<string> {
    const { url, runId: wanted, say } = this.#options;
    const at = shown(url);
    say(`waiting for the merge at ${at} to announce ${wanted === undefined ? 'a run' : `the run ${wanted}`}`);
    const look = (): string | undefined => {
      if (this.#refused !== undefined) throw this.#refused;
      return this.#runId;
    };
    const problem =
      `--results: nobody announced a run at ${at} for ${timeoutMs / 1000} s; is 'muster merge … --watch ` +
      `--run-id … --serve …' running there?`;
    const timeoutError = () => new NoRunError(problem);
    return await poll('the merge', look, { timeoutMs, firstPauseMs: 100, signal, timeoutError });
  }

  async #look(): Promise<void> {
    if (this.#looking) return;
    this.#looking = true;
    try {
      await this.#pull();
      await this.#push(ALIVE_FILE);
      this.trouble = undefined;
      this.#told = performance.now();
    } catch (error) {
      if (this.#looks.signal.aborted) return;
      this.trouble = whyNot(error);
      // Gives up after a rejected token, unless the merge has accepted it before.
      if (error instanceof AccessError && this.#runId === undefined) {
        clearInterval(this.#timer);
        this.#refused = error;
      } else this.#tell(`${this.trouble}; tried again every second`);
    } finally {
      this.#looking = false;
    }
  }

  #tell(trouble: string): void {
    const now = performance.now();
    if (now - this.#told < 30_000) return;
    this.#told = now;
    this.#options.say(`--results: ${trouble}`);
  }

  async #pull(): Promise<void> {
    const { root, runId: wanted } = this.#options;
    const response = await this.#ask('GET', 'run', { signal: this.#looks.signal });
    const said = (await response.json().catch(() => undefined)) as Partial<Listing> | undefined;
    const { run_id: runId, shards } = said ?? {};
    if (typeof runId !== 'string' || !RUN_ID.test(runId) || !Array.isArray(shards))
      throw new Error(`GET ${response.url}: the server is not muster merge --serve: it names no run`);
    if (wanted !== undefined && runId !== wanted)
      throw new Error(`GET ${response.url}: it collects the run ${runId}, not ${wanted}`);
    for (const { folder, alive, ended } of shards) {
      const here = join(root, runId, folder);
      if (here === this.#own || !FOLDER.test(folder)) continue;
      const sign = alive ?? readJsonFile<Alive>(join(here, ALIVE_FILE));
      // Marks the other shard as ended, so that this shard does not wait for it.
      if (ended) writeAlive(here, { shard: sign?.shard ?? { index: 0, count: 0 }, beat: 0, phase: 'ended' });
      else if (alive !== undefined) writeAlive(here, alive);
    }
    this.#runId = runId;
  }

  async #push(file: string, signal = this.#looks.signal): Promise<void> {
    const own = this.#own;
    if (own === undefined || !existsSync(join(own, file))) return;
    const body = readFileSync(join(own, file), 'utf8');
    if (body === this.#sent) return;
    await this.#ask('PUT', `runs/${basename(dirname(own))}/${basename(own)}/${file}`, { body, signal });
    this.#sent = body;
  }

  /** Sends `failed.json` and `result.json`, if they exist, with retries; resolves with the reason for a failure. */
  async deliver(signal: AbortSignal): Promise<string | undefined> {
    this[Symbol.dispose]();
    if (this.#own === undefined) return undefined;
    // Maximum milliseconds in which a shard tries to send its result; the merge may be restarting.
    let until = performance.now() + 300_000;
    let interrupted = false;
    this.#told = Number.NEGATIVE_INFINITY;
    for (;;) {
      if (signal.aborted && !interrupted) {
        interrupted = true;
        until = Math.min(until, performance.now() + LAST_DELIVERY_MS);
        this.#told = Number.NEGATIVE_INFINITY;
      }
      // Without an interrupt, an upload may take as long as its size needs.
      const end = interrupted ? AbortSignal.timeout(Math.ceil(Math.max(PAUSE_MS, until - performance.now()))) : signal;
      try {
        for (const file of [FAILED_FILE, RESULT_FILE]) await this.#push(file, end);
        return undefined;
      } catch (error) {
        const left = until - performance.now();
        if (error instanceof Refused || left < 0) return whyNot(error);
        this.#tell(`delivering the result, for ${Math.ceil(left / 1000)} s more at most: ${whyNot(error)}`);
      }
      await delay(PAUSE_MS, undefined, { signal: end }).catch(() => {});
    }
  }

  async #ask(method: string, path: string, init: { signal: AbortSignal; body?: string }): Promise<Response> {
    const url = new URL(this.#options.url);
    url.pathname = `${url.pathname.replace(/\/$/, '')}/${path}`;
    const what = `${method} ${shown(url)}`;
    // Maximum milliseconds of a request: 30,000, and the time that a slow link needs for the body.
    const answerMs = 30_000 + Math.ceil((init.body?.length ?? 0) / SLOWEST_LINK);
    const response = await fetch(url, {
      ...init,
      method,
      headers: { authorization: `Bearer ${this.#options.token}` },
      signal: AbortSignal.any([init.signal, AbortSignal.timeout(answerMs)]),
    }).catch((error: Error) => {
      const cause = (error.cause ?? error) as NodeJS.ErrnoException;
      // Falls back to the error's code, because the message is empty e.g. for a host with several addresses.
      throw new Error(`${what}: ${whyNot(cause) || cause.code}`);
    });
    if (response.ok) return response;
    const said = `${what}: ${response.status}, ${(await response.text()).trim().slice(0, 200)}`;
    if (response.status === 401 || response.status === 403) throw new AccessError(said);
    throw isPassing(response.status) ? new Error(said) : new Refused(said);
  }
}

/** Omits user, password and query, which may be secret. */
const shown = ({ origin, pathname }: URL): string => `${origin}${pathname}`;

class Refused extends Error {
  override name = 'Refused';
}

export class AccessError extends Refused {
  override name = 'AccessError';
}
