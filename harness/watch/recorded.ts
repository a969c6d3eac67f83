/** Format of a recording: lines of JSON, first a head, then traffic without secrets. */

import type { Pairs } from '../common/http-parser.ts';
import type { TrafficRedactor } from '../common/redact.ts';
import type { Body, Traffic } from './traffic.ts';

export interface RecordingHead {
  muster_watch: 1;
  muster: string;
  api: 'device' | 'platform';
  way: string;
  base: string;
  address: string;
  started_at: string;
  part: number;
}

/** Traffic without secrets; drops binary bodies, which may hold a secret. */
export function withoutSecrets(traffic: Traffic, redactor: TrafficRedactor): Traffic {
  if (traffic.kind === 'request')
    return {
      ...traffic,
      target: redactor.url(traffic.target),
      headers: headersWithout(traffic.headers, redactor),
    };
  if (traffic.kind === 'response') return { ...traffic, headers: headersWithout(traffic.headers, redactor) };
  if (traffic.kind === 'frame')
    return {
      ...traffic,
      fields: fieldsWithout(traffic.fields, redactor),
    };
  if (traffic.kind === 'refused' || traffic.kind === 'lost') return { ...traffic, why: redactor.text(traffic.why) };
  if (traffic.kind === 'asked')
    return traffic.body === undefined ? traffic : { ...traffic, body: bodyWithout(traffic.body, redactor) };
  if (traffic.kind !== 'over') return traffic;
  const { body, torn, ...rest } = traffic;
  return {
    ...rest,
    ...(body !== undefined && { body: bodyWithout(body, redactor) }),
    ...(torn !== undefined && { torn: redactor.body(torn, true) }),
  };
}

const headersWithout = (headers: Pairs, redactor: TrafficRedactor): Pairs =>
  headers.map(([name, value]) => [name, redactor.header(name, value)]);

/** Masks the data lines of an event as one body, and all other fields as headers. */
function fieldsWithout(fields: Pairs, redactor: TrafficRedactor): Pairs {
  const data = fields.flatMap(([name, value]) => (name === 'data' ? [value] : []));
  const masked = redactor.body(data.join('\n'), false).split('\n').values();
  return fields.map(([name, value]) => [
    name,
    name === 'data' ? (masked.next().value ?? '') : redactor.header(name, value),
  ]);
}

function bodyWithout({ text, size, cut }: Body, redactor: TrafficRedactor): Body {
  const kept = text === undefined ? {} : { text: redactor.body(text, cut !== undefined) };
  return { ...kept, size, ...(cut !== undefined && { cut }) };
}

type Fields = Record<string, unknown>;
const isFields = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
const isText = (value: unknown): value is string => typeof value === 'string';
const isNumber = (value: unknown): value is number => typeof value === 'number' && Number.isFinite(value);
const isMissingOr =
  (is: (value: unknown) => boolean) =>
  (value: unknown): boolean =>
    value === undefined || is(value);
const isPairs = (value: unknown): boolean =>
  Array.isArray(value) &&
  value.every((pair) => Array.isArray(pair) && pair.length === 2 && isText(pair[0]) && isText(pair[1]));
const isBody = (value: unknown): boolean =>
  isFields(value) &&
  isNumber(value['size']) &&
  isMissingOr(isText)(value['text']) &&
  isMissingOr((cut) => isFields(cut) && isText(cut['sha256']))(value['cut']);

const ENDED = ['whole', 'server', 'client', 'unseen'];

const FORMS: { readonly [Kind in Traffic['kind']]: Readonly<Record<string, (value: unknown) => boolean>> } = {
  opened: { connection: isNumber },
  refused: { connection: isNumber, why: isText },
  request: { connection: isNumber, exchange: isNumber, method: isText, target: isText, headers: isPairs },
  asked: { exchange: isNumber, body: isMissingOr(isBody) },
  response: { exchange: isNumber, status: isNumber, headers: isPairs },
  frame: { exchange: isNumber, fields: isPairs },
  over: {
    exchange: isNumber,
    ended: (value) => ENDED.some((each) => each === value),
    body: isMissingOr(isBody),
    torn: isMissingOr(isText),
  },
  closed: { connection: isNumber },
  lost: { connection: isNumber, why: isText },
};

export function trafficIn(value: unknown): Traffic | undefined {
  if (!isFields(value) || !isNumber(value['at'])) return undefined;
  const form = Object.hasOwn(FORMS, String(value['kind'])) ? FORMS[value['kind'] as Traffic['kind']] : undefined;
  if (form === undefined || !Object.entries(form).every(([name, is]) => is(value[name]))) return undefined;
  return value as unknown as Traffic;
}

export function headIn(value: unknown): RecordingHead | undefined {
  if (!isFields(value) || value['muster_watch'] !== 1) return undefined;
  const { api, way, base, address } = value;
  const isRight = (api === 'device' || api === 'platform') && isText(way) && isText(base) && isText(address);
  return isRight ? (value as unknown as RecordingHead) : undefined;
}
