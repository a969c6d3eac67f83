/** Converts HAR 1.2 of any tool, e.g. a browser or mitmproxy, to traffic. */
import { SseParser } from '../client/sse-parser.ts';
import { defined } from '../common/defined.ts';
import { isEventStream, joined, type Pairs } from '../common/http-parser.ts';
import { UsageError } from '../common/usage.ts';
import type { Body, Ended, TakeTraffic, Traffic } from './traffic.ts';

type Entry = NonNullable<ReturnType<typeof entryIn>>;

/** Name of Chromium in the HAR field `creator`; Chromium omits the headers in LEFT_OUT by default. */
const CHROMIUM = 'WebInspector';
const LEFT_OUT = ['authorization', 'cookie'];
/** Placeholder for credentials that may have been sent, so that no rule judges the request as unauthenticated. */
const UNSEEN = ['cookie', '***'] as const;

type Fields = Record<string, unknown>;
const fieldsOf = (value: unknown): Fields => (typeof value === 'object' && value !== null ? (value as Fields) : {});
const textOf = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined);

/**
 * Returns the document's gaps in words, or undefined for other documents than HAR. `origin` selects the server; without
 * `origin`, a HAR of several servers throws UsageError.
 */
export function trafficOfHar(
  document: unknown,
  take: TakeTraffic,
  origin: string | undefined,
): { lacks: string[] } | undefined {
  const log = fieldsOf(fieldsOf(document)['log']);
  const { entries } = log;
  if (!Array.isArray(entries)) return undefined;
  const { name: creator } = fieldsOf(log['creator']);
  const isOwn = creator === 'muster';
  const numbers = new Map<string, number>();
  const all = entries.map((entry: unknown) => entryIn(fieldsOf(entry), numbers, isOwn));
  const read = all.filter((entry) => entry !== undefined).toSorted((a, b) => a.at - b.at);
  const isMasked = creator === CHROMIUM && !read.some(({ sent }) => hasOneOf(LEFT_OUT, sent));
  for (const entry of read) if (isMasked && !hasOneOf(['x-api-key'], entry.sent)) entry.sent = [...entry.sent, UNSEEN];
  const origins = new Set(read.map((entry) => entry.origin));
  if (origin === undefined && origins.size > 1)
    throw new UsageError(
      `--url: missing; the HAR holds requests to ${origins.size} servers, and one of them is judged`,
    );
  const known = origin === undefined ? read : read.filter((entry) => entry.origin === origin);
  const named = known.filter(({ isNamed }) => isNamed).toReversed();
  const firsts = new Map(named.map(({ connection, at }) => [connection, at]));
  const traffic = [
    ...[...firsts].map(([connection, at]): Traffic => ({ kind: 'opened', at, connection })),
    ...known.flatMap((entry, index) => trafficOf(entry, index + 1)),
  ];
  // Sorts by time, because exchanges of several connections overlap.
  for (const each of traffic.toSorted((a, b) => a.at - b.at)) take(each);
  const counts = {
    ...Object.fromEntries(Object.entries(LACKS).map(([what, lacks]) => [what, known.filter(lacks).length])),
    [`entries of another server than ${origin}`]: read.length - known.length,
    'entries that are not understood': entries.length - read.length,
  };
  const counted = Object.entries(counts).filter(([, count]) => count > 0);
  return {
    lacks: [
      'HAR has no times of single events, and no ends of connections',
      ...counted.map(([what, count]) => `${what}: ${count}`),
    ],
  };
}

const LACKS: Readonly<Record<string, (entry: Entry) => boolean>> = {
  'answers without a body': ({ text, status }) => text === undefined && status !== 0,
  'answers of which only the beginning is there': ({ isCut }) => isCut,
  'entries without the headers of the request or the answer': ({ lacksHeaders }) => lacksHeaders,
  'requests of which a browser may have left out credentials': ({ sent }) => sent.includes(UNSEEN),
  'entries that do not say how long they took': ({ time }) => time === 0,
};

