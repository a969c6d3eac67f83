/**
 * The console: one page on loopback that shows a running process and drives it (`--ui`).
 *
 * A process has a document (`Feed`), changes it as things happen, and offers actions. To add a page:
 *
 * 1. `page/NAME/document.ts` has the type of its document; only types, so both sides import it.
 * 2. `page/NAME/main.ts` calls `openPage(Component)` of `page/shell.ts`; the component gets the document and draws it.
 * 3. The process makes a `Feed` of that document, calls `feed.change` or `feed.set`, and `serveConsole({ page: 'NAME', … })`.
 *
 * Actions are called by `act(name, body)` of `page/shell.ts`; one that rejects shows its message on the page.
 */

import { hash, randomBytes, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { http } from '../../harness/common/node-http.ts';
import type { Feed } from './feed.ts';
import { PageFiles, POLICY, type Served } from './files.ts';

// Who may use a console: whoever knows its token, from its own page, under its own name.

/** Names under which this machine's loopback is reached. A web page can make a name of its own point there. */
const NAMES = ['127.0.0.1', 'localhost'];

const digest = (text: string): Buffer => hash('sha256', text, 'buffer');

/** Why a request is refused with 403; undefined when it may be served. `token` is the first part of the path. */
export function refusalOf(
  { headers }: IncomingMessage,
  given: string,
  token: string,
  port: number,
): string | undefined {
  const { host = '', origin } = headers;
  const site = headers['sec-fetch-site'];
  if (!NAMES.some((name) => host === `${name}:${port}`)) return 'this name is not the one of the console';
  if (origin !== undefined && origin !== `http://${host}`) return 'another page may not use the console';
  // A link from elsewhere may open the page, as a person who clicks it does; it needs the token all the same.
  if (site === 'cross-site' && headers['sec-fetch-mode'] !== 'navigate') return 'another page may not use the console';
  if (!timingSafeEqual(digest(given), digest(token))) return 'the address has another token; the console printed it';
  return undefined;
}

/** What a page asks the process to do. Its result is answered as JSON; an error is shown with its message. */
export type Action = (body: Record<string, unknown>) => Promise<unknown> | unknown;

interface ConsoleOptions<D extends object> {
  /** Folder in `page/`. */
  page: string;
  /** Title of the page. */
  title: string;
  feed: Feed<D>;
  actions: Readonly<Record<string, Action>>;
  /** Default 0: any free one. */
  port?: number;
}

/** A console that is served. */
export interface Console extends AsyncDisposable {
  /** `http://127.0.0.1:PORT/TOKEN/`: whoever has it may use the console. */
  readonly url: string;
}

/** Bytes of an action's body. */
const LARGEST_BODY = 1_048_576;

const HEADERS = {
  'Content-Security-Policy': POLICY,
  'Cache-Control': 'no-store',
  'Referrer-Policy': 'no-referrer',
  'X-Content-Type-Options': 'nosniff',
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cross-Origin-Resource-Policy': 'same-origin',
};

/** Serves until it is disposed of. Rejects with the system's error when the port cannot be used. */
export async function serveConsole<D extends object>(options: ConsoleOptions<D>): Promise<Console> {
  const token = randomBytes(16).toString('base64url');
  const files = new PageFiles();
  const server = http.createServer((request, response) => {
    for (const [name, value] of Object.entries(HEADERS)) response.setHeader(name, value);
    const [path = ''] = (request.url ?? '').split('?', 1);
    const [, given = '', ...rest] = path.split('/');
    const refusal = refusalOf(request, given, token, (server.address() as AddressInfo).port);
    if (refusal !== undefined) return json(response, 403, { error: { message: refusal } });
    void answer(options, files, rest, request, response);
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen({ port: options.port ?? 0, host: '127.0.0.1' }, resolve);
  });
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/${token}/`,
    [Symbol.asyncDispose]: async () => {
      options.feed[Symbol.dispose]();
      const closed = new Promise((resolve) => server.close(resolve));
      server.closeAllConnections();
      await closed;
    },
  };
}

async function answer<D extends object>(
  { feed, actions, page, title }: ConsoleOptions<D>,
  files: PageFiles,
  rest: readonly string[],
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const [kind, name = ''] = rest;
  const action = kind === 'actions' && rest.length === 2 && Object.hasOwn(actions, name) ? actions[name] : undefined;
  if (action !== undefined) return perform(action, request, response);
  if (request.method !== 'GET') return json(response, 405, { error: { message: 'only actions are sent' } });
  if (rest.length === 0) {
    // Without the slash at its end, the page would look for its files beside the token.
    response.writeHead(308, { Location: `${request.url}/` }).end();
    return;
  }
  const path = rest.join('/');
  if (path === 'events') return feed.follow(request, response);
  const file = path === '' ? files.shell(page, title) : files.get(path);
  if (file === undefined) json(response, 404, { error: { message: 'the console has no such file' } });
  else send(response, 200, file);
}

async function perform(action: Action, request: IncomingMessage, response: ServerResponse): Promise<void> {
  if (request.method !== 'POST' || request.headers['content-type'] !== 'application/json') {
    return json(response, 400, { error: { message: 'an action is a POST of JSON' } });
  }
  try {
    const result = await action(await bodyOf(request));
    json(response, 200, result ?? {});
  } catch (error) {
    json(response, 422, { error: { message: error instanceof Error ? error.message : String(error) } });
  }
}

async function bodyOf(request: IncomingMessage): Promise<Record<string, unknown>> {
  const parts: Buffer[] = [];
  let size = 0;
  for await (const part of request as AsyncIterable<Buffer>) {
    size += part.length;
    if (size > LARGEST_BODY) throw new Error(`a body has at most ${LARGEST_BODY} bytes`);
    parts.push(part);
  }
  const text = Buffer.concat(parts).toString();
  const value: unknown = text === '' ? {} : JSON.parse(text);
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new Error('the body is no JSON object');
  return value as Record<string, unknown>;
}

const json = (response: ServerResponse, status: number, body: unknown): void =>
  send(response, status, { type: 'application/json', bytes: Buffer.from(JSON.stringify(body)) });

function send(response: ServerResponse, status: number, { type, bytes }: Served): void {
  response.writeHead(status, { 'Content-Type': type, 'Content-Length': bytes.length }).end(bytes);
}
