/** Commands of the exploration on streams and events. */
import type { Form } from '../../../harness/client/equivalent-forms.ts';
import type { OpenEvents } from '../../../harness/client/sse.ts';
import { eventBudget, publish } from '../support/drive.ts';
import { CURRENT, request } from '../support/requests.ts';
import { mostEvents } from '../support/retention.ts';
import type { Reality, StreamRequest } from './reality.ts';

export interface Command {
  text: string;
  isPossible?(real: Reality): boolean;
  run(real: Reality): Promise<void>;
}

export const can =
  (...needs: ('compact' | 'restart' | 'log' | 'files')[]) =>
  ({ t }: Reality): boolean =>
    needs.every((name) => t.capabilities.has(name));

export const publishSome = (count: number): Command => ({
  text: `publish(${count})`,
  async run(real) {
    const since = Date.now();
    const published = await publish(real.t, Math.max(1, Math.min(count, eventBudget(real.t, count))));
    await real.settle(published, since);
  },
});

export const burstIntoReplay = (count: number, streams: number): Command => ({
  text: `publish twice ${count} while ${streams} streams open`,
  isPossible: ({ t }) => mostEvents(t) >= 4,
  async run(real) {
    const { t } = real;
    const since = Date.now();
    const portion = Math.max(1, Math.floor(eventBudget(t, Math.min(count, mostEvents(t) / 4))));
    const after = real.retained();
    const bursts = Promise.all([publish(t, portion), publish(t, portion)]);
    bursts.catch(() => {});
    for (let n = 0; n < streams; n += 1)
      await real.open(n % 2 === 0 ? askAfter(after) : { way: 'header', options: { lastEventId: after }, after });
    const [one, other] = await bursts;
    const { first } = one.first < other.first ? one : other;
    const { last, at } = one.last > other.last ? one : other;
    t.saw('replays into bursts');
    // Takes both calls as one range of events, because a device may interleave or merge the events of concurrent calls.
    await real.settle({ first, last, count: Math.min(2 * portion, Number(last - first) + 1), at }, since);
  },
});

const askAfter = (after: bigint): StreamRequest => ({ way: 'after', options: { after }, after });

/** Request for a stream whose cursor lies `back` events before the newest event. */
export interface Opening {
  back: number;
  way: 'after' | 'header' | 'both' | 'none';
  other: number;
  types: keyof typeof TYPES;
  accept: string | undefined;
  coding: string | undefined;
  used: boolean;
  form: Form | undefined;
}

const TYPES = {
  all: undefined,
  deployed: ['deployment.deployed'],
  removed: ['deployment.removed'],
  both: ['deployment.removed', 'deployment.deployed'],
  /** Filter with one real type and with invented types that resemble a real type. */
  near: ['deployment.removed', 'deployment.deployed_late', 'deployment.deploy', 'xdeployment.deployed'],
} as const;

export const openStream = (opening: Opening): Command => ({
  text: `open(${describeOpening(opening)})`,
  async run(real) {
    const { back, way, other, types, accept, coding, used, form } = opening;
    const { ledger, t } = real;
    const cursorAt = (steps: number): bigint =>
      ledger.events.at(-1 - steps)?.id ?? ledger.events[0]?.id ?? ledger.closed;
    const after = way === 'none' ? ledger.closed : cursorAt(back);
    const listed = TYPES[types];
    const options: OpenEvents = {
      ...(way === 'after' || way === 'both' ? { after } : {}),
      ...(way === 'header' ? { lastEventId: after } : way === 'both' ? { lastEventId: cursorAt(other) } : {}),
      ...(listed === undefined ? {} : { types: listed }),
      headers: { accept, 'accept-encoding': coding },
    };
    const http = t.http.with({ keepsAlive: used, form });
    if (used) await request(t, { path: CURRENT }, 'an answer before the connection is used again', http);
    await real.open({ way, options, after, http, mayRefuse: types === 'near' });
    if (types === 'near') t.saw('filters by types near others');
    await real.catchUp(ledger.closed);
  },
});

function describeOpening({ back, way, other, types, accept, coding, used, form }: Opening): string {
  const cursor = way === 'none' ? 'no cursor' : `${way} ${back} back${way === 'both' ? `, header ${other} back` : ''}`;
  const filter = types === 'all' ? '' : `, types ${types}`;
  const how = [...(used ? ['used connection'] : []), ...(form === undefined ? [] : [form.name])];
  return [`${cursor}${filter}`, `accept ${accept ?? 'none'}`, `coding ${coding ?? 'none'}`, ...how].join(', ');
}

export const PLAIN: Opening = {
  ...{ back: 3, way: 'after', other: 0, types: 'all' },
  ...{ accept: 'text/event-stream', coding: undefined, used: false, form: undefined },
};

export const openMany = (count: number): Command => ({
  text: `open and leave ${count} streams`,
  isPossible: ({ t }) => !t.session.isSmall && !t.session.isSlow('answer'),
  async run({ streams }) {
    for (let left = count; left > 0; left -= AT_ONCE) {
      const opened = await Promise.all(
        Array.from({ length: Math.min(left, AT_ONCE) }, () => streams.tryAnother({ types: ['deployment.deployed'] })),
      );
      await Promise.all(opened.map((stream) => stream?.close()));
    }
  },
});

