/** Section 6.2, rule 5: events are stored, so they outlive the agent's process, however that ends. */
import fc from 'fast-check';
import type { HttpClient } from '../../harness/client/http.ts';
import { AgentEnded } from '../../harness/targets/control/control.ts';
import { byOracle } from './oracle/checks.ts';
import { CURRENT_SHOWN, type Device, LIVE, restart } from './support/check.ts';
import { appendTo, lastLine } from './support/disk.ts';
import { eventBudget, publish, publishEveryEventKind, readUpTo, subscribeAtKnownCursor } from './support/drive.ts';
import { distinct, expectSameEvents, type SeenEvent } from './support/events.ts';
import { laterThan, openRetained } from './support/replays.ts';
import { retainedFrom } from './support/retention.ts';
import { section } from './support/section.ts';
import { describeOpen, type Streams } from './support/streams.ts';

export const { requirement, check, checks } = section({ section: '6.2', since: '2026-11-21' });

const survives = requirement({
  id: 'device.log.restart',
  level: 'MUST',
  clause: 'Events are stored on the device as JSONL.',
  text: 'After a restart ids go on, none is reused, and retained events replay as before.',
});
check(survives, { needs: ['drive', 'restart'], profile: 'core', premises: LIVE }, async (t: Device, streams) => {
  const { cursor, live } = await subscribeAtKnownCursor(t, streams);
  await publishEveryEventKind(t);
  await readUpTo(live, await publish(t, eventBudget(t, 10)));
  let before = distinct(live.events);
  for (let round = 0; round < t.session.rounds(2); round += 1) {
    const http = await restart(t);
    const { events, first, after } = await publishAndReplay(t, streams, http, { cursor, seen: before, count: 3 });
    expectContinuedIds(t, first, before);
    expectSameEvents(t, upTo(events, before), laterThan(after, before), `${describeOpen({ after })} after a restart`);
    before = events;
  }
});

/** What is known of the log before a restart, and how many events are to be published after it. */
interface Known {
  cursor: bigint;
  seen: readonly SeenEvent[];
  count: number;
  /** The agent may have dropped all that was seen, as long as it says so. */
  mayBeDropped?: boolean;
}

/**
 * Whether the cursor gets 410. What an agent keeps of a log that ends with a torn line is not stated; only events that
 * are missing from a replay are lost unnoticed.
 */
async function tellsLoss(t: Device, streams: Streams, after: bigint): Promise<boolean> {
  const stream = await streams.try({ after });
  await stream.close();
  const isGone = stream.status === 410;
  t.observe('what a torn last line leaves', isGone ? 'nothing before it (410)' : 'the events before it');
  t.should(!isGone, {
    expected: `the events before a torn last line, ${describeOpen({ after })} among them`,
    actual: '410: all of them were dropped, and clients are told',
  });
  return isGone;
}

/**
 * Publishes so many events on the restarted agent, and reads everything since the cursor, or of a small log what it
 * still keeps of what was `seen`: all that comes `after`. `first` is the id of the first event published.
 */
async function publishAndReplay(
  t: Device,
  streams: Streams,
  http: HttpClient,
  { cursor, seen, count, mayBeDropped = false }: Known,
) {
  streams.use(http);
  const isDropped = mayBeDropped && (await tellsLoss(t, streams, retainedFrom(t, cursor, seen)));
  const { after, replay } = isDropped
    ? { after: seen.at(-1)?.id ?? cursor, replay: await streams.open() }
    : await openRetained(t, streams, cursor, seen);
  const published = await publish(t, count);
  const events = await readUpTo(replay, published);
  await replay.close();
  return { events: distinct(events), first: published.first, after };
}

/** Those of the events that are not newer than the last of `before`. */
function upTo(events: readonly SeenEvent[], before: readonly SeenEvent[]): SeenEvent[] {
  const newest = before.at(-1)?.id ?? 0n;
  return events.filter(({ id }) => id <= newest);
}

