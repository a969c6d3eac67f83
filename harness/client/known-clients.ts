/** Header lines of well-known HTTP clients, so that a target cannot tell a check from them (fixtures/known-clients). */

/** `only`: `unset` sends the line if the request has no header of its name, `body` if the request has a body. */
interface Line {
  name: string;
  value?: string | undefined;
  only?: 'unset' | 'body';
}

interface KnownClient {
  /** `REQUEST` stands for the request's other headers; a line without a value, for the header of its name. */
  lines: readonly Line[];
  spelled(name: string): string;
  /** Sorts a request's headers, and spells them canonically: `X-Api-Key`. */
  sortsCanonical?: true;
}

const REQUEST: Line = { name: '*' };
const HOST: Line = { name: 'host' };
const LENGTH: Line = { name: 'content-length' };
const TYPE: Line = { name: 'content-type' };
const KEPT: Line = { name: 'connection', value: 'keep-alive' };
const ANY: Line = { name: 'accept', value: '*/*' };
const ANY_IF_UNSET: Line = { ...ANY, only: 'unset' };

const line = (name: string, value?: string): Line => ({ name, value });
const agent = (value: string): Line => line('user-agent', value);
const coded = (value: string): Line => line('accept-encoding', value);

const unchanged = (name: string): string => name;
const canonical = (name: string): string => name.replaceAll(/(^|-)[a-z]/g, (letter) => letter.toUpperCase());
/** Spelling of the specification, which programmers copy. */
const documented = (name: string): string =>
  canonical(name).replace('X-Api-Key', 'X-API-Key').replace('Last-Event-Id', 'Last-Event-ID');

const KNOWN: readonly KnownClient[] = [
  { spelled: canonical, lines: [HOST, agent('curl/7.88.1'), ANY_IF_UNSET, REQUEST, { ...LENGTH, only: 'body' }] },
  {
    spelled: canonical,
    lines: [HOST, agent('python-requests/2.34.2'), coded('gzip, deflate'), ANY, KEPT, REQUEST, LENGTH, TYPE],
  },
  {
    spelled: canonical,
    sortsCanonical: true,
    lines: [HOST, agent('Go-http-client/1.1'), LENGTH, REQUEST, coded('gzip')],
  },
  {
    spelled: canonical,
    lines: [REQUEST, TYPE, LENGTH, HOST, { ...KEPT, value: 'Keep-Alive' }, coded('gzip'), agent('okhttp/5.1.0')],
  },
  {
    spelled: unchanged,
    lines: [
      ...[HOST, KEPT, REQUEST, ANY_IF_UNSET, line('accept-language', '*')],
      ...[line('sec-fetch-mode', 'cors'), agent('node'), coded('gzip, deflate'), LENGTH],
    ],
  },
];

/** Header by which `arranged` recognizes a request of Chromium, because `User-Agent` may name Muster. */
export const CHROMIUM_PLATFORM = 'sec-ch-ua-platform';
export const CHROMIUM_AGENT =
  'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) HeadlessChrome/156.0.0.0 Safari/537.36';
/**
 * Order in a request without headers of a program, such as `X-API-Key`; otherwise Chromium orders the lines from
 * `sec-ch-ua-platform` to `*` by a hash table.
 */
const CHROMIUM: KnownClient = {
  spelled: (name) => (name.startsWith('sec-ch-') ? name : canonical(name)),
  lines: [
    ...[HOST, KEPT, LENGTH, line('pragma'), line('cache-control'), line(CHROMIUM_PLATFORM), line('user-agent')],
    ...[line('accept'), line('sec-ch-ua', '"Not:A-Brand";v="8", "Chromium";v="156"'), line('sec-ch-ua-mobile', '?0')],
    ...[REQUEST, ANY_IF_UNSET, line('origin'), line('sec-fetch-site', 'same-origin'), line('sec-fetch-mode', 'cors')],
    ...[line('sec-fetch-dest', 'empty'), line('referer'), coded('gzip, deflate, br, zstd')],
    line('accept-language', 'en-US,en;q=0.9'),
  ],
};

const PLAIN: KnownClient = { spelled: unchanged, lines: [HOST, KEPT, REQUEST, LENGTH] };

const agentOf = ({ lines }: KnownClient): string => lines.find(({ name }) => name === 'user-agent')?.value ?? '';
const BY_AGENT = new Map(KNOWN.map((client) => [agentOf(client), client]));

export const usualUserAgent = (seed: number): string => agentOf(KNOWN[seed % KNOWN.length] ?? PLAIN);

export interface HeaderLine {
  /** Lower case. */
  name: string;
  spelled: string;
  value: string;
}

/**
 * Arranges the headers of a request as the client of its `user-agent` does. `headers`: lower-case names. `framing`:
 * `host`, a browser's `referer` and `origin`, and the length or transfer coding of a body.
 */
export function arranged(headers: Record<string, string>, framing: Record<string, string>): HeaderLine[] {
  const known = CHROMIUM_PLATFORM in headers ? CHROMIUM : BY_AGENT.get(headers['user-agent'] ?? '');
  const { lines, spelled, sortsCanonical = false } = known ?? PLAIN;
  const all = [...lines, line('transfer-encoding')];
  const placed = new Set(all.filter(({ only }) => only !== 'unset').map(({ name }) => name));
  const set: Record<string, string> = { ...framing, ...headers };
  const own = Object.entries(headers)
    .filter(([name]) => !placed.has(name))
    .map(([name, value]) => ({ name, value, spelled: (sortsCanonical ? canonical : documented)(name) }));
  if (sortsCanonical) own.sort((a, b) => (a.name < b.name ? -1 : 1));
  return all.flatMap(({ name, value, only }): HeaderLine[] => {
    if (name === REQUEST.name) return own;
    if ((only === 'unset' && name in set) || (only === 'body' && set[name] === '0')) return [];
    const shown = set[name] ?? value;
    return shown === undefined ? [] : [{ name, spelled: spelled(name), value: shown }];
  });
}

const FRAMING = new Set(['host', 'connection', 'content-length', 'transfer-encoding']);

export const evidentIn = (lines: readonly HeaderLine[], spelled = (name: string): string => name) =>
  Object.fromEntries(lines.flatMap(({ name, value }) => (FRAMING.has(name) ? [] : [[spelled(name), value]])));
