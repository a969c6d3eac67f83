import { setTimeout as sleep } from 'node:timers/promises';
import type { Form } from '../../../harness/client/equivalent-forms.ts';
import type { OpenEvents } from '../../../harness/client/sse.ts';
import { defined } from '../../../harness/common/defined.ts';
import type { ControlDeployment } from '../../../harness/contract/control.ts';
import { compact, type Device } from '../support/check.ts';
import { type ConfigFile, differencesBelowRoot } from '../support/disk.ts';
import {
  eventBudget,
  ignoreRefusal,
  isDeployedEvent,
  type Published,
  payloadOf,
  publish,
  publishUnread,
  readUpToDeployed,
} from '../support/drive.ts';
import type { SeenEvent } from '../support/events.ts';
import { CURRENT, isThrottled, request } from '../support/requests.ts';
import { mostEvents } from '../support/retention.ts';
import { judgeStream } from './model.ts';
import type { Reality } from './reality.ts';

export interface Command {
  text: string;
  isPossible?(real: Reality): boolean;
  run(real: Reality): Promise<void>;
}

export const hasCapabilities =
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

const hasRoom = ({ t }: Reality): boolean => mostEvents(t) >= 4;
const burstOf = (t: Device, count: number): number =>
  Math.max(1, Math.floor(eventBudget(t, Math.min(count, mostEvents(t) / 4))));

/** `portions`: calls of publish on each of two lanes, so that events come until the last stream has opened. */
export const burstIntoReplay = (count: number, streams: number, portions = 1, unfiltered = 2): Command => ({
  text: `publish twice ${portions * count} while ${streams} streams open, ${unfiltered} of them without types`,
  isPossible: hasRoom,
  async run(real) {
    const { t } = real;
    const since = Date.now();
    const most = burstOf(t, portions * count);
    const portion = Math.ceil(most / portions);
    const after = real.retained();
    const lane = async (): Promise<Published[]> => {
      const all: Published[] = [];
      for (let left = most; left >= portion; left -= portion) all.push(await publish(t, portion));
      return all;
    };
    const bursts = Promise.all([lane(), lane()]);
    bursts.catch(() => {});
    for (let n = 0; n < streams; n += 1) {
      const [way, cursor] =
        n % 2 === 0 ? (['after', { after }] as const) : (['header', { lastEventId: after }] as const);
      await real.open({ way, options: { ...cursor, ...(n >= unfiltered && { types: TYPES.both }) }, after });
    }
    const all = (await bursts).flat();
    const { first } = all.reduce((one, other) => (one.first < other.first ? one : other));
    const { last, at } = all.reduce((one, other) => (one.last > other.last ? one : other));
    if (real.clients.some(({ stays, judged }) => !stays && judged === 0)) t.saw('replays into bursts');
    // Settles all calls as one range of events, because a device may interleave or merge concurrent calls.
    await real.settle({ first, last, count: Math.min(all.length * portion, Number(last - first) + 1), at }, since);
  },
});

/** Closes all streams first, because a lagging one may end, and then find its next events compacted away. */
export const compactIntoBurst = (): Command => ({
  text: 'publish 60 while the log is compacted',
  isPossible: (real) => hasRoom(real) && hasCapabilities('compact')(real) && real.t.info.compact_restarts !== true,
  async run(real) {
    const { t, ledger } = real;
    await real.closeAll();
    const publishing = publishUnread(t, burstOf(t, 60)).catch(ignoreRefusal);
    const [left] = await Promise.all([compact(t).catch(ignoreRefusal), publishing]);
    const { earliest } = left ?? ledger;
    if (earliest > ledger.earliest) ledger.earliest = earliest;
    if (earliest > ledger.closed) ledger.skip({ first: ledger.closed + 1n, last: earliest, count: 0 });
    await real.openStaying(ledger.closed);
    await publishSome(1).run(real);
  },
});

/** Stream whose cursor lies `back` events before the newest one. */
export interface Opening {
  back: number;
  way: 'after' | 'header' | 'both' | 'none';
  /** With `way: 'both'`, how many events back Last-Event-ID points; a text is a malformed id, refused or ignored. */
  other: number | string;
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
  near: ['deployment.removed', 'deployment.deployed_late', 'deployment.deploy', 'xdeployment.deployed'],
  unknown: ['robot.rebalanced'],
} as const;

