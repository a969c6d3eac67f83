/** What can happen to the agent and its streams: one command a function, each drawn with the values that it takes. */
import fc from 'fast-check';
import type { OpenEvents } from '../../../harness/client/sse.ts';
import type { ControlDeployment, StopSignal } from '../../../harness/contract/control.ts';
import {
  DEPLOYMENT_ACTIVITY_STATUSES,
  DEPLOYMENT_ERROR_STATUSES,
  DEPLOYMENT_TARGET_STATUSES,
} from '../../../harness/contract/enums.ts';
import { AgentEnded, ControlError } from '../../../harness/targets/control/control.ts';
import { relocate, restart } from '../support/check.ts';
import { compact } from '../support/compaction.ts';
import { appendTo, type ConfigFile, compareFiles, configRoot, lastLine } from '../support/disk.ts';
import {
  eventBudget,
  ignoreRefusal,
  isDeployedEvent,
  payloadOf,
  publish,
  publishUnread,
  readUpToDeployed,
} from '../support/drive.ts';
import { mostEvents } from '../support/retention.ts';
import type { Asking, Reality } from './reality.ts';

export interface Command {
  /** As a counterexample shows it. */
  text: string;
  isPossible?(real: Reality): boolean;
  run(real: Reality): Promise<void>;
}

const can =
  (...needs: ('compact' | 'restart' | 'log' | 'files')[]) =>
  ({ t }: Reality): boolean =>
    needs.every((name) => t.capabilities.has(name));

/** Events one after the other. */
export const publishSome = (count: number): Command => ({
  text: `publish(${count})`,
  async run(real) {
    const since = Date.now();
    const published = await publish(real.t, Math.max(1, Math.min(count, eventBudget(real.t, count))));
    await real.settle(published, since);
  },
});

/** Two calls of control at once, while a stream is opened whose replay they run into. */
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
    const early = one.first < other.first ? one : other;
    const late = one.last > other.last ? one : other;
    // Events of calls that were made at once may lie between each other.
    t.saw('replays into bursts');
    await real.settle({ first: early.first, last: late.last, count: 2 * portion, at: late.at }, since);
  },
});

const askAfter = (after: bigint): Asking => ({ way: 'after', options: { after }, after });

/** How a stream is asked for, by what an observer has seen. */
export interface Opening {
  /** Counted back from the newest. */
  back: number;
  way: 'after' | 'header' | 'both' | 'none';
  /** Of the cursor that does not count. */
  other: number;
  types: 'all' | 'deployed' | 'removed' | 'both';
  accept: string | undefined;
  coding: string | undefined;
  used: boolean;
}

const TYPES = {
  all: undefined,
  deployed: ['deployment.deployed'],
  removed: ['deployment.removed'],
  both: ['deployment.removed', 'deployment.deployed'],
} as const;

export const openStream = (opening: Opening): Command => ({
  text: `open(${describeOpening(opening)})`,
  async run(real) {
    const { back, way, other, types, accept, coding, used } = opening;
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
    const http = used ? t.http.with({ keepsAlive: true }) : undefined;
    if (http !== undefined) await http.get('/deployments/current');
    await real.open({ way, options, after, http });
    await real.catchUp(ledger.closed);
  },
});

function describeOpening({ back, way, other, types, accept, coding, used }: Opening): string {
  const cursor = way === 'none' ? 'no cursor' : `${way} ${back} back${way === 'both' ? `, header ${other} back` : ''}`;
  const filter = types === 'all' ? '' : `, types ${types}`;
  return `${cursor}${filter}, accept ${accept ?? 'none'}, coding ${coding ?? 'none'}${used ? ', used connection' : ''}`;
}

export const PLAIN: Opening = {
  ...{ back: 3, way: 'after', other: 0, types: 'all' },
  ...{ accept: 'text/event-stream', coding: undefined, used: false },
};

/** So many streams are opened and left at once. */
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

/** Nothing happens for a while that is longer than any time may be off. */
export const passTime = (): Command => ({
  text: 'pass 0.3 s',
  run: () => new Promise((resolve) => setTimeout(resolve, PASSING_MS)),
});

const PASSING_MS = 300;

/** A client is cut off at any byte, and comes back with the last id that it saw whole. */
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
    await real.open({ way: 'header', options: { lastEventId: last }, after: last });
    real.expectBeginning(came, after, last);
    await real.catchUp(ledger.closed);
    real.t.saw('clients that were cut off');
  },
});

export const leave = (which: number): Command => ({ text: `leave(${which})`, run: (real) => real.leave(which) });

