/**
 * Serves a web page on loopback that shows and controls a running process (`--ui`).
 * Each folder of `page/` is a page: `document.ts` defines the data, `main.ts` draws the page.
 */

import { hash, randomBytes, timingSafeEqual } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import * as nodeModule from 'node:module';
import type { AddressInfo } from 'node:net';
import { dirname, extname, join, relative } from 'node:path';
import process from 'node:process';
import { fileURLToPath } from 'node:url';
import { isObject } from '../../harness/common/lenient.ts';
import { http, listening } from '../../harness/common/node-http.ts';
import { bodyText } from '../common/malformed.ts';
import type { Feed } from './feed.ts';

const require = nodeModule.createRequire(import.meta.url);
const PAGE = fileURLToPath(new URL('./page/', import.meta.url));
/** `.ts` in a checkout, `.js` in the published package. */
const SOURCE = extname(import.meta.url);

interface Served {
  type: string;
  bytes: Buffer;
}

const MODULES: Readonly<Record<string, () => string>> = {
  preact: () => require.resolve('preact'),
  'preact/hooks': () => require.resolve('preact/hooks'),
  // The ES module for browsers, in the folder of the CommonJS module.
  htm: () => join(dirname(require.resolve('htm')), 'htm.module.js'),
  uplot: () => require.resolve('uplot/dist/uPlot.esm.js'),
};

const addressOf = (name: string): string => `./modules/${name.replace('/', '-')}.js`;

const IMPORTS = JSON.stringify({
  imports: Object.fromEntries(Object.keys(MODULES).map((name) => [name, addressOf(name)])),
});

/** Reloads a page whose script failed to load, e.g. because the machine's network addresses changed. */
const RELOAD = `addEventListener('error', ({ target }) => {
  if (target instanceof HTMLScriptElement) setTimeout(() => location.reload(), 1000);
}, true);`;

function listed(): Map<string, () => string> {
  const files = new Map([['modules/uplot.css', () => require.resolve('uplot/dist/uPlot.min.css')]]);
  for (const [name, find] of Object.entries(MODULES)) files.set(addressOf(name).slice(2), find);
  for (const entry of readdirSync(PAGE, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name);
    if (!entry.isFile() || path.endsWith('.d.ts') || ![SOURCE, '.css'].includes(extname(path))) continue;
    files.set(`page/${relative(PAGE, path)}`, () => path);
  }
  return files;
}

/** Reads a file, and strips its types; hides Node's warning that type stripping is experimental. */
function served(path: string): Served {
  const extension = extname(path);
  const type = extension === '.css' ? 'text/css; charset=utf-8' : 'text/javascript; charset=utf-8';
  const bytes = readFileSync(path);
  if (extension !== '.ts') return { type, bytes };
  const { emitWarning } = process;
  process.emitWarning = () => {};
  try {
    return { type, bytes: Buffer.from(nodeModule.stripTypeScriptTypes(bytes.toString())) };
  } finally {
    process.emitWarning = emitWarning;
  }
}

class PageFiles {
  readonly #files = listed();
  readonly #read = new Map<string, Served>();

  get(path: string): Served | undefined {
    const find = this.#files.get(path);
    const known = this.#read.get(path) ?? (find && served(find()));
    if (known !== undefined) this.#read.set(path, known);
    return known;
  }

  shell(page: string, title: string): Served {
    const main = `page/${page}/main${SOURCE}`;
    const before = [...this.#files.keys()].filter((path) => {
      const own = path.startsWith(`page/${page}/`) || /^page\/[^/]+$/.test(path);
      return path !== main && (own || path.startsWith('modules/')) && !path.endsWith('.css');
    });
    const text = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${title} · Muster</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="./modules/uplot.css">
<link rel="stylesheet" href="./page/style.css">
<script>${RELOAD}</script>
<script type="importmap">${IMPORTS}</script>
${before.map((path) => `<link rel="modulepreload" href="./${path}">`).join('\n')}
<script type="module" src="./${main}"></script>
</head>
<body><header class="bar"><span class="brand">Muster</span></header>
<main><p class="empty"><noscript>The console needs JavaScript.</noscript></p></main></body>
</html>
`;
    return { type: 'text/html; charset=utf-8', bytes: Buffer.from(text) };
  }
}

const digest = (text: string): Buffer => hash('sha256', text, 'buffer');

function refusalOf({ headers, headersDistinct }: IncomingMessage, given: string, token: string, port: number) {
  const { host = '', origin } = headers;
  const site = headers['sec-fetch-site'];
  if (headersDistinct['host']?.length !== 1) return 'a request has one Host header';
  // Any website can point its name to 127.0.0.1 (DNS rebinding).
  if (host !== `127.0.0.1:${port}` && host !== `localhost:${port}`) return 'this name is not the one of the console';
  if (origin !== undefined && origin !== `http://${host}`) return 'another page may not use the console';
  // A link on another site may open the page, because the link still needs the token.
  if (site === 'cross-site' && headers['sec-fetch-mode'] !== 'navigate') return 'another page may not use the console';
  if (!timingSafeEqual(digest(given), digest(token))) return 'the address has another token; the console printed it';
  return undefined;
}

