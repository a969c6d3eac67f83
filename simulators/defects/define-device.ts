/** How defects and variants of the device are declared, and the changes that several of them share. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { DeviceBehaviour, Refusal } from '../device/behaviour.ts';
import type { StoredEvent } from '../device/log/line.ts';
import type { CursorRequest } from '../device/stream/protocol.ts';
import { type Change, declaring, inGroups } from './define.ts';

/** Decisions that differ, by group. */
export type DeviceChanges = { readonly [Group in keyof DeviceBehaviour]?: Change<DeviceBehaviour[Group]> };

/** A function is called for each device, so that the changes may keep state. */
export type DeviceChange = DeviceChanges | (() => DeviceChanges);

const GROUPS = ['transport', 'http', 'stream', 'log', 'deployments'] as const;

export const { variant, defect } = declaring(
  'device',
  inGroups<DeviceBehaviour, DeviceChange>(GROUPS, (change) => (typeof change === 'function' ? change() : change)),
);

/** Takes some requests over: those for which `taken` is true. */
export const onSome = (
  taken: (request: IncomingMessage, response: ServerResponse) => boolean,
): Pick<DeviceChanges, 'http'> => ({
  http: ({ intercept }) => ({
    intercept: (request, response) => taken(request, response) || intercept(request, response),
  }),
});

/** Sees, and may change, each request before it is answered. */
export const onRequest = (
  seen: (request: IncomingMessage, response: ServerResponse) => void,
): Pick<DeviceChanges, 'http'> =>
  onSome((request, response) => {
    seen(request, response);
    return false;
  });

/** Reads the cursors of a request otherwise where its form is not as expected. */
export const onForm =
  (isExpected: (request: IncomingMessage) => boolean, otherwise: (request: CursorRequest) => CursorRequest) =>
  (): DeviceChanges => {
    let isUsual = true;
    return {
      ...onRequest((request) => {
        isUsual = isExpected(request);
      }),
      stream: ({ chooseCursor }) => ({
        chooseCursor: (request) => chooseCursor(isUsual ? request : otherwise(request)),
      }),
    };
  };

/** Calls back once a request is over: a stream with its connection, any other answer before it. */
export function whenOver({ socket }: IncomingMessage, response: ServerResponse, then: () => void): void {
  let isOver = false;
  const over = (): void => {
    socket.off('close', over);
    // A socket that closes closes its response too, and goes on to those it would have called.
    if (!isOver) then();
    isOver = true;
  };
  socket.once('close', over);
  response.once('close', over);
}

/** Learns of each start of the device, and the id of the last event in its log. */
export const onStart = (seen: (last: number) => void): Pick<DeviceChanges, 'log'> => ({
  log: ({ highest }) => ({
    highest: (last, mark, damaged) => {
      seen(last);
      return highest(last, mark, damaged);
    },
  }),
});

/** Refuses those requests otherwise that `match`. */
export const refusals = (match: (refusal: Refusal) => boolean, answer: Partial<Refusal>): DeviceChanges => ({
  http: ({ refusal }) => ({
    refusal: (wanted, request) => {
      const refused = refusal(wanted, request);
      return match(refused) ? { ...refused, ...answer } : refused;
    },
  }),
});

/** Sends another text as the envelope than the log holds. */
export const envelopeText = (change: (text: string) => string): Pick<DeviceChanges, 'stream'> => ({
  stream: ({ frame }) => ({ frame: (event) => frame({ ...event, json: change(event.json) }) }),
});

export type Envelope = Record<string, unknown>;

/** The event with its envelope changed. */
export function rewritten(event: StoredEvent, change: (envelope: Envelope) => Envelope): StoredEvent {
  return { ...event, json: JSON.stringify(change(JSON.parse(event.json) as Envelope)) };
}
