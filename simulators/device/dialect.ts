/**
 * How agents of each dialect answer where the specification leaves it open: one table, a column a dialect. The default
 * one is the reference; `miru` is as the published agents are.
 */
import type { ServerResponse } from 'node:http';
import process from 'node:process';
import { setTimeout } from 'node:timers/promises';
import type { ErrorBody } from '../../harness/contract/lists.ts';
import type { Dialect } from '../../harness/contract/versions.ts';
import { type DeviceBehaviour, type Refusal, referenceBehaviour } from './behaviour.ts';
import { type CursorRequest, chooseCursor, type Retained, resolveCursor } from './stream/protocol.ts';

interface Surface {
  /** Codes of the error bodies, where they are not those of the reference. */
  codes: Readonly<Record<string, string>>;
  /** Whether an unknown path and a wrong method are answered with an error body. */
  explainsRoutes: boolean;
  /** Between the methods in `Allow`. */
  methodSeparator: string;
  /** Whether a repeated `after` is refused in plain text, even when all its values are the same. */
  refusesRepeats: boolean;
  /** Whether a cursor may have a sign: `+1` is 1, and a negative one is older than every event. */
  signedCursors: boolean;
  /** Whether 0 asks for everything retained, and the id just before the earliest event has expired. */
  zeroIsEarliest: boolean;
  /** Whether `params` of an expired cursor name the ids that the log holds. */
  namesRetained: boolean;
  heartbeatAtOpen: boolean;
  streamCacheControl: string;
  /** Headers of JSON answers. */
  jsonHeaders: Readonly<Record<string, string>>;
  /** Whether answers say that the connection stays open, which HTTP/1.1 implies. */
  saysKeepAlive: boolean;
  /** Whether times have nanoseconds and an offset, and members are in alphabetical order. */
  rustStyle: boolean;
  /** Whether a line of the log has the `object` of its envelope. */
  logsObject: boolean;
  /** Milliseconds that a deployment takes. */
  deploymentMs: number;
  /**
   * Whether deployments without files are taken, failures that will last end a deployment, and the old one is current
   * meanwhile.
   */
  givesUp: boolean;
}

const SURFACES: Record<Dialect, Surface> = {
  spec: {
    codes: {},
    explainsRoutes: true,
    methodSeparator: ', ',
    refusesRepeats: false,
    signedCursors: false,
    zeroIsEarliest: false,
    namesRetained: true,
    heartbeatAtOpen: true,
    streamCacheControl: 'no-store',
    jsonHeaders: { 'Cache-Control': 'no-store' },
    saysKeepAlive: true,
    rustStyle: false,
    logsObject: true,
    deploymentMs: 0,
    givesUp: true,
  },
  miru: {
    codes: {
      invalid_cursor: 'malformed_cursor',
      deployment_not_found: 'resource_not_found',
      release_not_found: 'resource_not_found',
      git_commit_not_found: 'resource_not_found',
    },
    explainsRoutes: false,
    methodSeparator: ',',
    refusesRepeats: true,
    signedCursors: true,
    zeroIsEarliest: true,
    namesRetained: false,
    heartbeatAtOpen: false,
    streamCacheControl: 'no-cache',
    jsonHeaders: {},
    saysKeepAlive: false,
    rustStyle: true,
    logsObject: false,
    deploymentMs: 500,
    givesUp: false,
  },
};

function behaviourOf(surface: Surface): DeviceBehaviour {
  const { transport, http, stream, log, deployments } = referenceBehaviour;
  const styled = surface.rustStyle ? inRustStyle : <T>(value: T): T => value;
  return {
    transport,
    http: {
      ...http,
      headers: surface.jsonHeaders,
      intercept: (_request, response) => {
        if (!surface.saysKeepAlive) hideKeepAlive(response);
        return false;
      },
      resource: styled,
      refusal: (refusal, { url = '' }) => refusalOf(surface, refusal, url),
      errorBody: (refusal) => errorBodyOf(surface, refusal),
    },
    stream: {
      ...stream,
      heartbeatAtOpen: surface.heartbeatAtOpen,
      headers: { ...stream.headers, 'Cache-Control': surface.streamCacheControl },
      chooseCursor: (request) => cursorOf(surface, request),
      resolveCursor: (cursor, retained) => resolved(surface, cursor, retained),
      frame: surface.logsObject ? stream.frame : (event) => stream.frame({ ...event, json: withObject(event.json) }),
    },
    log: {
      ...log,
      lines: surface.logsObject ? log.lines : (events) => log.lines(events).replaceAll(OBJECT_OF_LINE, '{'),
    },
    deployments: {
      ...deployments,
      event: ({ type, data }) => ({ type, data: styled(data) }),
      occurredAt: (text) => (surface.rustStyle ? inNanoseconds(text) : text),
      givesUp: surface.givesUp,
      enter: async (steps) => {
        if (surface.deploymentMs > 0) await setTimeout(surface.deploymentMs);
        await deployments.enter(steps);
      },
    },
  };
}

