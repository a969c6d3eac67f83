/** The client as it is right: every decision that a defect or a variant may replace. */

import { StringDecoder } from 'node:string_decoder';
import { defined } from '../../harness/common/defined.ts';
import { backoffMs } from '../../harness/common/waiting.ts';
import type { Block, ClientBehaviour, Envelope, FollowBehaviour, Place, StreamBehaviour } from './behaviour.ts';
import { calls, isObject } from './reference-call.ts';

/** Splits at LF, CR LF and CR, wherever the text is torn. A line that comes in many pieces is looked at once. */
export function lineSplitter(): (text: string) => string[] {
  let rest: string[] = [];
  let afterReturn = false;
  return (text) => {
    const news = afterReturn && text.startsWith('\n') ? text.slice(1) : text;
    if (text !== '') afterReturn = text.endsWith('\r');
    const lines = news.split(/\r\n|\r|\n/);
    const last = lines.pop() ?? '';
    const [first, ...others] = lines;
    if (first === undefined) {
      rest.push(last);
      return [];
    }
    const whole = [rest.join('') + first, ...others];
    rest = [last];
    return whole;
  };
}

const BOM = '\uFEFF';

function decoder(): (bytes: Buffer) => string {
  const utf8 = new StringDecoder('utf8');
  let begun = false;
  return (bytes) => {
    const text = utf8.write(bytes);
    if (begun || text === '') return text;
    begun = true;
    return text.startsWith(BOM) ? text.slice(1) : text;
  };
}

export function field(line: string): { name: string; value: string } | undefined {
  const colon = line.indexOf(':');
  if (colon === 0) return undefined;
  if (colon === -1) return { name: line, value: '' };
  const value = line.slice(colon + 1);
  return { name: line.slice(0, colon), value: value.startsWith(' ') ? value.slice(1) : value };
}

const stream = (): StreamBehaviour => ({
  decode: decoder(),
  lines: lineSplitter(),
  field,
  join: (lines) => lines.join('\n'),
  isDispatched: ({ data }) => data !== '',
  idOf: (value, before) => (value.includes('\0') ? before : value),
  idAtOnce: false,
  atEnd: 'drop',
});

/** Data that is no envelope is left out. */
export function envelope({ data }: Block): Envelope | undefined {
  try {
    const value: unknown = JSON.parse(data);
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

const RETRY = { firstMs: 200, longestMs: 5000, jitter: 0.3 };
/** Heartbeats that may be missing. */
const SILENT = 3;

/** Section 5. A client looks for what it needs, with no more than that. */
const isPlace = (value: unknown): value is Place & Record<string, unknown> =>
  isObject(value) && Number.isInteger(value['port']) && typeof value['token'] === 'string' && value['token'] !== '';

const follow: FollowBehaviour = {
  request: (path, cursor) => ({
    path,
    headers: { accept: 'text/event-stream', ...defined({ 'last-event-id': cursor }) },
  }),
  envelope,
  typeOf: ({ type }) => (typeof type === 'string' ? type : undefined),
  idOf: (_, block) => block.id,
  deduplicates: true,
  cursor: ({ id }) => (id === '' ? undefined : id),
  reconnect: ({ attempt, retryMs, retryAfterMs }) =>
    Math.max(retryAfterMs ?? 0, retryMs ?? 0, backoffMs(RETRY, attempt, Math.random)),
  expired: () => ({ told: true, cursor: undefined }),
  silenceMs: (seconds) => SILENT * seconds * 1000,
  show: (line) => [JSON.stringify(line)],
  discover: (read) => {
    try {
      const value: unknown = JSON.parse(read());
      return isPlace(value) ? value : undefined;
    } catch {
      return undefined;
    }
  },
  credentials: (token) => (token === undefined ? {} : { authorization: `Bearer ${token}` }),
  redirected: () => undefined,
  reads: (contentType) => contentType.startsWith('text/event-stream'),
};

export const referenceBehaviour: ClientBehaviour = { stream, follow, calls };
