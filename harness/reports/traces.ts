/**
 * OpenTelemetry traces of a run: one trace, with a span for each check and for each of its requests, which carry it as
 * `traceparent` (W3C Trace Context), so that the traces of a target go on where they begin. They are sent by OTLP over
 * HTTP, in JSON, or written to a file that has one such message on each line.
 */
import { randomBytes } from 'node:crypto';
import { appendFileSync, writeFileSync } from 'node:fs';
import type { Recorded, RequestTrace } from '../client/recorder.ts';
import { defined } from '../common/defined.ts';
import type { Redactor } from '../common/redact.ts';
import { UsageError } from '../common/usage.ts';
import { prepareFile } from '../common/user-files.ts';
import type { CheckResult, Report } from '../runner/types.ts';

type Value = { stringValue: string } | { intValue: string };

interface Span {
  traceId: string;
  spanId: string;
  parentSpanId?: string;
  name: string;
  kind: typeof INTERNAL | typeof CLIENT;
  startTimeUnixNano: string;
  endTimeUnixNano: string;
  attributes: { key: string; value: Value }[];
  status: { code?: typeof ERROR; message?: string };
}

const INTERNAL = 1;
const CLIENT = 3;
const ERROR = 2;
/** Spans of one message. */
const BATCH = 500;
/** Spans that wait while a collector is slow; those that come then are lost. */
const MOST_WAITING = 20_000;
const SENDING_MS = 10_000;
const CHARACTERS = 500;

/** The trace of one check. */
export interface CheckTrace extends RequestTrace {
  end(result: CheckResult): void;
}

/** Where spans go. */
type Send = (message: object) => Promise<void>;

const newId = (bytes: number): string => randomBytes(bytes).toString('hex');
/** Nanoseconds since 1970 of a time of `performance.now()`. */
const unixNano = (ms: number): string => String(BigInt(Math.round((performance.timeOrigin + ms) * 1000)) * 1000n);

const attributesOf = (values: Readonly<Record<string, string | number | undefined>>): Span['attributes'] =>
  Object.entries(defined(values)).map(([key, value]) => ({
    key,
    value: typeof value === 'number' ? { intValue: String(value) } : { stringValue: String(value) },
  }));

/** The trace of one run. */
export class Traces {
  readonly #send: Send;
  readonly #redactor: Redactor;
  readonly #name: string;
  readonly #version: string;
  readonly #traceId = newId(16);
  readonly #rootId = newId(8);
  readonly #began = performance.now();
  readonly #waiting: Span[] = [];
  #sending: Promise<void> = Promise.resolve();
  #lost = 0;
  #why: unknown;

  /** `where`: the address of a collector, or a file. Throws UsageError for an address that cannot be sent to. */
  constructor({ where, name, version, redactor, headers = {} }: TraceOptions) {
    this.#redactor = redactor;
    this.#send = isAddress(where) ? sender(where, headers) : writer(where);
    this.#name = name;
    this.#version = version;
  }

  /** Begins the span of a check. */
  of(id: string): CheckTrace {
    const spanId = newId(8);
    const began = performance.now();
    const pending = new Map<string, number>();
    return {
      traceparent: () => {
        const own = newId(8);
        pending.set(own, performance.now());
        return `00-${this.#traceId}-${own}-01`;
      },
      ended: (exchange) => {
        const own = exchange.request_headers['traceparent']?.split('-')[2] ?? '';
        const from = pending.get(own);
        if (!pending.delete(own) || from === undefined) return;
        this.#add({ spanId: own, parentSpanId: spanId, began: from, kind: CLIENT, ...aboutExchange(exchange) });
      },
      end: (result) =>
        this.#add({ spanId, parentSpanId: this.#rootId, began, name: id, ...aboutCheck(result, this.#redactor) }),
    };
  }

