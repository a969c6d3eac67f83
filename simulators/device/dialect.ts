/** Behaviour of the dialects: `spec` follows the specification, `miru` imitates published agents. */
import process from 'node:process';
import { setTimeout } from 'node:timers/promises';
import type { Dialect } from '../../harness/contract/versions.ts';
import { type DeviceBehaviour, referenceBehaviour } from './behaviour.ts';

const { http, stream, log, deployments } = referenceBehaviour;

const OBJECT = '{"object":"event",';

const miru: DeviceBehaviour = {
  ...referenceBehaviour,
  http: {
    ...http,
    headers: {},
    intercept: (_request, response) => {
      // Removes a header that Node adds and published agents do not send.
      response.removeHeader('Connection');
      return false;
    },
    resource: inRustStyle,
    // Tells the earliest retained id in `message`, as published agents do, and not in `params`.
    refusal: ({ status, code, message, params, headers = {} }, { url = '' }) => {
      const query = new URLSearchParams(url.split('?')[1] ?? '');
      const repeated = code === 'invalid_cursor' && query.getAll('after').length > 1;
      const allow = headers['Allow']?.replaceAll(', ', ',');
      const ids = status === 410 ? `; the earliest retained event is ${params?.['earliest_id']}` : '';
      return {
        status,
        code: repeated ? REPEATED : (CODES[code] ?? code),
        message: repeated ? 'Failed to deserialize query string: duplicate field `after`' : message + ids,
        headers: { ...headers, ...(allow !== undefined && { Allow: allow }) },
      };
    },
    errorBody: (refusal) => {
      if (refusal.code === REPEATED) return refusal.message;
      const isBare = refusal.code === 'not_found' || refusal.code === 'method_not_allowed';
      return isBare ? undefined : http.errorBody(refusal);
    },
  },
  stream: {
    ...stream,
    heartbeatAtOpen: false,
    headers: { ...stream.headers, 'Cache-Control': 'no-cache' },
    // Reads a cursor `+1` as 1, and a negative cursor as older than every event.
    chooseCursor: ({ after, lastEventId }) => {
      if (after.length > 1) return 'malformed';
      const text = after[0] ?? lastEventId;
      if (text !== undefined && /^-\d+$/.test(text)) return -1;
      const unsigned = (value: string): string => value.replace(/^\+(?=\d)/, '');
      return stream.chooseCursor({ after: after.map(unsigned), lastEventId: lastEventId && unsigned(lastEventId) });
    },
    resolveCursor: (cursor, retained) => {
      const { earliest, latest } = retained;
      if (cursor === 'none') return stream.resolveCursor(cursor, retained);
      if (latest === 0) return 0;
      if (cursor === 0) return earliest - 1;
      return cursor < earliest ? 'expired' : stream.resolveCursor(cursor, retained);
    },
    frame: (event) => {
      const json = event.json.startsWith(OBJECT) ? event.json : OBJECT + event.json.slice(1);
      return stream.frame({ ...event, json });
    },
  },
  log: { ...log, lines: (events) => log.lines(events).replaceAll(/^\{"object":"event",/gm, '{') },
  deployments: {
    ...deployments,
    event: ({ type, data }) => ({ type, data: inRustStyle(data) }),
    // Published agents write nanoseconds and an offset; `hrtime` supplies the six digits that Date lacks.
    occurredAt: (text) => text.replace('Z', `${String(process.hrtime.bigint() % 1_000_000n).padStart(6, '0')}+00:00`),
    givesUp: false,
    enter: async (steps) => {
      await setTimeout(500);
      await deployments.enter(steps);
    },
  },
};

const CODES: Readonly<Record<string, string>> = {
  invalid_cursor: 'malformed_cursor',
  deployment_not_found: 'resource_not_found',
  release_not_found: 'resource_not_found',
  git_commit_not_found: 'resource_not_found',
};

/** Internal code for a repeated `after`, even of equal values: published agents answer it in plain text. */
const REPEATED = 'repeated_parameter';

function inRustStyle<T>(value: T): T {
  if (typeof value === 'string') return value.replace(/^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3})Z$/, '$1+00:00') as T;
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map(inRustStyle) as T;
  const members = Object.entries(value).toSorted(([left], [right]) => (left < right ? -1 : 1));
  return Object.fromEntries(members.map(([name, member]) => [name, inRustStyle(member)])) as T;
}

export const dialectBehaviour = (dialect: Dialect): DeviceBehaviour => (dialect === 'miru' ? miru : referenceBehaviour);