const AT_ONCE = 11;

/** Gives the agent time to subscribe its open streams, two seconds at most. */
export const passTime = (): Command => ({
  text: 'pass time',
  run: ({ subscribedMs }) => new Promise((resolve) => setTimeout(resolve, Math.min(subscribedMs, 2000))),
});

export const cutAndComeBack = (back: number, bytes: number): Command => ({
  text: `cut after ${bytes} bytes of a stream ${back} back, and come back`,
  async run(real) {
    const { ledger, streams } = real;
    const after = ledger.events.at(-1 - back)?.id ?? ledger.closed;
    const stream = await streams.tryAnother({ after, cutAfterBytes: bytes });
    if (stream === undefined) return;
    if (stream.status !== 200) return stream.close();
    const came = await streams.follow(stream).drain(ledger.closed);
    const last = came.at(-1)?.id ?? after;
    real.situation = 'cut';
    await real.open({ way: 'header', options: { lastEventId: last }, after: last });
    real.expectBeginning(came, after, last);
    await real.catchUp(ledger.closed);
    real.situation = 'plain';
    real.t.saw('clients that were cut off');
  },
});

export const leave = (which: number): Command => ({ text: `leave(${which})`, run: (real) => real.leave(which) });

export const openFuture = (beyond: bigint): Command => ({
  text: `open(after a retained id + ${beyond})`,
  async run(real) {
    const after = real.retained() + beyond;
    if (after <= real.ledger.newest) return;
    await real.open({ way: 'future', options: { after }, after });
  },
});

export const openExpired = (back: number, way: 'after' | 'header' | 'both', types?: readonly string[]): Command => ({
  text: `open(${way} ${back} before the earliest${types === undefined ? '' : `, types ${types.join(',')}`})`,
  isPossible: ({ ledger }) => ledger.gone.length > 0,
  async run(real) {
    const { ledger } = real;
    const { gone } = ledger;
    const old = gone.at(-back) ?? gone[0] ?? 0n;
    const retained = ledger.events.find(({ id }) => id >= ledger.earliest)?.id ?? ledger.closed;
    const cursor: OpenEvents =
      way === 'both' ? { after: old, lastEventId: retained } : way === 'header' ? { lastEventId: old } : { after: old };
    await real.open({ way, options: { ...cursor, ...(types !== undefined && { types }) }, after: old });
    // Expects a replay, because a valid `after` overrides an expired header.
    if (way === 'both') await real.open({ way, options: { after: retained, lastEventId: old }, after: retained });
    await real.catchUp(ledger.closed);
  },
});

/** Expects the same answer to cursor 0 in `after`, in the header and in both: 410, or all retained events. */
export const openZero = (): Command => ({
  text: 'open(after 0, alone, beside a header, and as a header)',
  async run(real) {
    const { t, ledger } = real;
    const ask = async (options: OpenEvents): Promise<{ shown: string; first?: bigint | undefined }> => {
      const stream = await real.streams.tryAnother(options);
      if (stream === undefined) return { shown: 'throttled' };
      if (stream.status !== 200) {
        await stream.close();
        return { shown: String(stream.status) };
      }
      const since = Date.now();
      const published = await publish(t, 1);
      const [event] = await real.streams.follow(stream).until(() => true, 'the first event after 0');
      await stream.close();
      await real.settle(published, since);
      const isReplay = event !== undefined && event.id < ledger.closed;
      return { shown: isReplay ? `event ${event.id}` : 'live events', first: event?.id };
    };
    const cursor = real.retained();
    const known = real.isKept(cursor) ? ledger.events.find(({ id }) => id > cursor)?.id : undefined;
    const alone = await ask({ after: 0n });
    if (known !== undefined && alone.first !== undefined && alone.first > known)
      real.departs('missing', {
        expected: `410, or a replay that begins with the earliest retained event (${known} is retained)`,
        actual: `the stream begins with event ${alone.first}`,
      });
    const beside = await ask({ after: 0n, lastEventId: ledger.closed });
    const header = await ask({ lastEventId: 0n });
    const repeated = await ask({ after: 0n });
    t.saw('cursors of zero');
    if (alone.shown !== repeated.shown) return;
    for (const [way, { shown }] of [['both', beside] as const, ['header', header] as const]) {
      if (shown === alone.shown || shown === 'throttled') continue;
      const form = way === 'both' ? 'after=0 beside a header' : 'Last-Event-ID: 0';
      const expected = `${alone.shown} for ${form}, as for after=0 alone`;
      real.departs('missing', { expected, actual: shown }, { ...real.witness, judged: 0, way });
    }
  },
});

export const ACCEPTS = ['text/event-stream', undefined, '*/*', 'text/event-stream;q=0.9, */*;q=0.1'] as const;
export const CODINGS = [undefined, 'identity', 'gzip, deflate, br', undefined] as const;