  /** Ends the trace and sends what is left of it. Gives what went wrong; undefined when all spans are there. */
  async close(report?: Report): Promise<string | undefined> {
    const attributes = attributesOf({ 'muster.seed': report?.seed, 'muster.target': report?.target.address });
    const status = report?.exit_code === 1 ? { code: ERROR } : {};
    this.#add({ spanId: this.#rootId, began: this.#began, name: this.#name, attributes, status } as Begun);
    this.#flush();
    await this.#sending;
    if (this.#lost === 0) return undefined;
    const why = this.#why instanceof Error ? (this.#why.cause ?? this.#why) : 'the collector was too slow';
    const spans = this.#lost === 1 ? '1 span is' : `${this.#lost} spans are`;
    return `--traces: ${spans} lost: ${why instanceof Error ? why.message : why}`;
  }

  #add({ began, ...span }: Begun): void {
    if (this.#waiting.length >= MOST_WAITING) {
      this.#lost += 1;
      return;
    }
    this.#waiting.push({
      traceId: this.#traceId,
      kind: INTERNAL,
      startTimeUnixNano: unixNano(began),
      endTimeUnixNano: unixNano(performance.now()),
      ...span,
    });
    if (this.#waiting.length >= BATCH) this.#flush();
  }

  /** One message after another; the first that fails is told of. */
  #flush(): void {
    this.#sending = this.#sending.then(async () => {
      while (this.#waiting.length > 0) {
        const spans = this.#waiting.splice(0, BATCH);
        await this.#send(this.#message(spans)).catch((error: unknown) => {
          this.#why ??= error;
          this.#lost += spans.length;
        });
      }
    });
  }

  #message(spans: readonly Span[]): object {
    const resource = { attributes: attributesOf({ 'service.name': 'muster', 'service.version': this.#version }) };
    return {
      resourceSpans: [{ resource, scopeSpans: [{ scope: { name: 'muster', version: this.#version }, spans }] }],
    };
  }
}

export interface TraceOptions {
  where: string;
  /** Of the run. */
  name: string;
  version: string;
  /** Of what checks say; exchanges are redacted already. */
  redactor: Redactor;
  /** For a collector that asks for credentials. */
  headers?: Readonly<Record<string, string>>;
}

type Begun = Partial<Span> & Pick<Span, 'spanId' | 'name' | 'attributes' | 'status'> & { began: number };

function aboutExchange({ method, url, status, error }: Recorded): Pick<Span, 'name' | 'attributes' | 'status'> {
  const path = URL.parse(url)?.pathname ?? url;
  return {
    name: `${method} ${path.slice(0, CHARACTERS)}`,
    attributes: attributesOf({
      'http.request.method': method,
      'url.full': url,
      'http.response.status_code': status,
    }),
    status: error === undefined ? {} : { code: ERROR, message: error },
  };
}

function aboutCheck(
  { outcome, level, section, reason, expected, actual }: CheckResult,
  redactor: Redactor,
): Pick<Span, 'attributes' | 'status'> {
  const message = `expected ${expected}, got ${actual}`;
  return {
    attributes: attributesOf({
      'muster.outcome': outcome,
      'muster.level': level,
      'muster.section': section,
      'muster.reason': reason === undefined ? undefined : redactor.text(reason),
    }),
    status: outcome === 'fail' ? { code: ERROR, message: redactor.excerpt(message, CHARACTERS) } : {},
  };
}

/** Whether it is no file. */
export const isAddress = (where: string): boolean => /^[a-z]+:\/\//i.test(where);

function sender(where: string, headers: Readonly<Record<string, string>>): Send {
  const url = URL.parse(where);
  if (url === null || !/^https?:$/.test(url.protocol) || url.username !== '' || url.password !== '')
    throw new UsageError('--traces: must be http://HOST:PORT or https://HOST, without credentials, or a file');
  if (!url.pathname.endsWith('/v1/traces')) url.pathname = `${url.pathname.replace(/\/$/, '')}/v1/traces`;
  return async (message) => {
    const response = await fetch(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify(message),
      signal: AbortSignal.timeout(SENDING_MS),
    });
    await response.body?.cancel();
    if (!response.ok) throw new Error(`${url.origin} answered ${response.status}`);
  };
}

function writer(path: string): Send {
  const file = prepareFile('--traces', path);
  writeFileSync(file, '');
  return async (message) => appendFileSync(file, `${JSON.stringify(message)}\n`);
}

/** Where a collector's headers are given. */
export const HEADERS_VARIABLE = 'OTEL_EXPORTER_OTLP_HEADERS';

/** As the environment of OpenTelemetry names them: `name=value,other=value`, percent-encoded. Throws UsageError. */
export function headersIn(text = ''): Record<string, string> {
  const pairs = text.split(',').filter((pair) => pair.trim() !== '');
  return Object.fromEntries(
    pairs.map((pair) => {
      const [name = '', ...value] = pair.trim().split('=');
      try {
        return [name, decodeURIComponent(value.join('='))];
      } catch {
        // Its value is a secret.
        throw new UsageError(`${HEADERS_VARIABLE}: the value of ${name} must be percent-encoded`);
      }
    }),
  );
}
