import { pollWithin } from '../../../harness/common/waiting.ts';
import type { StopSignal } from '../../../harness/contract/control.ts';
import { AgentEnded, ControlError } from '../../../harness/targets/control/control.ts';
import { StartFailed } from '../../../harness/targets/launch/started.ts';
import { compact, ignoring, restart, timeoutMs } from '../support/check.ts';
import { appendTo, lastLine } from '../support/disk.ts';
import { countWithin, publish, publishUnread } from '../support/drive.ts';
import { eventsOf } from '../support/events.ts';
import { sampleRetained } from '../support/replays.ts';
import { currentDeployment } from '../support/requests.ts';
import { mostEvents } from '../support/retention.ts';
import { type Command, hasCapabilities, publishSome } from './commands.ts';
import { isUnsettled } from './current.ts';
import { Departure, type Reality } from './reality.ts';

export const compactLog = ({ isLast = false } = {}): Command => ({
  text: isLast ? 'compact(), and nothing after it' : 'compact()',
  isPossible: hasCapabilities('compact'),
  async run(real) {
    const { t, ledger } = real;
    const { earliest, latest } = await compact(t);
    const expected = 'an event that is left after compaction, so that a client that is a little behind can catch up';
    if (earliest > latest) real.remarks('log emptied', { expected, actual: 'an empty log' });
    if (earliest > ledger.earliest) ledger.earliest = earliest;
    if (latest > ledger.closed) ledger.skip({ first: ledger.closed + 1n, last: latest, count: 0 });
    // Tries an expired cursor now, because a later compaction would hide a failure of this one.
    const after = ledger.gone.findLast((id) => ledger.fate(id) === 'expired');
    if (after !== undefined) await real.open({ way: 'after', options: { after }, after });
    if (t.info.compact_restarts === true) {
      await real.endStreams();
      await replayAll(real);
    } else {
      if (isLast) return;
      real.situation = 'compaction';
      await publishSome(3).run(real);
      real.situation = 'plain';
    }
    t.saw('compactions survived');
  },
});

export const compactAway = (): Command => ({
  text: 'publish and compact until events are gone',
  isPossible: hasCapabilities('compact'),
  async run(real) {
    const { t, ledger } = real;
    await real.closeAll();
    const { retention = USUAL_RETENTION } = t.info;
    const isLong = retention > LONG_LOG;
    const oldest = isLong ? await sampleRetained(t, real.streams, OLDEST_BYTES) : undefined;
    if (oldest !== undefined) ledger.oldest = eventsOf(t, oldest.stream).map(({ id }) => id);
    let published = 0;
    for (let wanted = isLong ? FIRST_BATCH : retention + 1; published <= 2 * retention; wanted *= 2) {
      const many = countWithin(wanted, t.session.typicalMs('publish'), FILLING_MS);
      if (!t.session.publishesSlowly) {
        const unread = await publishUnread(t, many);
        await expectNoGap(real, ledger.closed, unread.first);
        ledger.skip(unread);
        const left = unread.last - unread.first + 1n;
        const [expected, actual] = [`ids for ${many} events from ${unread.first} on`, `${left} up to ${unread.last}`];
        if (left < many) real.departs('missing', { expected, actual });
      }
      published += many;
      await compactLog({ isLast: true }).run(real);
      if (many < wanted || ledger.gone.length > 1) break;
    }
    if (real.clients.length === 0) await real.openStaying(ledger.closed);
    if (ledger.earliest > 0n && ledger.earliest <= ledger.closed) await openAtBoundary(real);
    await publishSome(3).run(real);
  },
});

/** Expects a replay to begin no later than at event `next`; asks twice, because the agent may compact just then. */
async function expectNoGap(real: Reality, after: bigint, next: bigint, triesLeft = 1): Promise<void> {
  const stream = await real.streams.tryAnother({ after, cutAfterBytes: OLDEST_BYTES });
  if (stream?.status !== 200) return await stream?.close();
  const [first] = await real.streams.follow(stream).drain(next);
  if (after === 0n || first === undefined || first.id <= next) return;
  if (triesLeft > 0) return expectNoGap(real, after, next, triesLeft - 1);
  const expected = `410 for after=${after}, or a replay that holds event ${next}`;
  real.departs('served though gone', { expected, actual: `200, and event ${first.id} first` });
}

/** Retention in events above which growing batches fill the log, because it may be nearly full already. */
const LONG_LOG = 2000;
const FIRST_BATCH = 101;
const OLDEST_BYTES = 10_000;
const USUAL_RETENTION = 500;
const FILLING_MS = 20_000;

async function openAtBoundary(real: Reality, triesLeft = 2): Promise<void> {
  const { ledger } = real;
  const after = ledger.earliest;
  // Maximum number of events in one replay; more take too long.
  const cut = ledger.closed - after < 2500n ? {} : { cutAfterBytes: 1 };
  // Only looks at the status of a filtered stream, because the types of unread events are unknown.
  const filtered = { after, types: ['deployment.removed'], cutAfterBytes: 1 };
  const { closed } = ledger;
  for (const options of [{ after, ...cut }, { lastEventId: after, ...cut }, filtered]) {
    try {
      await real.open({ way: 'after' in options ? 'after' : 'header', options, after });
    } catch (error) {
      if (!(error instanceof Departure)) throw error;
      // An event of the agent's own, e.g. of a deployment that failed, may have displaced the oldest one meanwhile.
      const since = Date.now();
      const published = await publish(real.t, 1);
      await real.settle(published, since);
      if (ledger.owed({ after: closed, upTo: published.first - 1n }).length === 0) throw error;
      if (triesLeft === 0) return;
      await compactLog({ isLast: true }).run(real);
      return openAtBoundary(real, triesLeft - 1);
    }
  }
  if (ledger.unread({ after, upTo: ledger.closed }).length > 0) {
    // Reads before anything is published, because each event may displace the oldest one.
    real.situation = 'compaction';
    await real.catchUp(ledger.closed);
    real.situation = 'plain';
  }
  for (const before of [2n, 3n, 4n].map((distance) => after - distance))
    if (ledger.fate(before) === 'expired') await real.open({ way: 'after', options: { after: before }, after: before });
}