/** A cursor beyond the newest event: nothing that there was before may come. */
export const openFuture = (beyond: bigint): Command => ({
  text: `open(after a retained id + ${beyond})`,
  async run(real) {
    const after = real.retained() + beyond;
    if (after <= real.ledger.newest) return;
    await real.open({ way: 'future', options: { after }, after });
  },
});

/** Cursors near the earliest event, and expired ones beside valid ones. */
export const openExpired = (back: number, way: 'after' | 'header' | 'both', types?: readonly string[]): Command => ({
  text: `open(${way} ${back} before the earliest${types === undefined ? '' : `, types ${types.join(',')}`})`,
  isPossible: ({ ledger }) => ledger.events.some(({ id }) => id < ledger.earliest),
  async run(real) {
    const { ledger } = real;
    const gone = ledger.events.filter(({ id }) => id < ledger.earliest);
    const old = gone.at(-back)?.id ?? gone[0]?.id ?? 0n;
    const retained = ledger.events.find(({ id }) => id >= ledger.earliest)?.id ?? ledger.closed;
    const cursor: OpenEvents =
      way === 'both' ? { after: old, lastEventId: retained } : way === 'header' ? { lastEventId: old } : { after: old };
    await real.open({ way, options: { ...cursor, ...(types !== undefined && { types }) }, after: old });
    // The other way round the same header is of no account.
    if (way === 'both') await real.open({ way, options: { after: retained, lastEventId: old }, after: retained });
    await real.catchUp(ledger.closed);
  },
});

/** `after=0` means what it means, whatever the header says. */
export const openZero = (): Command => ({
  text: 'open(after 0, alone and beside a header)',
  async run(real) {
    const { t, ledger } = real;
    const firsts: string[] = [];
    const ask = async (options: OpenEvents): Promise<string> => {
      const stream = await real.streams.tryAnother(options);
      if (stream === undefined) return 'throttled';
      if (stream.status !== 200) {
        await stream.close();
        return String(stream.status);
      }
      const since = Date.now();
      const published = await publish(t, 1);
      const [event] = await real.streams
        .follow(stream)
        .until(({ id }) => id <= published.last || true, 'the first event after 0');
      await stream.close();
      await real.settle(published, since);
      return event !== undefined && event.id <= ledger.closed - 1n ? `event ${event.id}` : 'live events';
    };
    for (const options of [{ after: 0n }, { after: 0n, lastEventId: ledger.closed }, { after: 0n }])
      firsts.push(await ask(options));
    const [alone, both, again] = firsts;
    if (alone === again && alone !== both && both !== 'throttled')
      real.departs(
        'missing',
        { expected: `${alone} for after=0 beside a header, as without`, actual: `${both}` },
        {
          ...real.witness,
          way: 'both',
        },
      );
  },
});

/** Old events go; streams that are open lose nothing. `isLast`: nothing is published after it. */
export const compactLog = ({ isLast = false } = {}): Command => ({
  text: isLast ? 'compact(), and nothing after it' : 'compact()',
  isPossible: can('compact'),
  async run(real) {
    const { t, ledger } = real;
    const { earliest, latest } = await compact(t);
    if (earliest > latest)
      real.remarks('log emptied', {
        expected: 'an event that is left after compaction, so that a client that is a little behind can catch up',
        actual: 'an empty log',
      });
    if (earliest > ledger.earliest) ledger.earliest = earliest;
    t.saw('compactions survived');
    if (t.info.compact_restarts === true) return comeBack(real);
    if (isLast) return;
    real.situation = 'compaction';
    await publishSome(3).run(real);
    real.situation = 'plain';
  },
});

/** Events that were seen go: so many are published, with no stream open, that the oldest are no longer kept. */
export const compactAway = (): Command => ({
  text: 'publish and compact until events are gone',
  isPossible: can('compact'),
  async run(real) {
    const { t, ledger } = real;
    await real.closeAll();
    const many = Math.min(MOST_AT_ONCE, (t.info.retention ?? USUAL_RETENTION) + 1);
    for (let tries = 0; tries < 2; tries += 1) {
      if (!t.session.isMostlySlow('publish')) ledger.skipTo((await publishUnread(t, many)).last);
      await compactLog({ isLast: true }).run(real);
      if (ledger.events.filter(({ id }) => id < ledger.earliest).length > 1) break;
    }
    if (real.clients.length === 0) await real.openStaying(ledger.closed);
    await publishSome(3).run(real);
  },
});

const MOST_AT_ONCE = 2001;
const USUAL_RETENTION = 500;

/** Every stream has ended; two are opened again, one of which replays as much as is retained. */
async function comeBack(real: Reality): Promise<void> {
  const { t } = real;
  await real.endStreams();
  real.streams.use(await relocate(t));
  await replayAll(real);
}

