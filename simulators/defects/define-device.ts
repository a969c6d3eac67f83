/** Declares defects and variants of the device, and changes that several of them share. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { DeviceBehaviour, Refusal } from '../device/behaviour.ts';
import type { StoredEvent } from '../device/log/line.ts';
import type { CursorRequest } from '../device/stream/protocol.ts';
import { type Change, declaring, inGroups } from './define.ts';

/** Changed decisions by group. */
export type DeviceChanges = { readonly [Group in keyof DeviceBehaviour]?: Change<DeviceBehaviour[Group]> };

/** Changes, or a function that makes them for each device, so that they may keep state. */
export type DeviceChange = DeviceChanges | (() => DeviceChanges);

const GROUPS = ['transport', 'http', 'stream', 'log', 'deployments'] as const;

export const { variant, defect } = declaring(
  'device',
  inGroups<DeviceBehaviour, DeviceChange>(GROUPS, (change) => (typeof change === 'function' ? change() : change)),
);

/** Takes over the requests for which `taken` returns true. */
export const onSome = (
  taken: (request: IncomingMessage, response: ServerResponse) => boolean,
): Pick<DeviceChanges, 'http'> => ({
  http: ({ intercept }) => ({
    intercept: (request, response) => taken(request, response) || intercept(request, response),
  }),
});

/** Passes each request to `seen`, which may change it, before the answer. */
export const onRequest = (
  seen: (request: IncomingMessage, response: ServerResponse) => void,
): Pick<DeviceChanges, 'http'> =>
  onSome((request, response) => {
    seen(request, response);
    return false;
  });

/** Changes the cursors of requests in an unexpected form. */
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

/** Calls back at the end of a request: of a stream with its connection, of any other with its answer. */
export function whenOver({ socket }: IncomingMessage, response: ServerResponse, then: () => void): void {
  let isOver = false;
  const over = (): void => {
    socket.off('close', over);
    // Calls back once, although a closing socket also closes its response.
    if (!isOver) then();
    isOver = true;
  };
  socket.once('close', over);
  response.once('close', over);
}

/** Passes the id of the last event in the log to `seen`, at each start of the device. */
export const onStart = (seen: (last: number) => void): Pick<DeviceChanges, 'log'> => ({
  log: ({ highest }) => ({
    highest: (last, mark, damaged) => {
      seen(last);
      return highest(last, mark, damaged);
    },
  }),
});

export const refusals = (match: (refusal: Refusal) => boolean, answer: Partial<Refusal>): DeviceChanges => ({
  http: ({ refusal }) => ({
    refusal: (wanted, request) => {
      const refused = refusal(wanted, request);
      return match(refused) ? { ...refused, ...answer } : refused;
    },
  }),
});

/** Changes the text of envelopes on their way from the log to clients. */
export const envelopeText = (change: (text: string) => string): Pick<DeviceChanges, 'stream'> => ({
  stream: ({ frame }) => ({ frame: (event) => frame({ ...event, json: change(event.json) }) }),
});

export type Envelope = Record<string, unknown>;

export function rewritten(event: StoredEvent, change: (envelope: Envelope) => Envelope): StoredEvent {
  return { ...event, json: JSON.stringify(change(JSON.parse(event.json) as Envelope)) };
}
