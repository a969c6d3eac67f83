/**
 * Minimal server of the Device API, in the order of the specification, with Node's standard library alone.
 * Parts marked "unspecified" are absent from the specification, and as simple as possible.
 */
import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import { EventEmitter, once } from 'node:events';
import fs from 'node:fs';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { parseArgs } from 'node:util';

const { values: options } = parseArgs({
  options: {
    /** Path of the unix socket (section 5 of the specification), unless `discovery` names a file for loopback. */
    socket: { type: 'string' },
    discovery: { type: 'string' },
    dir: { type: 'string', default: '.' },
    heartbeat: { type: 'string', default: '30' },
    /** Maximum number of events in the log (unspecified). */
    retain: { type: 'string', default: '1000' },
    /** Address of Muster's control API, through which tests drive the device. */
    control: { type: 'string' },
  },
});
const HEARTBEAT_SECONDS = Number(options.heartbeat);
const RETAIN = Number(options.retain);
const EVENTS = path.join(options.dir, 'events.jsonl');
const STATE = path.join(options.dir, 'state.json');
const ROOT = path.join(options.dir, 'root');

// Section 2.1 of the specification: the deployment.

interface Deployment {
  object: 'deployment';
  id: string;
  description: string;
  status: Activity | Failure;
  activity_status: Activity;
  error_status: 'none' | Failure;
  target_status: Target;
  device_id: string;
  release_id: string;
  created_at: string;
}

const newId = (prefix: string): string => `${prefix}_${randomBytes(12).toString('hex')}`;
const now = (): string => new Date().toISOString();

// Section 2.2 of the specification: statuses of a deployment, and the rule that merges activity and error.

type Activity = 'drifted' | 'staged' | 'queued' | 'deployed' | 'removing' | 'archived';
type Failure = 'failed' | 'retrying';
type Target = 'staged' | 'deployed' | 'archived';

const merged = (activity: Activity, error: 'none' | Failure): Activity | Failure =>
  error === 'none' ? activity : error;

// Section 2.3 of the specification: the envelope of events.

interface Event {
  object: 'event';
  id: number;
  type: EventType;
  occurred_at: string;
  data: object;
}

// Section 2.4 of the specification: payload of `deployment.deployed`; that of `deployment.removed` is unspecified.

type EventType = 'deployment.deployed' | 'deployment.removed';

type Described = Omit<Deployment, 'object' | 'description' | 'device_id' | 'created_at'>;

const payloadOf = ({ id, release_id, status, activity_status, error_status, target_status }: Described): object => {
  return { deployment_id: id, release_id, status, activity_status, error_status, target_status };
};

// Section 6.2 of the specification, rule 5: the device stores events as JSONL, and compacts the log.

/** Replaces a file; a crash leaves the whole old file or the whole new file. */
function writeFile(file: string, text: string, mode = 0o644): void {
  fs.mkdirSync(path.dirname(file), { recursive: true });
  const next = `${file}.new`;
  fs.writeFileSync(next, text, { flush: true, mode });
  fs.renameSync(next, file);
}

const readFile = (file: string): string => (fs.existsSync(file) ? fs.readFileSync(file, 'utf8') : '');

const lineOf = (event: Event): string => `${JSON.stringify(event)}\n`;

/** Parses a line of the log; undefined for a line that a crash cut off before any client got the event. */
function eventIn(line: string): Event | undefined {
  try {
    const event = JSON.parse(line) as Event;
    return Number.isInteger(event.id) ? event : undefined;
  } catch {
    return undefined;
  }
}

class EventLog extends EventEmitter {
  events: Event[];
  #file: number;