export type Action = (body: Record<string, unknown>) => Promise<unknown> | unknown;

/** Throws RangeError for anything but an integer in the range. */
export function wholeNumber(what: string, value: unknown, from = 0, to = Number.MAX_SAFE_INTEGER): number {
  if (typeof value === 'number' && Number.isSafeInteger(value) && value >= from && value <= to) return value;
  throw new RangeError(`${what} is a whole number from ${from} to ${to}, not ${JSON.stringify(value)}`);
}

interface ConsoleOptions<D extends object> {
  page: string;
  title: string;
  feed: Feed<D>;
  actions: Readonly<Record<string, Action>>;
  port?: number;
}

export type Console = Awaited<ReturnType<typeof serveConsole>>;

const LARGEST_BODY = 1_048_576;

const HEADERS = {
  'Content-Security-Policy': [
    "default-src 'none'",
    `script-src 'self' ${[RELOAD, IMPORTS].map((text) => `'sha256-${hash('sha256', text, 'base64')}'`).join(' ')}`,
    "style-src 'self'",
    "connect-src 'self'",
    'img-src data:',
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join('; '),
  'Cache-Control': 'no-store',
  'Referrer-Policy': 'no-referrer',
  'X-Content-Type-Options': 'nosniff',
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cross-Origin-Resource-Policy': 'same-origin',
};

/** Serves until disposed; rejects with the system's error for an unusable port. */
export async function serveConsole<D extends object>(options: ConsoleOptions<D>) {
  const token = randomBytes(16).toString('base64url');
  const files = new PageFiles();
  const server = http.createServer((request, response) => {
    for (const [name, value] of Object.entries(HEADERS)) response.setHeader(name, value);
    const [path = ''] = (request.url ?? '').split('?', 1);
    const [, given = '', ...rest] = path.split('/');
    const refusal = refusalOf(request, given, token, (server.address() as AddressInfo).port);
    if (refusal !== undefined) return json(response, 403, { error: { message: refusal } });
    // Drops the connection, so that an error, e.g. of an unreadable file, does not end the process.
    answer(options, files, rest, request, response).catch(() => response.destroy());
  });
  const bound = await listening(server, options.port ?? 0, '127.0.0.1');
  return {
    /** Contains the token; anyone with the URL can use the console. */
    url: `http://127.0.0.1:${bound.port}/${token}/`,
    [Symbol.asyncDispose]: async () => {
      options.feed[Symbol.dispose]();
      await bound[Symbol.asyncDispose]();
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
  if (action !== undefined) {
    if (request.method !== 'POST' || request.headers['content-type'] !== 'application/json')
      return json(response, 400, { error: { message: 'an action is a POST of JSON' } });
    try {
      const result = await action(await bodyOf(request));
      return json(response, 200, result ?? {});
    } catch (error) {
      return json(response, 422, { error: { message: error instanceof Error ? error.message : String(error) } });
    }
  }
  if (request.method !== 'GET') return json(response, 405, { error: { message: 'only actions are sent' } });
  if (rest.length === 0) {
    // Relative addresses in the page need the final slash.
    response.writeHead(308, { Location: `${request.url}/` }).end();
    return;
  }
  const path = rest.join('/');
  if (path === 'events') return feed.follow(response);
  const file = path === '' ? files.shell(page, title) : files.get(path);
  if (file === undefined) json(response, 404, { error: { message: 'the console has no such file' } });
  else send(response, 200, file);
}

async function bodyOf(request: IncomingMessage): Promise<Record<string, unknown>> {
  const text = await bodyText(request, LARGEST_BODY);
  if (text === undefined) throw new Error(`a body has at most ${LARGEST_BODY} bytes`);
  const value: unknown = text === '' ? {} : JSON.parse(text);
  if (!isObject(value)) throw new Error('the body is no JSON object');
  return value;
}

const json = (response: ServerResponse, status: number, body: unknown): void =>
  send(response, status, { type: 'application/json', bytes: Buffer.from(JSON.stringify(body)) });

function send(response: ServerResponse, status: number, { type, bytes }: Served): void {
  response.writeHead(status, { 'Content-Type': type, 'Content-Length': bytes.length }).end(bytes);
}
