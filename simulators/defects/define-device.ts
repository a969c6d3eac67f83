/** How defects and variants of the device are declared, and the changes that several of them share. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { DeviceBehaviour, Refusal } from '../device/behaviour.ts';
import type { StoredEvent } from '../device/log/line.ts';
import { type Change, changed, type Defect, effectsOf, type Variant, type VariantExtras } from './define.ts';

/** Decisions that differ, by group. */
export type DeviceChanges = { readonly [Group in keyof DeviceBehaviour]?: Change<DeviceBehaviour[Group]> };

/** A function is called for each device, so that the changes may keep state. */
export type DeviceChange = DeviceChanges | (() => DeviceChanges);

export function variant(
  name: string,
  summary: string,
  change: DeviceChange,
  extras: VariantExtras = {},
): Variant<DeviceBehaviour> {
  return {
    ...extras,
    name,
    side: 'device',
    summary,
    behaviour: (reference) => {
      const { transport, http, stream, log, deployments } = typeof change === 'function' ? change() : change;
      return {
        transport: changed(reference.transport, transport),
        http: changed(reference.http, http),
        stream: changed(reference.stream, stream),
        log: changed(reference.log, log),
        deployments: changed(reference.deployments, deployments),
      };
    },
    effects: (reference) => {
      const { transport, http, stream, log, deployments } = typeof change === 'function' ? change() : change;
      return new Map([
        ...effectsOf(reference.transport, transport, 'transport.'),
        ...effectsOf(reference.http, http, 'http.'),
        ...effectsOf(reference.stream, stream, 'stream.'),
        ...effectsOf(reference.log, log, 'log.'),
        ...effectsOf(reference.deployments, deployments, 'deployments.'),
      ]);
    },
  };
}

/** `breaks`: ids of requirements or of single checks, the most telling one first. */
export function defect(
  name: string,
  summary: string,
  breaks: readonly string[],
  change: DeviceChange,
): Defect<DeviceBehaviour> {
  return { ...variant(name, summary, change), breaks };
}

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
