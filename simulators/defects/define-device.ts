import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from 'node:http';
import type { CursorRequest, DeviceBehaviour, Refusal, Retained, Session } from '../device/behaviour.ts';
import type { StoredEvent } from '../device/log/line.ts';
import { type Change, changed, declaring, effectsOf } from './define.ts';

export type DeviceChanges = { readonly [Group in keyof DeviceBehaviour]?: Change<DeviceBehaviour[Group]> };

/** A function runs once per device, so that its changes may keep state. */
type DeviceChange = DeviceChanges | (() => DeviceChanges);

const GROUPS = ['transport', 'http', 'stream', 'log', 'deployments'] as const;

const groupsOf = (change: DeviceChange): DeviceChanges => (typeof change === 'function' ? change() : change);

export const { variant, defect } = declaring<DeviceBehaviour, DeviceChange>('device', {
  changed: (reference, change) => {
    const made = groupsOf(change);
    const each = GROUPS.map((group) => [group, changed<object>(reference[group], made[group] as Change<object>)]);
    return Object.fromEntries(each) as DeviceBehaviour;
  },
  effectsOf: (reference, change) => {
    const made = groupsOf(change);
    const each = GROUPS.map((group) => effectsOf<object>(reference[group], made[group] as Change<object>, `${group}.`));
    return new Map(each.flatMap((effects) => [...effects]));
  },
});

type Adapted<G extends keyof DeviceBehaviour> = (reference: DeviceBehaviour[G]) => Partial<DeviceBehaviour[G]>;

/** Hides from the device the requests for which `taken` returns true; `taken` may answer them or leave them open. */
export const onSome =
  (taken: (request: IncomingMessage, response: ServerResponse) => boolean): Adapted<'http'> =>
  ({ intercept }) => ({ intercept: (request, response) => taken(request, response) || intercept(request, response) });

export const onRequest = (seen: (request: IncomingMessage, response: ServerResponse) => void): Adapted<'http'> =>
  onSome((request, response) => {
    seen(request, response);
    return false;
  });

export function answered(response: ServerResponse, status: number, headers: OutgoingHttpHeaders = {}): true {
  response.writeHead(status, headers).end();
  return true;
}

export const asksForEvents = ({ url = '' }: IncomingMessage): boolean => url.includes('/events');

export function whenOver({ socket }: IncomingMessage, response: ServerResponse, then: () => void): void {
  let isOver = false;
  const over = (): void => {
    socket.off('close', over);
    // A closing socket also closes the response, but `then` must run only once.
    if (!isOver) then();
    isOver = true;
  };
  socket.once('close', over);
  response.once('close', over);
}

export const refusals =
  (match: (refusal: Refusal, request: IncomingMessage) => boolean, answer: Partial<Refusal>): Adapted<'http'> =>
  ({ refusal }) => ({
    refusal: (wanted, request) => {
      const refused = refusal(wanted, request);
      return match(refused, request) ? { ...refused, ...answer } : refused;
    },
  });

export const onStart =
  (seen: (last: number) => void): Adapted<'log'> =>
  ({ highest }) => ({
    highest: (last, mark, damaged) => {
      seen(last);
      return highest(last, mark, damaged);
    },
  });

/** Runs `seen` at each start that finds an event log, also if each start is a new process. */
export const onRestart =
  (seen: () => void): Adapted<'log'> =>
  ({ opening }) => ({
    opening: (torn) => {
      seen();
      return opening(torn);
    },
  });

type Chosen = ReturnType<DeviceBehaviour['stream']['chooseCursor']>;
type Resolved = ReturnType<DeviceBehaviour['stream']['resolveCursor']>;

export const choosing =
  (change: (cursor: Chosen, request: CursorRequest) => Chosen): Adapted<'stream'> =>
  ({ chooseCursor }) => ({ chooseCursor: (request) => change(chooseCursor(request), request) });

export const resolving =
  (change: (after: Resolved, cursor: number | 'none', retained: Retained) => Resolved): Adapted<'stream'> =>
  ({ resolveCursor }) => ({ resolveCursor: (cursor, kept) => change(resolveCursor(cursor, kept), cursor, kept) });

export function losingFirstLive(): Session {
  let isLost = false;
  return {
    live: (events) => {
      const rest = isLost ? events : events.slice(1);
      isLost = true;
      return rest;
    },
  };
}

export const envelopeText =
  (change: (text: string) => string): Adapted<'stream'> =>
  ({ frame }) => ({ frame: (event) => frame({ ...event, json: change(event.json) }) });

export type Envelope = Record<string, unknown>;

export function rewritten(event: StoredEvent, change: (envelope: Envelope) => Envelope): StoredEvent {
  return { ...event, json: JSON.stringify(change(JSON.parse(event.json) as Envelope)) };
}
