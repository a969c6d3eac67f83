/**
 * Shards without a shared disk: the process that merges serves the folder of the run over HTTP, and each shard mirrors
 * in its own folder what the others have there. What works on a shared disk works unchanged on the mirror.
 */
import { createHash, timingSafeEqual } from 'node:crypto';
import { createWriteStream, existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { basename, dirname, join } from 'node:path';
import process, { getBuiltinModule } from 'node:process';
import { pipeline } from 'node:stream/promises';
import { setTimeout as delay } from 'node:timers/promises';
import { http, type Listening, listening } from '../../../harness/common/node-http.ts';
import { whyNot } from '../../../harness/common/user-files.ts';
import {
  ALIVE_FILE,
  type Alive,
  announceRun,
  FAILED_FILE,
  RESULT_FILE,
  ResultError,
  readResult,
  told,
  writeAlive,
} from './shards.ts';

/** Where a shard and the merge find their common secret. */
const TOKEN_VARIABLE = 'MUSTER_RESULTS_TOKEN';

/** Throws RangeError where there is none. */
export function tokenOfResults(env: NodeJS.ProcessEnv): string {
  const token = env[TOKEN_VARIABLE];
  if (token !== undefined && token.length >= SHORTEST_TOKEN) return token;
  throw new RangeError(
    `${TOKEN_VARIABLE} must hold ${SHORTEST_TOKEN} characters or more, the same for merge and shards`,
  );
}

const SHORTEST_TOKEN = 16;

/** As `--run-id` takes it: it names a folder. */
const RUN_ID = /^[A-Za-z0-9][\w.-]{0,62}$/;
const FOLDER = /^shard-\d+-of-\d+$/;
/** What a shard leaves, in the order in which a later one replaces an earlier one. */
const FILES = [ALIVE_FILE, FAILED_FILE, RESULT_FILE];
/** Bytes of one file: far more than a result has. */
const MOST_BYTES = 512 * 1024 * 1024;

/** What the merge says of a run. */
interface Listing {
  run_id: string;
  shards: { folder: string; alive?: Alive; ended: boolean }[];
}

interface ServeOptions {
  /** Holds the folder of the run. */
  dir: string;
  runId: string;
  token: string;
  port: number;
  host: string;
  /** PEM. Default: without TLS. */
  tls?: { cert: string; key: string };
}

/** Serves a run to its shards until disposed. Rejects when it cannot listen. */
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
    void response.writeHead(status, { 'Content-Type': 'text/plain' }).end(`${text}\n`);
  const { authorization = '' } = request.headers;
  if (!timingSafeEqual(digest(authorization), digest(`Bearer ${options.token}`)))
    return say(401, `the token is not that of the merge: both take it from ${TOKEN_VARIABLE}`);
  const [, kind = '', runId = '', folder = '', file = ''] = (request.url ?? '').split('/');
  if (request.method === 'GET' && kind === 'run') {
    response.writeHead(200, { 'Content-Type': 'application/json' }).end(JSON.stringify(listing(options)));
    return;
  }
  if (request.method !== 'PUT' || kind !== 'runs' || !FOLDER.test(folder) || !FILES.includes(file))
    return say(404, 'accepted: GET /run, and PUT /runs/RUN/shard-N-of-M/FILE');
  if (runId !== options.runId) return say(409, `the run is ${options.runId}, not ${runId}`);
  const problem = await take(join(options.dir, runId, folder), file, request);
  return problem === undefined ? void response.writeHead(204).end() : say(409, problem);
}

function listing({ dir, runId }: ServeOptions): Listing {
  const run = join(dir, runId);
  const folders = existsSync(run) ? readdirSync(run).filter((name) => FOLDER.test(name)) : [];
  const shards = folders.map((folder) => {
    const alive = told<Alive>(join(run, folder, ALIVE_FILE));
    const ended = [RESULT_FILE, FAILED_FILE].some((file) => existsSync(join(run, folder, file)));
    return { folder, ended, ...(alive && { alive }) };
  });
  return { run_id: runId, shards };
}

/** Keeps a file whole, or not at all; resolves with why it is not taken. The same result may come again. */
async function take(folder: string, file: string, request: IncomingMessage): Promise<string | undefined> {
  mkdirSync(folder, { recursive: true });
  const part = join(folder, `.${file}.${process.pid}-${performance.now()}`);
  try {
    await pipeline(request, bounded, createWriteStream(part));
    if (file === RESULT_FILE) {
      const known = join(folder, RESULT_FILE);
      const { job_id: job } = readResult(part);
      if (
        existsSync(known) &&
        readFileSync(known).compare(readFileSync(part)) !== 0 &&
        readResult(known).job_id !== job
      )
        return `${basename(folder)} has a result already, of another job`;
    }
    renameSync(part, join(folder, file));
    if (file !== ALIVE_FILE) rmSync(join(folder, ALIVE_FILE), { force: true });
    return undefined;
  } catch (error) {
    if (error instanceof ResultError || error instanceof RangeError) return error.message.replace(part, file);
    throw error;
  } finally {
    rmSync(part, { force: true });
  }
}