async function replayAll(real: Reality): Promise<void> {
  await real.openStaying(real.retained());
  await publishSome(1).run(real);
  await real.current.look({ restarted: true });
  await real.current.expectFiles();
}

/** The agent ends and comes back: what anyone has seen is there afterwards, once, as it was. */
export const restartAgent = (signal: StopSignal): Command => ({
  text: `restart(${signal})`,
  isPossible: can('restart'),
  run: (real) =>
    during(real, signal === 'SIGTERM' ? 'restart' : 'kill', (whileDown) => restart(real.t, signal, whileDown)),
});

/** Killed while events are published and streams read them. */
export const killWhilePublishing = (count: number, delayMs: number): Command => ({
  text: `kill ${delayMs} ms into publishing ${count}`,
  isPossible: can('restart'),
  async run(real) {
    const { t } = real;
    const portion = Math.max(1, Math.ceil(eventBudget(t, Math.min(count, mostEvents(t))) / 4));
    const cut = Promise.all(
      Array.from({ length: 4 }, () =>
        publish(t, portion).catch((error: unknown) => {
          if (!(error instanceof ControlError)) throw error;
        }),
      ),
    );
    cut.catch(() => {});
    await new Promise((resolve) => setTimeout(resolve, delayMs));
    await during(real, 'kill', (whileDown) =>
      restart(t, 'SIGKILL', async () => {
        await cut;
        await whileDown();
      }),
    );
  },
});

/** The log ends with a part of the line that would have come next, as a crash leaves it. */
export const tearTail = (share: number): Command => ({
  text: `tear(${Math.round(share * 100)} % of the next line)`,
  isPossible: can('restart', 'log'),
  async run(real) {
    const { t } = real;
    await during(real, 'tear', (whileDown) =>
      restart(t, 'SIGTERM', async () => {
        await whileDown();
        real.tornAfter.push(real.ledger.newest);
        const next = nextLine(await lastLine(t));
        await appendTo(t, next.subarray(0, 1 + Math.floor(share * (next.length - 3))));
      }),
    );
  },
});

/** The line of the event after the last one: its id is one more wherever it stands. */
function nextLine(line: Buffer): Buffer {
  const text = line.toString('utf8');
  const id = /"id"\s*:\s*(\d+)/.exec(text)?.[1];
  if (id === undefined || line.length < 4) return Buffer.from('{"object":"event","id":1}\n');
  return Buffer.from(text.replaceAll(new RegExp(`(?<![\\d.])${id}(?![\\d.])`, 'g'), String(BigInt(id) + 1n)));
}

const SEEN = { restart: 'restarts survived', kill: 'kills survived', tear: 'torn lines survived' };

async function during(
  real: Reality,
  situation: 'restart' | 'kill' | 'tear',
  restarting: (whileDown: () => Promise<void>) => Promise<Awaited<ReturnType<typeof restart>>>,
): Promise<void> {
  real.situation = situation;
  try {
    const http = await restarting(() => real.endStreams());
    real.streams.use(http);
  } catch (error) {
    if (!(error instanceof AgentEnded)) throw error;
    real.departs('not started', { expected: 'an agent that starts again', actual: error.message });
  }
  await replayAll(real);
  real.t.saw(SEEN[situation]);
  real.situation = 'plain';
}

/** A deployment in any state, with files. */
export const deploy = (request: ControlDeployment): Command => ({
  text: `deploy(${JSON.stringify(request)})`,
  async run(real) {
    const { t, current, ledger } = real;
    const files: ConfigFile[] = t.capabilities.has('files') ? [...(request.config_instances ?? [])] : [];
    const { config_instances: _, ...rest } = request;
    const since = Date.now();
    const made = await t.control
      .deploy({ ...rest, ...(files.length > 0 && { config_instances: files }) })
      .catch(ignoreRefusal);
    if (made === undefined) return current.look();
    t.saw('deployments');
    const isDeployed =
      made.activity_status === 'deployed' && made.target_status === 'deployed' && made.error_status !== 'failed';
    await current.made(request, made, since);
    current.files = isDeployed ? files : [];
    if (isDeployed) {
      await readUpToDeployed(real.witness.subscription, made);
      real.learn();
      if (files.length > 0) {
        t.saw('deployments with files');
        const { lost, altered } = await compareFiles(t, configRoot(t), files);
        if (lost.length > 0)
          real.departs('file', { expected: `every config file of ${made.id}`, actual: lost.join('; ') });
        if (altered.length > 0)
          real.remarks('file', {
            expected: `the config files of ${made.id} as they were given`,
            actual: altered.join('; '),
          });
      }
    }
    // Its event is the first that streams without a cursor are owed.
    const born = ledger.events.find(({ id }) => id > ledger.closed)?.id;
    await real.settle(await publish(t, 1), since, born);
    const told = ledger.events.filter((event) => isDeployedEvent(event, made.id));
    const [first] = told;
    if (isDeployed && first !== undefined) current.expectPayload(first, request, made, since);
    if (isDeployed && told.length > 1 && !current.moves)
      real.remarks('deployed twice', {
        expected: `one deployment.deployed of ${made.id}`,
        actual: `${told.length}`,
      });
    const toldAs = first && payloadOf(first)['activity_status'];
    const isEarly = toldAs !== 'deployed' && toldAs === made.activity_status;
    if (!isDeployed && first !== undefined && (!current.moves || isEarly))
      real.departs('deployed unasked', {
        expected: `no deployment.deployed of ${made.id}, which is ${made.activity_status}`,
        actual: first.text.slice(0, 300),
      });
    await current.look();
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
    if (gone === undefined) return current.look();
    await current.removed(id);
    t.saw('removals');
    await publishSome(1).run(real);
    await current.look();
  },
});