function entryIn(entry: Fields, numbers: Map<string, number>, isOwn: boolean) {
  const [request, response] = [fieldsOf(entry['request']), fieldsOf(entry['response'])];
  const method = textOf(request['method']);
  const url = URL.parse(textOf(request['url']) ?? '');
  const at = Date.parse(textOf(entry['startedDateTime']) ?? '');
  if (method === undefined || url === null || Number.isNaN(at)) return undefined;
  const sent = pairsOf(request['headers']);
  // HAR makes the body optional, so size and headers tell an empty body from a missing one.
  const { postData, bodySize } = request;
  const sentText =
    textOf(fieldsOf(postData)['text']) || (postData === undefined ? emptyText(bodySize, sent) : undefined);
  const content = fieldsOf(response['content']);
  const isPacked = content['encoding'] === 'base64';
  const given = textOf(content['text']);
  const text = isPacked && given !== undefined ? Buffer.from(given, 'base64').toString('utf8') : given;
  const status = Number(response['status'] ?? 0);
  const type = textOf(content['mimeType']) ?? '';
  const fields = pairsOf(response['headers']);
  // Adds the content type, because some tools omit headers.
  const received: Pairs = typeOf(fields) === '' && type !== '' ? [...fields, ['content-type', type]] : fields;
  const name = textOf(entry['connection']);
  const connection = name === undefined ? numbers.size + 1 : (numbers.get(name) ?? numbers.size + 1);
  numbers.set(name ?? `entry ${numbers.size}`, connection);
  return {
    at,
    /** Milliseconds until the complete answer; 0 if unknown. */
    time: Math.max(0, Number(entry['time'] ?? 0) || 0),
    connection,
    isNamed: name !== undefined,
    method,
    target: url.pathname + url.search,
    sent,
    lacksHeaders: sent.length === 0 || (status !== 0 && received.length === 0),
    body: sentText === '' ? undefined : known(sentText),
    status: Number.isInteger(status) ? status : 0,
    received,
    text: text || emptyText(content['size'], received),
    /** True if the text has fewer bytes than the answer: Firefox keeps the first MiB. */
    isCut: text ? Number(content['size']) > Buffer.byteLength(text) : false,
    // Muster's own reports shorten answers, so the end of an exchange in a report is unknown.
    ended: isOwn ? 'unseen' : endOf(status, received, response['_error'] ?? response['_failureText']),
    origin: url.origin,
  };
}

const emptyText = (size: unknown, headers: Pairs): string | undefined => {
  const { 'content-length': length = '0', 'transfer-encoding': coding } = joined(headers);
  return size === 0 && length === '0' && coding === undefined ? '' : undefined;
};

/** HAR records neither who ended an event stream nor whether the stream ended. */
const endOf = (status: number, received: Pairs, error: unknown): Ended =>
  status === 0 || isEventStream(status, typeOf(received)) || (typeof error === 'string' && error !== '')
    ? 'unseen'
    : 'whole';

const hasOneOf = (names: readonly string[], headers: Pairs): boolean =>
  headers.some(([name]) => names.includes(name.toLowerCase()));

const pairsOf = (value: unknown): Pairs =>
  (Array.isArray(value) ? value : []).flatMap((each: unknown) => {
    const { name, value: text } = fieldsOf(each);
    // Skips pseudo-header fields of HTTP/2, which begin with a colon.
    return typeof name === 'string' && typeof text === 'string' && !name.startsWith(':') ? [[name, text] as const] : [];
  });

function trafficOf(entry: Entry, exchange: number): Traffic[] {
  const { at, time, connection, method, target, sent, lacksHeaders, origin, body, status, received } = entry;
  const { text, isCut, ended } = entry;
  const end = at + time;
  const traffic: Traffic[] = [
    { kind: 'request', at, connection, exchange, method, target, headers: sent, lacksHeaders, origin },
    { kind: 'asked', at, exchange, ...defined({ body }) },
  ];
  if (status !== 0) traffic.push({ kind: 'response', at: end, exchange, status, headers: received });
  const isStream = isEventStream(status, typeOf(received));
  if (isStream) {
    const frames = new SseParser({
      frame({ fields }) {
        traffic.push({ kind: 'frame', at: end, exchange, fields: fields.map(({ name, value }) => [name, value]) });
      },
    });
    try {
      frames.push(Buffer.from(text ?? ''), 0);
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error);
      traffic.push({ kind: 'lost', at: end, connection, why });
    }
  }
  const whole: Body | undefined = isStream || text === '' ? undefined : known(text, isCut);
  traffic.push({ kind: 'over', at: end, exchange, ended, ...defined({ body: whole }) });
  return traffic;
}

/** A missing text counts as a cut body, which no rule judges. */
const known = (text: string | undefined, isCut = false): Body => ({
  ...defined({ text }),
  size: Buffer.byteLength(text ?? ''),
  ...((isCut || text === undefined) && { cut: { sha256: '' } }),
});

const typeOf = (headers: Pairs): string => headers.find(([name]) => name.toLowerCase() === 'content-type')?.[1] ?? '';