async function* bounded(source: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let bytes = 0;
  for await (const chunk of source) {
    bytes += chunk.length;
    if (bytes > MOST_BYTES) throw new RangeError(`a file has at most ${MOST_BYTES} bytes`);
    yield chunk;
  }
}

// The shard's side.

const EVERY_MS = 1000;
/** As long as a merge may take to be started anew somewhere else. */
const DELIVERY_MS = 300_000;
const PAUSE_MS = 2000;
const ANSWER_MS = 30_000;
/** Said of a shard that has ended: it is waited for no longer. */
const ENDED = 'ended';

/** The folder of a run on the merge, mirrored below `root`. */
export class Mirror implements Disposable {
  readonly #url: URL;
  readonly #token: string;
  readonly #root: string;
  readonly #timer: NodeJS.Timeout;
  #announced: { runId: string; renewed: Disposable } | undefined;
  /** The folder of this shard. */
  #own: string | undefined;
  #sent = '';
  #busy: Promise<void> = Promise.resolve();
  #looking = false;
  /** Why the merge could not be asked when it was asked last. */
  trouble: string | undefined;

  constructor(url: URL, token: string, root: string) {
    this.#url = url;
    this.#token = token;
    this.#root = root;
    mkdirSync(root, { recursive: true });
    this.#timer = setInterval(() => this.#look(), EVERY_MS);
    this.#look();
  }

  /** Sends from now on what this shard leaves in its folder, which is named as on a shared disk. */
  follow(folder: string): void {
    this.#own = folder;
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer);
    this.#announced?.renewed[Symbol.dispose]();
  }

  #look(): void {
    if (this.#looking) return;
    this.#looking = true;
    this.#busy = this.#busy.then(async () => {
      try {
        await this.#pull();
        await this.#push(ALIVE_FILE);
        this.trouble = undefined;
      } catch (error) {
        this.trouble = error instanceof Error ? whyNot(error.cause ?? error) : String(error);
      } finally {
        this.#looking = false;
      }
    });
  }

  async #pull(): Promise<void> {
    const response = await this.#ask('GET', 'run');
    const { run_id: runId, shards } = (await response.json()) as Listing;
    if (!RUN_ID.test(runId)) throw new Error('what answers is no merge: it names no run');
    if (this.#announced?.runId !== runId) {
      this.#announced?.renewed[Symbol.dispose]();
      this.#announced = { runId, renewed: announceRun(this.#root, runId) };
    }
    for (const { folder, alive, ended } of shards) {
      const here = join(this.#root, runId, folder);
      if (here === this.#own || !FOLDER.test(folder)) continue;
      const sign = alive ?? told<Alive>(join(here, ALIVE_FILE));
      if (ended) writeAlive(here, { shard: sign?.shard ?? { index: 0, count: 0 }, beat: 0, phase: ENDED });
      else if (alive !== undefined) writeAlive(here, alive);
    }
  }

  async #push(file: string): Promise<void> {
    const own = this.#own;
    if (own === undefined || !existsSync(join(own, file))) return;
    const text = readFileSync(join(own, file), 'utf8');
    if (text === this.#sent) return;
    await this.#ask('PUT', `runs/${basename(dirname(own))}/${basename(own)}/${file}`, text);
    this.#sent = text;
  }

  /**
   * Delivers what the shard has left at its end, again and again until it is taken. Resolves with why it was not;
   * undefined when it was.
   */
  async deliver(signal: AbortSignal): Promise<string | undefined> {
    clearInterval(this.#timer);
    await this.#busy;
    const until = performance.now() + DELIVERY_MS;
    for (;;) {
      try {
        for (const file of [FAILED_FILE, RESULT_FILE]) await this.#push(file);
        return undefined;
      } catch (error) {
        const why = error instanceof Error ? whyNot(error.cause ?? error) : String(error);
        if (error instanceof Refused || signal.aborted || performance.now() > until) return why;
      }
      await delay(PAUSE_MS, undefined, { signal }).catch(() => {});
    }
  }

  async #ask(method: string, path: string, body?: string): Promise<Response> {
    const url = new URL(this.#url);
    url.pathname = `${url.pathname.replace(/\/$/, '')}/${path}`;
    const response = await fetch(url, {
      method,
      headers: { authorization: `Bearer ${this.#token}` },
      signal: AbortSignal.timeout(ANSWER_MS),
      ...(body !== undefined && { body }),
    });
    if (response.ok) return response;
    const said = (await response.text()).trim();
    throw response.status < 500 ? new Refused(said) : new Error(said);
  }
}

/** The merge does not want it, and will not later. */
class Refused extends Error {
  override name = 'Refused';
}
