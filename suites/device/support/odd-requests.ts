/**
 * Requests that are malformed, too long or unusual, with the answers to each that are acceptable; and wrong Authorization headers, of
 * which some come close to the right one.
 */
import fc from 'fast-check';
import type { HttpClient } from '../../../harness/client/http.ts';
import { requestText } from '../../../harness/client/raw.ts';
import { CURRENT } from './requests.ts';

export interface OddRequest {
  name: string;
  /** What is written to the connection, one part after the other. */
  parts: (string | Buffer)[];
  /** Whole answers that must come, unless it may hang up. Default: 1. */
  answers?: number;
  methods?: string[];
  mayHangUp?: boolean;
  /** Whether this status is acceptable. Default: `rejected`. */
  accepts?(status: number): boolean;
}

export const rejected = (status: number): boolean =>
  (status >= 400 && status < 500) || status === 501 || status === 505;
export const noServerError = (status: number): boolean => status < 500 || status === 501 || status === 505;

/** GET of the current deployment, as it should be. */
export const wholeRequest = (http: HttpClient): string => requestText(http, { target: http.basePath + CURRENT });

const LONG = 'x'.repeat(64 * 1024);

export function oddRequests(http: HttpClient): OddRequest[] {
  const text: Text = (request) => requestText(http, request);
  return [
    ...oddMethods(http.basePath, text),
    ...oddPaths(http.basePath, text),
    ...oddHeaders(http.basePath + CURRENT, text),
    ...oddBytes(http.basePath + CURRENT, text),
  ];
}

type Text = (request: Parameters<typeof requestText>[1]) => string;

const oddMethods = (base: string, text: Text): OddRequest[] => [
  ...['DELETE', 'PUT', 'PATCH', 'POST', 'BREW', 'get'].map((method) => ({
    name: `${method} ${CURRENT}`,
    parts: [text({ method, target: base + CURRENT, headers: ['Content-Length: 0'] })],
    methods: [method],
  })),
  {
    name: 'POST /events',
    parts: [text({ method: 'POST', target: `${base}/events`, headers: ['Content-Length: 0'] })],
  },
  ...[CURRENT, '/events'].map((path) => ({
    name: `HEAD ${path}`,
    parts: [text({ method: 'HEAD', target: base + path })],
    methods: ['HEAD'],
    accepts: noServerError,
  })),
  {
    name: `OPTIONS ${CURRENT}`,
    parts: [text({ method: 'OPTIONS', target: base + CURRENT })],
    accepts: noServerError,
  },
];

const oddPaths = (base: string, text: Text): OddRequest[] => [
  { name: 'a path that does not exist', parts: [text({ target: `${base}/nonsense` })] },
  { name: 'a path of 64 KiB', parts: [text({ target: `${base}/${LONG}` })], mayHangUp: true },
  {
    name: 'a query of 64 KiB',
    parts: [text({ target: `${base}${CURRENT}?q=${LONG}` })],
    mayHangUp: true,
    accepts: noServerError,
  },
  { name: 'a path with bad escapes', parts: [text({ target: `${base}/deployments/%zz%` })] },
  {
    name: 'a path that climbs',
    parts: [text({ target: `${base}/../../etc/passwd` })],
    // Some servers redirect to the normalized path.
    accepts: (status) => status >= 300 && noServerError(status),
  },
];

const oddHeaders = (target: string, text: Text): OddRequest[] => [
  {
    name: 'a header of 1 MiB',
    parts: [text({ target, headers: [`X-Long: ${LONG.repeat(16)}`] })],
    mayHangUp: true,
    accepts: noServerError,
  },
  {
    name: 'a thousand headers',
    parts: [text({ target, headers: Array.from({ length: 1000 }, (_, index) => `X-${index}: 1`) })],
    mayHangUp: true,
    accepts: noServerError,
  },
  { name: 'a header without colon', parts: [text({ target, headers: ['nonsense'] })], mayHangUp: true },
  { name: 'a header name with a space', parts: [text({ target, headers: ['X Y: 1'] })], mayHangUp: true },
  {
    name: 'a header value with a NUL',
    parts: [text({ target, headers: ['X-Y: a\0b'] })],
    mayHangUp: true,
    accepts: noServerError,
  },
  {
    name: 'two lengths',
    parts: [text({ target, headers: ['Content-Length: 1', 'Content-Length: 2'], body: 'ab' })],
    mayHangUp: true,
  },
];