export function openStream({ back, way, other, types, accept, coding, used, form }: Opening): Command {
  const header = typeof other === 'number' ? `${other} back` : other;
  const cursor = way === 'none' ? 'no cursor' : `${way} ${back} back${way === 'both' ? `, header ${header}` : ''}`;
  const filter = types === 'all' ? '' : `, types ${types}`;
  const how = [...(used ? ['used connection'] : []), ...(form === undefined ? [] : [form.name])];
  return {
    text: `open(${[cursor + filter, `accept ${accept ?? 'none'}`, `coding ${coding ?? 'none'}`, ...how].join(', ')})`,
    async run(real) {
      const { ledger, t } = real;
      const after = way === 'none' ? ledger.closed : ledger.cursorAt(back);
      const beside = typeof other === 'number' ? ledger.cursorAt(other) : other;
      const options: OpenEvents = {
        ...(way === 'after' || way === 'both' ? { after } : {}),
        ...(way === 'header' ? { lastEventId: after } : way === 'both' ? { lastEventId: beside } : {}),
        ...defined({ types: TYPES[types] }),
        headers: { accept, 'accept-encoding': coding },
      };
      const http = t.http.with({ keepsAlive: used, form });
      if (used) await request(t, { path: CURRENT }, 'an answer before the connection is used again', http);
      await real.open({
        way,
        options,
        after,
        http,
        mayRefuse: types === 'near' || types === 'unknown' || typeof other === 'string',
      });
      await real.catchUp(ledger.closed);
    },
  };
}

export const PLAIN: Opening = {
  back: 3,
  way: 'after',
  other: 0,
  types: 'all',
  accept: 'text/event-stream',
  coding: undefined,
  used: false,
  form: undefined,
};

export const passTime = (): Command => ({
  text: 'pass time',
  run: ({ subscribedMs }) => sleep(Math.min(subscribedMs, 2000)),
});

export const cutAndComeBack = (back: number, bytes: number): Command => ({
  text: `cut after ${bytes} bytes of a stream ${back} back, and come back`,
  async run(real) {
    const { ledger, streams } = real;
    let after = ledger.cursorAt(back);
    const open = async () =>
      after < ledger.closed ? await streams.tryAnother({ after, cutAfterBytes: bytes }) : undefined;
    let stream = await open();
    if (stream?.status === 410) {
      await stream.close();
      after = real.retained();
      stream = await open();
    }
    if (stream?.status !== 200) return await stream?.close();
    const came = await streams.follow(stream).drain(ledger.closed);
    const last = came.at(-1)?.id ?? after;
    real.situation = 'cut';
    await real.open({ way: 'header', options: { lastEventId: last }, after: last });
    const difference = judgeStream(ledger, came, { after, upTo: last });
    if (difference !== undefined) real.departs(difference.kind, difference);
    await real.catchUp(ledger.closed);
    real.situation = 'plain';
    real.t.saw('clients that were cut off');
  },
});

export const leave = (which: number): Command => ({ text: `leave(${which})`, run: (real) => real.leave(which) });

