/** Writes what is seen to a file: as lines of JSON, or as HAR 1.2 where the name ends so. Never a secret. */
import { extname } from 'node:path';
import { limitIn } from '../client/errors.ts';
import { type HarExchange, harEntry } from '../client/har-entry.ts';
import type { TrafficRedactor } from '../common/redact.ts';
import { joined } from './http-parser.ts';
import type { Keeping } from './judge-thread.ts';
import { RecordFile } from './record-file.ts';
import { type RecordingHead, withoutSecrets } from './recorded.ts';
import type { Traffic } from './traffic.ts';

export interface RecordOptions {
  path: string;
  /** Bytes of one file. */
  limit: number;
  head: Omit<RecordingHead, 'part'>;
  redactor: TrafficRedactor;
  /** Told once, when nothing more can be written. */
  trouble(why: string): void;
}

/** Throws the error of the system where the file cannot be made. */
export function recordTo(options: RecordOptions): Keeping {
  const isHar = extname(options.path).toLowerCase() === '.har';
  const writing = isHar ? harWriting(options) : lineWriting(options);
  let isOver = false;
  const write = (step: () => void): void => {
    if (isOver) return;
    try {
      step();
    } catch (error) {
      isOver = true;
      options.trouble(`${options.path}: nothing more is recorded (${limitIn(error) ?? String(error)})`);
    }
  };
  return {
    take: (traffic) => write(() => writing.take(traffic)),
    flush: () => write(writing.flush),
    close: () => write(writing.close),
  };
}

function lineWriting({ path, limit, head, redactor }: RecordOptions): Keeping {
  const file = new RecordFile(path, limit, { begin: (part) => `${JSON.stringify({ ...head, part })}\n`, end: '' });
  // What comes together is written together: one call of the system for a line would cost more than the line.
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
  };
}

/** Characters that wait to be written. */
const MOST_TOGETHER = 65_536;

/** Of a stream, the text that an entry holds. */
const LONGEST_STREAM = 1024 * 1024;

interface Entry {
  exchange: HarExchange;
  at: number;
  connection: number;
  stream: string;
}

/** The file is whole after each entry. */
function harWriting({ path, limit, head, redactor }: RecordOptions): Keeping {
  const creator = { name: 'muster', version: head.muster };
  const comment = `muster watch ${head.api}: ${head.address}`;
  const log = JSON.stringify({ log: { version: '1.2', creator, comment, pages: [], entries: [] } });
  const file = new RecordFile(path, limit, { begin: () => log.slice(0, -END.length), end: `${END}\n` });
  const open = new Map<number, Entry>();
  return {
    take(given) {
      const entry = entryOf(withoutSecrets(given, redactor), open);
      if (entry === undefined) return;
      file.append(`${file.isEmpty ? '' : ','}\n${JSON.stringify(entry)}`);
      file.turn();
    },
    flush: () => {},
    close: () => file.close(),
  };
}

const END = ']}}';

/** The entry of an exchange that is over with this. */
function entryOf(traffic: Traffic, open: Map<number, Entry>): object | undefined {
  if (traffic.kind === 'request') {
    const { at, connection, method, target, headers } = traffic;
    const fields = joined(headers);
    const url = `http://${fields['host'] ?? 'localhost'}${target}`;
    const exchange: HarExchange = { method, url, request_headers: fields, duration_ms: 0 };
    open.set(traffic.exchange, { exchange, at, connection, stream: '' });
    return undefined;
  }
  const entry = 'exchange' in traffic ? open.get(traffic.exchange) : undefined;
  if (entry === undefined) return undefined;
  const { exchange } = entry;
  if (traffic.kind === 'asked' && traffic.body?.text !== undefined) exchange.request_body = traffic.body.text;
  if (traffic.kind === 'response') {
    exchange.status = traffic.status;
    exchange.response_headers = joined(traffic.headers);
  }
  if (traffic.kind === 'frame' && entry.stream.length < LONGEST_STREAM)
    entry.stream += `${traffic.fields.map(([name, value]) => `${name}: ${value}\n`).join('')}\n`;
  if (traffic.kind !== 'over') return undefined;
  open.delete(traffic.exchange);
  const body = entry.stream === '' ? traffic.body?.text : entry.stream;
  if (body !== undefined) exchange.response_body = body;
  exchange.duration_ms = traffic.at - entry.at;
  if (traffic.ended !== 'whole') exchange.error = ENDED_BY[traffic.ended];
  const startedDateTime = new Date(entry.at).toISOString();
  return { startedDateTime, ...harEntry(exchange), connection: String(entry.connection) };
}

const ENDED_BY = {
  server: 'the server broke off',
  client: 'the client broke off',
  unseen: 'still under way when nobody looked any more',
} as const;