function oddBytes(target: string, text: Text): OddRequest[] {
  const whole = text({ target });
  return [
    { name: 'HTTP/9.9', parts: [text({ target, version: 'HTTP/9.9' })], mayHangUp: true },
    {
      name: 'bytes that are not HTTP',
      parts: [Buffer.from('160301020001000001fc0303', 'hex'), '\r\n\r\n'],
      mayHangUp: true,
    },
    {
      name: 'a body where none belongs',
      parts: [text({ target, headers: ['Content-Type: application/json', 'Content-Length: 2'], body: '{}' })],
      accepts: noServerError,
    },
    { name: 'three requests in one piece', parts: [whole.repeat(3)], answers: 3, accepts: noServerError },
    { name: 'a request byte by byte', parts: [...whole], accepts: noServerError },
    {
      name: 'a request in two pieces',
      parts: [whole.slice(0, whole.length / 2), whole.slice(whole.length / 2)],
      accepts: noServerError,
    },
  ];
}

const HALF = 0.5;

/** Headers without the token, or with a part of it. */
export const headersWithoutToken = (token: string): (string | undefined)[] =>
  [
    undefined,
    'Bearer',
    'Bearer null',
    'Bearer *',
    'Basic Og==',
    `Bearer ${token.slice(0, Math.ceil(token.length * HALF))}`,
    `Bearer ${token.slice(0, -2)}`,
    `Bearer ${token.slice(0, 1)}`,
    `Bearer ${token}x`,
  ].filter((header) => header?.toLowerCase() !== `bearer ${token.toLowerCase()}`);

/** Tokens of the same length that differ in every character, in the first alone, and in the last but three. */
export function changedTokens(token: string): string[] {
  const changed = (from: number, to: number): string =>
    [...token].map((sign, at) => (at >= from && at < to ? (/z/i.test(sign) ? '7' : 'Z') : sign)).join('');
  const late = Math.max(0, token.replace(/=+$/, '').length - 4);
  return [changed(0, token.length), changed(0, 1), changed(late, late + 1)].filter((other) => other !== token);
}

/** The token with upper and lower case swapped; undefined when it has no letters. */
export function otherCase(token: string): string | undefined {
  const swapped = [...token].map((sign) => (sign === sign.toLowerCase() ? sign.toUpperCase() : sign.toLowerCase()));
  return swapped.join('') === token ? undefined : swapped.join('');
}

/** Where a token has letters of one case alone, as hexadecimal has, the case may mean nothing. */
export const usesBothCases = (token: string): boolean => /[a-z]/.test(token) && /[A-Z]/.test(token);

/** Any Authorization but the right one: part of the token, more than it, or another one. */
export const anyWrongHeader = (token: string): fc.Arbitrary<string | undefined> => {
  // Padding may mean nothing to a device that decodes the token.
  const bare = token.replace(/=+$/, '');
  return fc
    .oneof(
      fc.constantFrom(...headersWithoutToken(token)),
      fc.nat({ max: Math.max(0, bare.length - 2) }).map((length) => `Bearer ${bare.slice(0, length)}`),
      fc.stringMatching(/^[A-Za-z0-9]{1,40}$/).map((text) => `Bearer ${text}`),
      fc.stringMatching(/^[A-Za-z0-9]{1,8}$/).map((more) => `Bearer ${token}${more}`),
      fc.nat({ max: Math.floor((bare.length - 1) * HALF) }).map((at) => {
        const other = bare[at] === 'Z' ? '7' : 'Z';
        return `Bearer ${bare.slice(0, at)}${other}${token.slice(at + 1)}`;
      }),
    )
    .filter((header) => header?.toLowerCase() !== `bearer ${token.toLowerCase()}`);
};