const OBJECT = '{"object":"event",';
const OBJECT_OF_LINE = /^\{"object":"event",/gm;
const withObject = (json: string): string => (json.startsWith(OBJECT) ? json : OBJECT + json.slice(1));

/** A header that was removed is not added by Node either. */
function hideKeepAlive(response: ServerResponse): void {
  response.removeHeader('Connection');
}

const REPEATED = 'repeated_parameter';

function refusalOf({ codes, methodSeparator, refusesRepeats, namesRetained }: Surface, refusal: Refusal, url: string) {
  const { params = {}, headers = {} } = refusal;
  const repeated = refusesRepeats && refusal.code === 'invalid_cursor' && valuesOfAfter(url).length > 1;
  const allow = headers['Allow']?.replaceAll(', ', methodSeparator);
  const ids =
    namesRetained || refusal.status !== 410 ? '' : `; the earliest retained event is ${params['earliest_id']}`;
  return {
    ...refusal,
    code: repeated ? REPEATED : (codes[refusal.code] ?? refusal.code),
    message: repeated ? 'Failed to deserialize query string: duplicate field `after`' : refusal.message + ids,
    params: namesRetained ? params : {},
    headers: { ...headers, ...(allow !== undefined && { Allow: allow }) },
  };
}

const valuesOfAfter = (url: string): string[] => new URLSearchParams(url.split('?')[1] ?? '').getAll('after');

function errorBodyOf(
  { explainsRoutes }: Surface,
  { code, message, params = {} }: Refusal,
): ErrorBody | string | undefined {
  if (code === REPEATED) return message;
  if (!explainsRoutes && (code === 'not_found' || code === 'method_not_allowed')) return undefined;
  return { error: { code, params, message } };
}

/** Older than every event, so that it has expired. */
const BEFORE_ALL = -1;

function cursorOf({ refusesRepeats, signedCursors }: Surface, request: CursorRequest): number | 'none' | 'malformed' {
  const { after, lastEventId } = request;
  if (refusesRepeats && after.length > 1) return 'malformed';
  if (!signedCursors) return chooseCursor(request);
  const text = after[0] ?? lastEventId;
  if (text !== undefined && /^-\d+$/.test(text)) return BEFORE_ALL;
  const unsigned = (value: string): string => value.replace(/^\+(?=\d)/, '');
  return chooseCursor({ after: after.map(unsigned), lastEventId: lastEventId && unsigned(lastEventId) });
}

function resolved({ zeroIsEarliest }: Surface, cursor: number | 'none', retained: Retained): number | 'expired' {
  const { earliest, latest } = retained;
  if (cursor === 'none' || !zeroIsEarliest) return resolveCursor(cursor, retained);
  if (latest === 0) return 0;
  if (cursor === 0) return earliest - 1;
  return cursor < earliest ? 'expired' : resolveCursor(cursor, retained);
}

const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;

/** The same moment with an offset, and in nanoseconds, of which JavaScript's clock lacks six digits. */
const inNanoseconds = (text: string): string =>
  text.replace('Z', `${String(process.hrtime.bigint() % 1_000_000n).padStart(6, '0')}+00:00`);

/** Members in alphabetical order, times with an offset. */
function inRustStyle<T>(value: T): T {
  if (typeof value === 'string') return (TIME.test(value) ? value.replace('Z', '+00:00') : value) as T;
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map(inRustStyle) as T;
  const members = Object.entries(value).toSorted(([left], [right]) => (left < right ? -1 : 1));
  return Object.fromEntries(members.map(([name, member]) => [name, inRustStyle(member)])) as T;
}

const BEHAVIOURS: Record<Dialect, DeviceBehaviour> = {
  spec: behaviourOf(SURFACES.spec),
  miru: behaviourOf(SURFACES.miru),
};

/** The behaviour of an agent of that dialect. */
export const dialectBehaviour = (dialect: Dialect): DeviceBehaviour => BEHAVIOURS[dialect];
