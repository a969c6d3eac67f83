/** Declares defects and variants of the device, and contains changes that several of them share. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { DeviceBehaviour, Refusal } from '../device/behaviour.ts';
import type { StoredEvent } from '../device/log/line.ts';
import type { CursorRequest } from '../device/stream/protocol.ts';
import { type Change, declaring, inGroups } from './define.ts';

export type DeviceChanges = { readonly [Group in keyof DeviceBehaviour]?: Change<DeviceBehaviour[Group]> };

/** Changes, or a function that runs once per device, so that the changes may keep state. */
export type DeviceChange = DeviceChanges | (() => DeviceChanges);

const GROUPS = ['transport', 'http', 'stream', 'log', 'deployments'] as const;

export const { variant, defect } = declaring(
  'device',
  inGroups<DeviceBehaviour, DeviceChange>(GROUPS, (change) => (typeof change === 'function' ? change() : change)),
);

/** Calls `taken` for each request; `taken` returns true after answering the request itself. */
export const onSome = (
  taken: (request: IncomingMessage, response: ServerResponse) => boolean,
): Pick<DeviceChanges, 'http'> => ({
  http: ({ intercept }) => ({
    intercept: (request, response) => taken(request, response) || intercept(request, response),
  }),
});

/** Calls `seen` before each response; `seen` may change the request. */
export const onRequest = (
  seen: (request: IncomingMessage, response: ServerResponse) => void,
): Pick<DeviceChanges, 'http'> =>
  onSome((request, response) => {
    seen(request, response);
    return false;
  });

/** Changes the cursor of each request for which `isExpected` returns false. */
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

/** Calls `then` once, when a stream's connection or a plain response closes. */
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

export const envelopeText = (change: (text: string) => string): Pick<DeviceChanges, 'stream'> => ({
  stream: ({ frame }) => ({ frame: (event) => frame({ ...event, json: change(event.json) }) }),
});

export type Envelope = Record<string, unknown>;

export function rewritten(event: StoredEvent, change: (envelope: Envelope) => Envelope): StoredEvent {
  return { ...event, json: JSON.stringify(change(JSON.parse(event.json) as Envelope)) };
}