  constructor() {
    super();
    this.setMaxListeners(0);
    const text = readFile(EVENTS);
    this.events = text
      .split('\n')
      .map(eventIn)
      .filter((event) => event !== undefined);
    this.#file = fs.openSync(EVENTS, 'a');
    if (text !== '' && !text.endsWith('\n')) fs.appendFileSync(this.#file, '\n');
  }

  get earliest(): number {
    return this.events[0]?.id ?? 1;
  }

  get latest(): number {
    return this.events.at(-1)?.id ?? 0;
  }

  /** Events after the cursor, without the event of the cursor (section 6.2 of the specification, rule 2). */
  after(cursor: number): Event[] {
    const first = this.events.findIndex(({ id }) => id > cursor);
    return first === -1 ? [] : this.events.slice(first);
  }

  /** True if the log has deleted events after the cursor (section 7 of the specification). */
  isExpired(cursor: number): boolean {
    return cursor < this.earliest - 1;
  }

  /** Stores events before streams send them, so that no event is lost (section 6.2 of the specification, rule 1). */
  append(type: EventType, payloads: readonly object[]): void {
    const next = this.latest + 1;
    const occurred_at = now();
    const events = payloads.map((data, n): Event => ({ object: 'event', id: next + n, type, occurred_at, data }));
    fs.appendFileSync(this.#file, events.map(lineOf).join(''));
    fs.fsyncSync(this.#file);
    this.events.push(...events);
    if (this.events.length > RETAIN) this.compact(Math.ceil(RETAIN * 0.8));
    this.emit('change');
  }

  /** Deletes the oldest events, but keeps at least one event, so that ids continue after a restart. */
  compact(keep: number): void {
    this.events = this.events.slice(-Math.max(1, keep));
    writeFile(EVENTS, this.events.map(lineOf).join(''));
    fs.closeSync(this.#file);
    this.#file = fs.openSync(EVENTS, 'a');
  }
}

// Section 3 of the specification: states of a deployment; transitions between states are unspecified.

interface Wanted {
  description?: string;
  release_id?: string;
  target_status?: Target;
  activity_status?: Activity;
  error_status?: 'none' | Failure;
  config_instances?: { filepath: string; content: string }[];
}

interface State {
  device_id: string;
  deployment?: Deployment;
  files: string[];
}

fs.mkdirSync(ROOT, { recursive: true });
const log = new EventLog();
const state = JSON.parse(readFile(STATE) || JSON.stringify({ device_id: newId('dvc'), files: [] })) as State;
const saveState = (): void => writeFile(STATE, JSON.stringify(state));
saveState();

function pathOf(filepath: string): string {
  const file = path.join(ROOT, filepath);
  if (!file.startsWith(ROOT + path.sep)) throw new Refusal(422, `${filepath} is outside of the folder`);
  return file;
}

function replaceFiles(instances: readonly { filepath: string; content: string }[]): void {
  const files = instances.map(({ filepath }) => pathOf(filepath));
  for (const [n, { content }] of instances.entries()) writeFile(files[n] as string, content);
  for (const old of state.files) if (!files.includes(old)) fs.rmSync(old, { force: true });
  state.files = files;
}

/** Applies a deployment; archives a `failed` deployment without placing its files. */
function deploy(wanted: Wanted): Deployment {
  const error_status = wanted.error_status ?? 'none';
  const activity_status = error_status === 'failed' ? 'archived' : (wanted.activity_status ?? 'deployed');
  const deployment: Deployment = {
    object: 'deployment',
    id: newId('dpl'),
    description: wanted.description ?? '',
    status: merged(activity_status, error_status),
    activity_status,
    error_status,
    target_status: wanted.target_status ?? 'deployed',
    device_id: state.device_id,
    release_id: wanted.release_id ?? newId('rls'),
    created_at: now(),
  };
  const isDeployed = activity_status === 'deployed';
  replaceFiles(isDeployed ? (wanted.config_instances ?? []) : []);
  state.deployment = deployment;
  saveState();
  // Sends the event only after the config files are written (section 6.3 of the specification).
  if (isDeployed) log.append('deployment.deployed', [{ ...payloadOf(deployment), deployed_at: now() }]);
  return deployment;
}

function remove(id: string): Deployment {
  const { deployment } = state;
  if (deployment?.id !== id) throw new Refusal(404, `${id} is not the current deployment`);
  const { error_status } = deployment;
  Object.assign(deployment, {
    target_status: 'archived',
    activity_status: 'archived',
    status: merged('archived', error_status),
  });
  replaceFiles([]);
  delete state.deployment;
  saveState();
  log.append('deployment.removed', [payloadOf(deployment)]);
  return deployment;
}

// Section 4.1 of the specification: endpoints, below the version prefix of section 9.

const PREFIX = '/v0.2';

type Handler = (request: http.IncomingMessage, response: http.ServerResponse) => Promise<void> | void;

const deviceApi: Handler = async (request, response) => {
  if (token !== undefined) requireToken(token, request.headers.authorization);
  const { pathname, searchParams } = new URL((request.url ?? '').replace(/^\/+/, '/'), 'http://device');
  const serves = { [`${PREFIX}/deployments/current`]: sendCurrent, [`${PREFIX}/events`]: stream }[pathname];
  if (serves === undefined) throw new Refusal(404, `no ${pathname} here`);
  if (request.method !== 'GET') throw new Refusal(405, 'use GET');
  await serves(request, response, searchParams);
};

/** Sends the current deployment; the answer without one is unspecified. */
function sendCurrent(_request: http.IncomingMessage, response: http.ServerResponse): void {
  if (state.deployment === undefined) throw new Refusal(404, 'nothing is deployed');
  send(response, 200, state.deployment);
}

/** Cursor of a request; `after` overrides `Last-Event-ID`. Without either, the newest id (unspecified). */
function cursorOf(request: http.IncomingMessage, query: URLSearchParams): number {
  const given = query.get('after') ?? request.headers['last-event-id'];
  if (given === undefined) return log.latest;
  if (!/^\d+$/.test(String(given))) throw new Refusal(400, 'the cursor is not the id of an event');
  return Number(given);
}

/** Sends retained events after the cursor, then live events (sections 4.1 and 6 of the specification). */
async function stream(request: http.IncomingMessage, response: http.ServerResponse, query: URLSearchParams) {
  let cursor = cursorOf(request, query);
  if (log.isExpired(cursor)) throw new Refusal(410, `the earliest event is ${log.earliest}`);
  const types = query.get('types')?.split(',');
  const closed = new AbortController();
  response.on('close', () => closed.abort());
  response.writeHead(200, { 'Content-Type': 'text/event-stream', 'Cache-Control': 'no-store' }).flushHeaders();
  // Sends heartbeats (section 6.2 of the specification, rule 3).
  const heartbeat = setInterval(() => response.write(': heartbeat\n\n'), HEARTBEAT_SECONDS * 1000);
  try {
    // Ends the stream of a slow reader whose next events are deleted; the next request gets status 410.
    while (!log.isExpired(cursor)) {
      const events = log.after(cursor);
      for (const event of events) {
        cursor = event.id;
        const isWanted = types?.includes(event.type) ?? true;
        if (isWanted && !response.write(frameOf(event))) await once(response, 'drain', closed);
      }
      if (events.length === 0) await once(log, 'change', closed);
    }
  } finally {
    clearInterval(heartbeat);
    response.destroy();
  }
}

// Section 5 of the specification: authentication. Permissions protect a unix socket; only loopback needs a token.

const token = options.discovery === undefined ? undefined : randomBytes(32).toString('base64url');

const digest = (text: string): Buffer => createHash('sha256').update(text).digest();

function requireToken(expected: string, header = ''): void {
  const [, given = ''] = /^bearer +(\S+)$/i.exec(header) ?? [];
  if (!timingSafeEqual(digest(given), digest(expected))) throw new Refusal(401, 'the bearer token is missing or wrong');
}

// Section 6.1 of the specification: the frame of an event in a stream.

const frameOf = (event: Event): string => `id: ${event.id}\nevent: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`;

// Section 7 of the specification: errors; all bodies, and all statuses but 410, are unspecified.

class Refusal extends Error {
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

function send(response: http.ServerResponse, status: number, body: unknown): void {
  const headers = { 'Content-Type': 'application/json', ...(status === 405 && { Allow: 'GET' }) };
  response.writeHead(status, headers).end(JSON.stringify(body));
}

const serverFor = (answer: Handler): http.Server =>
  http.createServer(async (request, response) => {
    try {
      await answer(request, response);
    } catch (error) {
      const status = error instanceof Refusal ? error.status : 500;
      if (response.headersSent) response.destroy();
      else send(response, status, { error: { message: String(error) } });
    }
  });

async function listen(socket: string, answer: Handler): Promise<void> {
  fs.rmSync(socket, { force: true });
  await once(serverFor(answer).listen(socket), 'listening');
}

if (options.discovery === undefined) {
  if (options.socket === undefined) throw new Error('--socket PATH or --discovery FILE: where to serve');
  await listen(options.socket, deviceApi);
} else {
  const server = serverFor(deviceApi).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  // Lets only the owner read the file, because the token in the file grants access.
  writeFile(options.discovery, JSON.stringify({ port, token }), 0o600);
}

// Control API of Muster, through which tests operate the device (fixtures/control.md).

/** Publishes in batches, so that streams send events before compaction removes them. */
async function publish(count: number): Promise<object> {
  const first_id = log.latest + 1;
  const gone = {
    status: 'archived',
    activity_status: 'archived',
    error_status: 'none',
    target_status: 'archived',
  } as const;
  const payload = (): object => payloadOf({ id: newId('dpl'), release_id: newId('rls'), ...gone });
  const batch = Math.ceil(RETAIN / 10);
  for (let left = count; left > 0; left -= batch) {
    log.append('deployment.removed', Array.from({ length: Math.min(left, batch) }, payload));
    await setImmediate();
  }
  return { first_id, last_id: log.latest };
}

function compact(): object {
  log.compact(Math.ceil(log.events.length / 2));
  return { earliest_id: log.earliest, latest_id: log.latest };
}

const control: Handler = async (request, response) => {
  const text = Buffer.concat(await request.toArray()).toString();
  const body = text === '' ? {} : JSON.parse(text);
  const asked = `${request.method} ${request.url}`;
  const [, removed] = /^POST \/deployments\/([^/]+)\/remove$/.exec(asked) ?? [];
  if (removed !== undefined) send(response, 200, remove(removed));
  else if (asked === 'GET /') send(response, 200, info);
  else if (asked === 'POST /deployments') send(response, 200, deploy(body));
  else if (asked === 'POST /events') send(response, 200, await publish(body.count));
  else if (asked === 'POST /compact') send(response, 200, compact());
  else throw new Refusal(404, `no ${asked} here`);
};

const info = {
  capabilities: ['drive', 'compact', 'log', 'files'],
  retention: RETAIN,
  heartbeat_seconds: HEARTBEAT_SECONDS,
  event_log: EVENTS,
  config_root: ROOT,
};
if (options.control !== undefined) await listen(options.control, control);
process.stdout.write(`${JSON.stringify({ ready: true, ...(token === undefined && { socket: options.socket }) })}\n`);