async function replayAll(real: Reality): Promise<void> {
  await real.openStaying(real.retained());
  await publishSome(1).run(real);
  await real.current.expectUnchanged({ restarted: true });
  await real.current.expectFiles();
}

export const restartAgent = (signal: StopSignal, counted?: string): Command => ({
  text: `restart(${signal})`,
  isPossible: hasCapabilities('restart'),
  async run(real) {
    const { t } = real;
    await real.current.expectUnchanged({ isEarly: true });
    await during(real, signal === 'SIGTERM' ? 'restart' : 'kill', async (whileDown) => {
      await restart(t, signal, whileDown);
      // Waits for the deployment, because an agent may load it late, or apply it again.
      const loaded = async () => {
        const body = await currentDeployment(t);
        return (body !== undefined && (real.current.mayChange || !isUnsettled(body))) || undefined;
      };
      const wait = { timeoutMs: real.subscribedMs, signal: t.signal };
      if (real.current.id !== undefined) await pollWithin('the deployment', loaded, wait);
      // Looks before an event is published, because control may publish by a new deployment.
      await real.current.expectUnchanged({ restarted: true, isEarly: true });
    });
    if (counted !== undefined) t.saw(counted);
  },
});

/** Kills at the first event, because a timer of a busy machine may fire after all events. */
export const killWhilePublishing = (count: number): Command => ({
  text: `kill as the first of up to ${count} events comes`,
  isPossible: hasCapabilities('restart'),
  async run(real) {
    const { t } = real;
    const { stream } = real.witness.subscription;
    const seen = { frames: stream.frames.length, comments: Number.POSITIVE_INFINITY };
    const each = Math.max(1, Math.ceil(Math.min(count, mostEvents(t)) / 4));
    let isDown = false;
    // Publishes until the kill, so that an event was sent just before the kill.
    const publishOn = async (): Promise<void> => {
      for (let published = 0; published < each && !isDown; published += 1) await publish(t, 1);
    };
    const cut = Promise.all(Array.from({ length: 4 }, () => publishOn().catch(ignoring(ControlError))));
    cut.catch(() => {});
    await stream.activity(seen, { within: timeoutMs(t, 'event'), for: 'an event that is published' }).catch(() => {});
    await during(real, 'kill', (whileDown) =>
      restart(t, 'SIGKILL', async () => {
        isDown = true;
        await cut;
        await whileDown();
      }),
    );
  },
});

export const tearTail = (share: number): Command => ({
  text: `tear(${Math.round(share * 100)} % of the next line)`,
  isPossible: hasCapabilities('restart', 'log'),
  async run(real) {
    const { t } = real;
    let rest: Buffer = Buffer.alloc(0);
    const restarting = (whileDown: () => Promise<void>) =>
      restart(t, 'SIGTERM', async () => {
        await whileDown();
        real.tornAfter.push(real.ledger.newest);
        const next = nextLine(await lastLine(t));
        const torn = 1 + Math.floor(share * (next.length - 2));
        rest = next.subarray(torn);
        await appendTo(t, next.subarray(0, torn));
      });
    await during(real, 'tear', restarting, () => appendTo(t, rest));
  },
});

function nextLine(line: Buffer): Buffer {
  const text = line.toString('utf8');
  const id = /"id"\s*:\s*(\d+)/.exec(text)?.[1];
  if (id === undefined || line.length < 4) return Buffer.from('{"object":"event","id":1}\n');
  return Buffer.from(text.replaceAll(new RegExp(`(?<![\\d.])${id}(?![\\d.])`, 'g'), String(BigInt(id) + 1n)));
}

/** Restarts the agent. `repair`: completes a torn log after a failed start. `hung`: error of the first failed start. */
async function during(
  real: Reality,
  situation: 'restart' | 'kill' | 'tear',
  restarting: (whileDown: () => Promise<void>) => Promise<void>,
  repair: () => Promise<void> = async () => {},
  hung?: unknown,
): Promise<void> {
  real.situation = situation;
  // Milliseconds after which streams are closed, because an agent that ends in order may wait for their end.
  const closing = situation === 'kill' ? undefined : setTimeout(() => void real.closeAll(), 2000);
  try {
    await restarting(() => {
      clearTimeout(closing);
      return real.endStreams();
    });
  } catch (error) {
    const isEnd = error instanceof AgentEnded;
    if (!(error instanceof ControlError) || !(isEnd || (situation === 'tear' && error.cause instanceof StartFailed)))
      throw error;
    if (!isEnd) await real.t.control.stop('SIGKILL');
    await repair();
    await real.t.control.start();
    // Tears the log once more after a first failed start, because a busy machine may start an agent late.
    if (!isEnd && hung === undefined) return await during(real, situation, restarting, repair, error);
    real.departs('not started', { expected: 'an agent that starts again', actual: error.message });
  } finally {
    clearTimeout(closing);
  }
  if (hung !== undefined) throw hung;
  await replayAll(real);
  real.t.saw({ restart: 'restarts survived', kill: 'kills survived', tear: 'torn lines survived' }[situation]);
  real.situation = 'plain';
}