export const openFuture = (beyond: bigint, way: 'after' | 'header' = 'after'): Command => ({
  text: `open(${way} a retained id + ${beyond})`,
  async run(real) {
    const after = real.retained() + beyond;
    if (after <= real.ledger.newest) return;
    await real.open({ way: 'future', options: way === 'after' ? { after } : { lastEventId: after }, after });
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

export const openZero = (): Command => ({
  text: 'open(after 0, alone, beside a header, and as a header)',
  async run(real) {
    const { t, ledger } = real;
    const ask = async (options: OpenEvents): Promise<{ shown: string; first?: bigint | undefined }> => {
      let stream = await real.streams.tryAnother(options);
      if (stream === undefined && (await real.streams.makeRoom())) stream = await real.streams.try(options);
      if (stream === undefined) return { shown: 'throttled' };
      if (stream.status !== 200) {
        await stream.close();
        return { shown: isThrottled(stream) ? 'throttled' : String(stream.status) };
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
    if (alone.shown !== 'throttled') t.saw('cursors of zero');
    if (alone.shown !== repeated.shown) return;
    for (const [way, { shown }] of [['both', beside] as const, ['header', header] as const]) {
      if (shown === alone.shown || shown === 'throttled') continue;
      const form = way === 'both' ? 'after=0 beside a header' : 'Last-Event-ID: 0';
      const expected = `${alone.shown} for ${form}, as for after=0 alone`;
      real.departs('missing', { expected, actual: shown }, { ...real.witness, judged: 0, way });
    }
  },
});

export const UNDEPLOYED = 'deployments that are not deployed';

export const deploy = (request: ControlDeployment): Command => ({
  text: `deploy(${JSON.stringify(request)})`,
  async run(real) {
    const { t, current, ledger } = real;
    const files: ConfigFile[] = t.capabilities.has('files') ? [...(request.config_instances ?? [])] : [];
    const { config_instances: _, ...rest } = request;
    const since = Date.now();
    current.removed = [];
    if ((rest.activity_status ?? 'deployed') !== 'deployed') t.saw(`${UNDEPLOYED} asked for`);
    const made = await t.control
      .deploy({ ...rest, ...(files.length > 0 && { config_instances: files }) })
      .catch(ignoreRefusal);
    if (made === undefined) return current.expectUnchanged({ isRefused: true });
    t.saw('deployments');
    const isDeployed =
      made.activity_status === 'deployed' && made.target_status === 'deployed' && made.error_status !== 'failed';
    await current.expectMade(made, since);
    if (!isDeployed) current.files = [];
    else {
      await readUpToDeployed(real.witness.subscription, made);
      real.learn();
      if (t.capabilities.has('files')) await current.expectReplaced(files);
      const found = files.length > 0 ? await differencesBelowRoot(t, files) : undefined;
      if (found === undefined) current.files = [];
      else {
        t.saw('deployments with files');
        const { lost, altered } = found;
        const missing = { expected: `every config file of ${made.id}`, actual: lost.join('; ') };
        // Only warns after an error, because a device that retries may still write files.
        if (lost.length > 0 && made.error_status === 'none') real.departs('file', missing);
        if (lost.length > 0) real.remarks('file', missing);
        const changed = { expected: `the config files of ${made.id} as they were given`, actual: altered.join('; ') };
        if (altered.length > 0) real.remarks('file', changed);
      }
    }
    // First event of this deployment, from which a stream without a cursor must carry every event.
    const isOfNow = ({ envelope }: SeenEvent): boolean =>
      real.isWithin('occurred_at', envelope?.['occurred_at'], { since, until: Date.now() }, false);
    const born = ledger.events.find((event) => event.id > ledger.closed && isOfNow(event))?.id;
    await real.settle(await publish(t, 1), since, born);
    const announced = ledger.events.filter((event) => isDeployedEvent(event, made.id));
    const [first] = announced;
    if (isDeployed && first !== undefined) await current.expectPayload(first, made, since);
    const repeated = { expected: `one deployment.deployed of ${made.id}`, actual: `${announced.length}` };
    if (isDeployed && announced.length > 1 && !current.mayChange) real.remarks('deployed twice', repeated);
    const announcedAs = first && payloadOf(first)['activity_status'];
    const isEarly = announcedAs !== 'deployed' && announcedAs === made.activity_status;
    // Allows an event of an archived deployment, which may have been deployed before.
    const mayHaveBeen = made.activity_status === 'archived' && announcedAs === 'deployed';
    if (!isDeployed && first !== undefined && !mayHaveBeen && (!current.mayChange || isEarly))
      real.departs('deployed unasked', {
        expected: `no deployment.deployed of ${made.id}, which is ${made.activity_status}`,
        actual: first.text.slice(0, 300),
      });
    if (!['deployed', 'archived'].includes(made.activity_status)) t.saw(UNDEPLOYED);
    await current.expectUnchanged();
  },
});

export const removeCurrent = (): Command => ({
  text: 'remove()',
  isPossible: ({ current }) => current.id !== undefined,
  async run(real) {
    const { t, current } = real;
    const { id } = current;
    if (id === undefined) return;
    const gone = await t.control.remove(id).catch(ignoreRefusal);
    if (gone === undefined) return current.expectUnchanged({ isRefused: true });
    await current.expectRemoved(id);
    t.saw('removals');
    await publishSome(1).run(real);
    await current.expectUnchanged();
  },
});

export const readCurrent = (): Command => ({ text: 'current()', run: ({ current }) => current.expectUnchanged() });
