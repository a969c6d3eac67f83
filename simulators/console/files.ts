/**
 * The files of the page as a browser takes them. In a checkout the page's TypeScript has its types stripped when it is
 * asked for, so nothing is built; the published package has it as JavaScript.
 */
import { hash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import * as nodeModule from 'node:module';
import { dirname, extname, join, relative } from 'node:path';
import process from 'node:process';
import { fileURLToPath } from 'node:url';

const require = nodeModule.createRequire(import.meta.url);
const PAGE = fileURLToPath(new URL('./page/', import.meta.url));
/** The extension of our own sources here: `.ts` in a checkout, `.js` in the package. */
const SOURCE = extname(import.meta.url);

/** A file with its media type. */
export interface Served {
  type: string;
  bytes: Buffer;
}

const SCRIPT = 'text/javascript; charset=utf-8';
const STYLE = 'text/css; charset=utf-8';

/** The libraries, by the name that the page imports. */
const MODULES: Readonly<Record<string, () => string>> = {
  preact: () => require.resolve('preact'),
  'preact/hooks': () => require.resolve('preact/hooks'),
  // Its entry for `require` is no module.
  htm: () => join(dirname(require.resolve('htm')), 'htm.module.js'),
  uplot: () => require.resolve('uplot/dist/uPlot.esm.js'),
};
const UPLOT_STYLE = 'uplot/dist/uPlot.min.css';

const addressOf = (name: string): string => `./modules/${name.replace('/', '-')}.js`;

const IMPORTS = JSON.stringify({
  imports: Object.fromEntries(Object.keys(MODULES).map((name) => [name, addressOf(name)])),
});

/**
 * A browser gives up all requests when an interface of its machine gets or loses an address, as each container does.
 */
const RELOAD = `addEventListener('error', ({ target }) => {
  if (target instanceof HTMLScriptElement) setTimeout(() => location.reload(), 1000);
}, true);`;

/** All files of the page by their path below the token. */
function listed(): Map<string, () => Served> {
  const files = new Map<string, () => Served>();
  for (const [name, path] of Object.entries(MODULES)) {
    files.set(addressOf(name).slice(2), () => ({ type: SCRIPT, bytes: readFileSync(path()) }));
  }
  files.set('modules/uplot.css', () => ({ type: STYLE, bytes: readFileSync(require.resolve(UPLOT_STYLE)) }));
  for (const entry of readdirSync(PAGE, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name);
    const extension = extname(path);
    if (!entry.isFile() || path.endsWith('.d.ts') || ![SOURCE, '.css'].includes(extension)) continue;
    files.set(`page/${relative(PAGE, path)}`, () =>
      extension === '.css' ? { type: STYLE, bytes: readFileSync(path) } : { type: SCRIPT, bytes: script(path) },
    );
  }
  return files;
}

function script(path: string): Buffer {
  const source = readFileSync(path);
  return extname(path) === '.ts' ? Buffer.from(withoutTypes(source.toString())) : source;
}

/** As Node strips the types of our own modules, which it does without a warning. */
function withoutTypes(source: string): string {
  const { emitWarning } = process;
  process.emitWarning = () => {};
  try {
    return nodeModule.stripTypeScriptTypes(source);
  } finally {
    process.emitWarning = emitWarning;
  }
}

/** The files of the page, read once each. */
export class PageFiles {
  readonly #files = listed();
  readonly #read = new Map<string, Served>();

  /** The file at a path below the token; undefined when there is none. */
  get(path: string): Served | undefined {
    const known = this.#read.get(path) ?? this.#files.get(path)?.();
    if (known !== undefined) this.#read.set(path, known);
    return known;
  }

  /** The document that opens the page of that name. It names the scripts beforehand, so that they load at the same time, and shows a head
   * before they have. */
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
<main><p class="empty"><noscript>The console needs JavaScript. It asks nothing of the network.</noscript></p></main></body>
</html>
`;
    return { type: 'text/html; charset=utf-8', bytes: Buffer.from(text) };
  }
}

/** Lets the page run its own scripts and talk to its own server, and nothing else. */
export const POLICY = [
  "default-src 'none'",
  `script-src 'self' ${[RELOAD, IMPORTS].map((text) => `'sha256-${hash('sha256', text, 'base64')}'`).join(' ')}`,
  "style-src 'self'",
  "connect-src 'self'",
  'img-src data:',
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');
