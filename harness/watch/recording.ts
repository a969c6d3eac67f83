/** Records traffic to a file, as lines of JSON, or as HAR 1.2 by the file's name. Never records a secret. */
import { extname } from 'node:path';
import { limitIn } from '../client/errors.ts';
import { type HarExchange, harEntry } from '../client/har-entry.ts';
import { defined } from '../common/defined.ts';
import { joined, type Pairs } from '../common/http-parser.ts';
import type { TrafficRedactor } from '../common/redact.ts';
import type { RecordingSink } from './judge-thread.ts';
import { RecordFile } from './record-file.ts';
import { type RecordingHead, withoutSecrets } from './recorded.ts';
import { type Traffic, wholeText } from './traffic.ts';

export interface RecordOptions {
  path: string;
  limit: number;
  head: Omit<RecordingHead, 'part'>;
  redactor: TrafficRedactor;
  /** Called once, when recording has failed. */
  trouble(why: string): void;
}

/** Throws the system's error if the file cannot be made. */
export function recordTo(options: RecordOptions): RecordingSink {
  const isHar = extname(options.path).toLowerCase() === '.har';
  const writing = isHar ? harWriting(options) : lineWriting(options);
  let isOver = false;
  const write = (step: () => void): void => {
    if (isOver) return;
    try {
      step();
    } catch (error) {
      isOver = true;
      writing.abandon();
      options.trouble(`${options.path}: nothing more is recorded (${limitIn(error) ?? String(error)})`);
    }
  };
  return {
    take: (traffic) => write(() => writing.take(traffic)),
    flush: () => write(writing.flush),
    close() {
      write(writing.close);
      isOver = true;
    },
  };
}

interface Writing extends RecordingSink {
  abandon(): void;
}

function closed(file: RecordFile): void {
  try {
    file.close();
  } catch {
    // The first failure is reported.
  }
}

function lineWriting({ path, limit, head, redactor }: RecordOptions): Writing {
  const file = new RecordFile(path, limit, { begin: (part) => `${JSON.stringify({ ...head, part })}\n`, end: '' });
  // Written in batches: a system call for each line would cost more than the line.
  let lines = '';
  const flush = (): void => {
    if (lines === '') return;
    file.append(lines);
    lines = '';
    file.turn();
  };
  return {
    take(traffic) {
      lines += `${JSON.stringify(withoutSecrets(traffic, redactor))}\n`;
      if (lines.length >= Math.min(limit, MOST_TOGETHER)) flush();
    },
    flush,
    close() {
      flush();
      file.close();
    },
    abandon: () => closed(file),
  };
}

const MOST_TOGETHER = 65_536;

/** Characters kept of a stream, and of all open streams. */
const LONGEST_STREAM = 1024 * 1024;
const MOST_STREAMS = 16 * LONGEST_STREAM;
const IS_CUT = 'only the first events are kept';

interface Entry {
  exchange: HarExchange;
  at: number;
  connection: number;
  stream: string;
  isCut: boolean;
}

interface Open {
  entries: Map<number, Entry>;
  characters: number;
}

/** HAR, valid after each entry. */
function harWriting({ path, limit, head, redactor }: RecordOptions): Writing {
  const creator = { name: 'muster', version: head.muster };
  const comment = `muster watch ${head.api}: ${head.address}`;
  const log = JSON.stringify({ log: { version: '1.2', creator, comment, pages: [], entries: [] } });
  const file = new RecordFile(path, limit, { begin: () => log.slice(0, -END.length), end: `${END}\n` });
  const open: Open = { entries: new Map(), characters: 0 };
  let now = 0;
  const take = (traffic: Traffic): void => {
    now = traffic.at;
    const entry = entryOf(traffic, open);
    if (entry === undefined) return;
    file.append(`${file.isEmpty ? '' : ','}\n${JSON.stringify(entry)}`);
    file.turn();
  };
  return {
    take: (traffic) => take(withoutSecrets(traffic, redactor)),
    flush: () => {},
    close() {
      // Ends open exchanges, since only an end writes them.
      for (const exchange of open.entries.keys()) take({ kind: 'over', at: now, exchange, ended: 'unseen' });
      file.close();
    },
    abandon: () => closed(file),
  };
}

const END = ']}}';

function entryOf(traffic: Traffic, open: Open): object | undefined {
  if (traffic.kind === 'request') {
    const { at, connection, method, target, headers } = traffic;
    const fields = joined(headers);
    // Clients of a proxy send the whole address.
    const url = /^https?:/i.test(target) ? target : `http://${fields['host'] ?? 'localhost'}${target}`;
    const exchange: HarExchange = { method, url, request_headers: fields, duration_ms: 0 };
    open.entries.set(traffic.exchange, { exchange, at, connection, stream: '', isCut: false });
    return undefined;
  }
  const entry = 'exchange' in traffic ? open.entries.get(traffic.exchange) : undefined;
  if (entry === undefined) return undefined;
  const { exchange } = entry;
  if (traffic.kind === 'asked' && traffic.body !== undefined)
    Object.assign(exchange, defined({ request_body: wholeText(traffic.body) }));
  if (traffic.kind === 'response') {
    exchange.status = traffic.status;
    exchange.response_headers = joined(traffic.headers);
  }
  if (traffic.kind === 'frame') keepFrame(traffic.fields, entry, open);
  if (traffic.kind !== 'over') return undefined;
  open.entries.delete(traffic.exchange);
  open.characters -= entry.stream.length;
  return finished(traffic, entry);
}

/** Keeps nothing after a gap: a missing event in the middle would look like one that was not sent. */
function keepFrame(fields: Pairs, entry: Entry, open: Open): void {
  if (entry.isCut) return;
  const text = `${fields.map(([name, value]) => `${name}: ${value}\n`).join('')}\n`;
  entry.isCut = entry.stream.length + text.length > LONGEST_STREAM || open.characters + text.length > MOST_STREAMS;
  if (entry.isCut) return;
  entry.stream += text;
  open.characters += text.length;
}

function finished(traffic: Extract<Traffic, { kind: 'over' }>, entry: Entry): object {
  const { exchange, isCut } = entry;
  const body = entry.stream === '' ? wholeText(traffic.body) : entry.stream;
  if (body !== undefined) exchange.response_body = body;
  exchange.duration_ms = traffic.at - entry.at;
  if (traffic.ended !== 'whole') exchange.error = ENDED_BY[traffic.ended];
  const startedDateTime = new Date(entry.at).toISOString();
  const har = harEntry(exchange);
  const comment = [exchange.error, ...(isCut ? [IS_CUT] : [])].filter((part) => part !== undefined).join('; ');
  return { startedDateTime, ...har, connection: String(entry.connection), ...(isCut && { comment }) };
}

const ENDED_BY = {
  server: 'the server broke off',
  client: 'the client broke off',
  unseen: 'still under way when nobody looked any more',
} as const;
