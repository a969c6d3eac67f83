/**
 * Sends OpenTelemetry by OTLP over HTTP, in JSON: to a collector, or into a file with one message a line, like the
 * Collector's file exporter.
 */
import { randomBytes } from 'node:crypto';
import { appendFileSync, writeFileSync } from 'node:fs';
import { defined } from './defined.ts';
import { UsageError } from './usage.ts';
import { prepareFile } from './user-files.ts';

type Value = { stringValue: string } | { intValue: string };
export type Attributes = { key: string; value: Value }[];

export interface Span {
  traceId: string;
  spanId: string;
  parentSpanId?: string;
  name: string;
  kind: (typeof KIND)[keyof typeof KIND];
  startTimeUnixNano: string;
  endTimeUnixNano: string;
  attributes: Attributes;
  status: { code?: typeof ERROR; message?: string };
}

export const KIND = { internal: 1, client: 3 } as const;
export const ERROR = 2;

const SENDING_MS = 10_000;

export const newId = (bytes: number): string => randomBytes(bytes).toString('hex');

/** Nanoseconds since 1970 of a time of `performance.now()`. */
export const unixNano = (ms: number): string =>
  String(BigInt(Math.round((performance.timeOrigin + ms) * 1000)) * 1000n);

export const attributesOf = (values: Readonly<Record<string, string | number | undefined>>): Attributes =>
  Object.entries(defined(values)).map(([key, value]) => ({
    key,
    value: typeof value === 'number' ? { intValue: String(value) } : { stringValue: String(value) },
  }));

export function spansMessage(version: string, spans: readonly Span[]): object {
  const resource = { attributes: attributesOf({ 'service.name': 'muster', 'service.version': version }) };
  return { resourceSpans: [{ resource, scopeSpans: [{ scope: { name: 'muster', version }, spans }] }] };
}

/** Sends a message. Rejects with the reason of a refusal. */
export type Send = (message: object) => Promise<void>;

export const isAddress = (where: string): boolean => /^[a-z]+:\/\//i.test(where);

export interface OtlpOptions {
  where: string;
  option: string;
  headers?: Readonly<Record<string, string>>;
}

/** Throws UsageError for an unusable address and an unwritable file. */
export const otlp = (options: OtlpOptions): Send => (isAddress(options.where) ? sender(options) : writer(options));

function sender({ where, option, headers = {} }: OtlpOptions): Send {
  const base = URL.parse(where);
  if (base === null || !/^https?:$/.test(base.protocol) || base.username !== '' || base.password !== '')
    throw new UsageError(`${option}: must be http://HOST:PORT or https://HOST, without credentials, or a file`);
  return async (message) => {
    const url = new URL(base);
    const folder = url.pathname.replace(/\/(v1\/(traces|metrics))?$/, '');
    url.pathname = `${folder}/v1/traces`;
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

function writer({ where, option }: OtlpOptions): Send {
  const file = prepareFile(option, where);
  writeFileSync(file, '');
  return async (message) => appendFileSync(file, `${JSON.stringify(message)}\n`);
}

export const HEADERS_VARIABLE = 'OTEL_EXPORTER_OTLP_HEADERS';

/** Headers in OpenTelemetry's form: `name=value,other=value`, percent-encoded. Throws UsageError. */
export function headersIn(text = ''): Record<string, string> {
  const pairs = text.split(',').filter((pair) => pair.trim() !== '');
  return Object.fromEntries(
    pairs.map((pair, at) => {
      const [name = '', ...value] = pair.trim().split('=');
      // Message without name and value: either may be the secret.
      if (value.length === 0 || !/^[\w!#$%&'*+.^`|~-]+$/.test(name))
        throw new UsageError(`${HEADERS_VARIABLE}: header ${at + 1} must be name=value`);
      try {
        const decoded = decodeURIComponent(value.join('='));
        new Headers({ [name]: decoded });
        return [name, decoded];
      } catch {
        throw new UsageError(`${HEADERS_VARIABLE}: the value of ${name} must be percent-encoded, on one line`);
      }
    }),
  );
}

export function whyLost(error: unknown): string {
  const why = error instanceof Error ? (error.cause ?? error) : error;
  return why instanceof Error ? why.message : String(why);
}
