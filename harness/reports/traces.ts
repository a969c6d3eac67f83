/**
 * OpenTelemetry traces of a run, with a span for each check and each of its requests. Requests carry `traceparent` (W3C
 * Trace Context), so that the target continues the trace. Sent by OTLP over HTTP, or written to a file.
 */
import type { Recorded, RequestTrace } from '../client/recorder.ts';
import {
  attributesOf,
  ERROR,
  KIND,
  newId,
  otlp,
  type Send,
  type Span,
  spansMessage,
  unixNano,
  whyLost,
} from '../common/otlp.ts';
import type { Redactor } from '../common/redact.ts';
import type { CheckResult, Report } from '../runner/types.ts';

const BATCH = 500;
/** Spans that wait for a slow collector; later ones are dropped. */
const MOST_WAITING = 20_000;
const CHARACTERS = 500;

export interface CheckTrace extends RequestTrace {
  end(result: CheckResult): void;
}

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

  /** `where`: address of a collector, or a file. Throws UsageError for an address that cannot be used. */
  constructor({ where, name, version, redactor, headers = {} }: TraceOptions) {
    this.#redactor = redactor;
    this.#send = otlp({ where, option: '--traces', headers });
    this.#name = name;
    this.#version = version;
  }

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
        this.#add({ spanId: own, parentSpanId: spanId, began: from, kind: KIND.client, ...aboutExchange(exchange) });
      },
      end: (result) =>
        this.#add({ spanId, parentSpanId: this.#rootId, began, name: id, ...aboutCheck(result, this.#redactor) }),
    };
  }

  /** Ends the trace and sends the rest. Resolves with the reason for lost spans; undefined if there are none. */
  async close(report?: Report): Promise<string | undefined> {
    const attributes = attributesOf({ 'muster.seed': report?.seed, 'muster.target': report?.target.address });
    const status = report?.exit_code === 1 ? { code: ERROR } : {};
    this.#add({ spanId: this.#rootId, began: this.#began, name: this.#name, attributes, status } as Begun);
    this.#flush();
    await this.#sending;
    if (this.#lost === 0) return undefined;
    const why = this.#why === undefined ? 'the collector was too slow' : whyLost(this.#why);
    const spans = this.#lost === 1 ? '1 span is' : `${this.#lost} spans are`;
    return `--traces: ${spans} lost: ${why}`;
  }

  #add({ began, ...span }: Begun): void {
    if (this.#waiting.length >= MOST_WAITING) {
      this.#lost += 1;
      return;
    }
    this.#waiting.push({
      traceId: this.#traceId,
      kind: KIND.internal,
      startTimeUnixNano: unixNano(began),
      endTimeUnixNano: unixNano(performance.now()),
      ...span,
    });
    if (this.#waiting.length >= BATCH) this.#flush();
  }

  /** Sends messages one by one, and keeps the first error. */
  #flush(): void {
    this.#sending = this.#sending.then(async () => {
      while (this.#waiting.length > 0) {
        const spans = this.#waiting.splice(0, BATCH);
        await this.#send(spansMessage(this.#version, spans)).catch((error: unknown) => {
          this.#why ??= error;
          this.#lost += spans.length;
        });
      }
    });
  }
}

export interface TraceOptions {
  where: string;
  name: string;
  version: string;
  redactor: Redactor;
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