function expectContinuedIds(t: Device, first: bigint, before: readonly SeenEvent[]): void {
  const newest = before.at(-1)?.id ?? 0n;
  t.must(first > newest, {
    expected: `ids above ${newest}, the newest before the restart`,
    actual: `the first event after it got ${first}`,
  });
}

const crash = requirement({
  id: 'device.log.crash',
  level: 'MUST',
  clause: 'Delivery is at-least-once … Events are stored on the device',
  text: 'Killed at any moment, the agent loses and renumbers no event that a client has seen.',
});
check(
  crash,
  ...byOracle(crash, {
    isAlone: true,
    needs: ['restart'],
    premises: [survives.id],
    least: 'kills survived',
  }),
);

const tornTail = requirement({
  id: 'device.log.torn-tail',
  level: 'MUST',
  clause: 'Events are stored on the device as JSONL.',
  text: 'A torn last line in the log damages no event written after it, over two restarts.',
});
// Last, as an agent that loses what follows a torn line goes on losing it, and could compact nothing.
const tearing = { turn: 'last', needs: ['drive', 'restart', 'log'], premises: [survives.id] } as const;
check(tornTail, tearing, async (t: Device, streams) => {
  await restart(t);
  await t.property(
    fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { minLength: 1, maxLength: 3 }),
    async (fractions) => {
      const { cursor, live } = await subscribeAtKnownCursor(t, streams);
      await readUpTo(live, await publish(t, eventBudget(t, 3)));
      let before = distinct(live.events);
      await live.close();
      // Damage may show only when the log is read again, so one more restart follows the last torn line.
      for (const fraction of [...fractions, undefined]) {
        const http = await (fraction === undefined ? restart(t) : restartWithTornLine(t, fraction));
        const known = { cursor, seen: before, count: 2, mayBeDropped: true };
        const { events, first, after } = await publishAndReplay(t, streams, http, known);
        const where = `the log after a torn line and ${fraction === undefined ? 'two restarts' : 'a restart'}`;
        expectContinuedIds(t, first, before);
        expectSameEvents(t, upTo(laterThan(after, events), before), laterThan(after, before), where);
        before = events;
      }
    },
    {
      runs: 1,
      examples: [[[0, 0.5, 1]]],
      describe: (fractions) =>
        fractions.map((fraction) => `a log that ends with ${Math.round(100 * fraction)} % of a line`).join(', then '),
    },
  );
});

/** Restarts the agent, and while it is down appends that much of its last line to the log. */
async function restartWithTornLine(t: Device, fraction: number): Promise<HttpClient> {
  const tear = async (): Promise<void> => {
    const line = await lastLine(t);
    const whole = line.length > 2 ? line : Buffer.from('{"object":"event","id":1}\n');
    // At least one byte, and never the closing brace.
    await appendTo(t, whole.subarray(0, 1 + Math.floor(fraction * (whole.length - 3))));
  };
  return restart(t, 'SIGTERM', tear).catch((error: unknown) => {
    // The agent came back before, when its log was whole.
    if (!(error instanceof AgentEnded)) throw error;
    t.must(false, { expected: 'an agent that starts with a torn last line in its log', actual: error.message });
    throw error;
  });
}

const keeps = requirement({
  id: 'device.deployment.restart',
  level: 'SHOULD',
  section: '2.2',
  clause: 'Config instances are currently available for consumption on the device.',
  text:
    'The deployment that is on the device is still the current one after the agent has been restarted, ' +
    'and the device is the same.',
});
check(
  keeps,
  ...byOracle(keeps, { isAlone: true, needs: ['restart'], premises: CURRENT_SHOWN, least: 'restarts survived' }),
);

check(survives, ...byOracle(survives, { aspect: 'whole', needs: ['restart'], least: 'restarts survived' }));

check(
  survives,
  ...byOracle(survives, { aspect: 'compacted', needs: ['compact', 'restart'], least: 'restarts survived' }),
);

check(tornTail, ...byOracle(tornTail, { needs: ['restart', 'log'], least: 'torn lines survived' }));