export const readCurrent = (): Command => ({ text: 'current()', run: ({ current }) => current.look() });

const text = fc.oneof(
  fc.constantFrom('', 'a & b < c', 'größe 😀 日本', 'two\nlines', '\u2028', '99', '100'),
  fc.stringMatching(/^[a-z ]{1,20}$/),
);

/** Contents of the same length, at few paths. */
const files = (paths: readonly string[]) =>
  fc
    .subarray([...paths], { minLength: 0 })
    .chain((chosen) =>
      fc.tuple(
        ...chosen.map((filepath) =>
          fc.integer({ min: 100, max: 999 }).map((n) => ({ filepath, content: `{"version":${n}}` })),
        ),
      ),
    );

const wanted = (paths: readonly string[]): fc.Arbitrary<ControlDeployment> =>
  fc.record(
    {
      description: text,
      release_id: fc.stringMatching(/^rls_[a-z0-9]{12}$/),
      target_status: fc.constantFrom(...DEPLOYMENT_TARGET_STATUSES),
      activity_status: fc.constantFrom(...DEPLOYMENT_ACTIVITY_STATUSES),
      error_status: fc.constantFrom(...DEPLOYMENT_ERROR_STATUSES),
      config_instances: files(paths),
    },
    { requiredKeys: [] },
  );

export const ACCEPTS = ['text/event-stream', undefined, '*/*', 'text/event-stream;q=0.9, */*;q=0.1'] as const;
export const CODINGS = [undefined, 'identity', 'gzip, deflate, br', undefined] as const;

const opening: fc.Arbitrary<Opening> = fc.record({
  back: fc.nat({ max: 20 }),
  way: fc.constantFrom('after', 'header', 'both', 'none'),
  other: fc.nat({ max: 20 }),
  types: fc.constantFrom('all', 'all', 'deployed', 'removed', 'both'),
  accept: fc.constantFrom(...ACCEPTS),
  coding: fc.constantFrom(...CODINGS),
  used: fc.boolean(),
});

/** Anything that can happen; what takes long is drawn seldom. */
export function anyCommand(paths: readonly string[]): fc.Arbitrary<Command> {
  return fc.oneof(
    { weight: 5, arbitrary: fc.integer({ min: 1, max: 12 }).map(publishSome) },
    { weight: 6, arbitrary: opening.map(openStream) },
    { weight: 3, arbitrary: fc.nat({ max: 7 }).map(leave) },
    { weight: 2, arbitrary: fc.tuple(fc.nat({ max: 15 }), fc.nat({ max: 2500 })).map((all) => cutAndComeBack(...all)) },
    { weight: 4, arbitrary: wanted(paths).map(deploy) },
    { weight: 1, arbitrary: fc.constant(removeCurrent()) },
    {
      weight: 2,
      arbitrary: fc
        .tuple(fc.integer({ min: 10, max: 60 }), fc.integer({ min: 1, max: 4 }))
        .map((all) => burstIntoReplay(...all)),
    },
    { weight: 1, arbitrary: fc.constantFrom(1n, 2n ** 32n, 2n ** 53n, 1_000_000n).map(openFuture) },
    { weight: 1, arbitrary: fc.constant(compactLog()) },
    {
      weight: 2,
      arbitrary: fc
        .tuple(fc.integer({ min: 2, max: 6 }), fc.constantFrom('after', 'header', 'both'))
        .map(([back, way]) => openExpired(back, way)),
    },
  );
}
