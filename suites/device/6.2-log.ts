/** Section 6.2, rule 5: the event log, its compaction, and its survival. */
import { TELLING_BATCH } from '../../harness/runner/session.ts';
import { byOracle } from './oracle/explore.ts';
import { CURRENT_SHOWN, type Device, LIVE, RETAINED } from './support/check.ts';
import { diskUse, type Log, linesOf, readLog } from './support/disk.ts';
import {
  eventBudget,
  publish,
  publishEveryEventKind,
  publishUnread,
  readUpTo,
  subscribeAtKnownCursor,
} from './support/drive.ts';
import { distinct, eventsOf, type SeenEvent, showIds } from './support/events.ts';
import { earliestServedIn, requireRetained } from './support/replays.ts';
import { section } from './support/section.ts';
import type { Streams } from './support/streams.ts';

export const { requirement, check, checks } = section({ section: '6.2', since: '2026-11-21' });

const jsonl = requirement({
  id: 'device.log.jsonl',
  level: 'MUST',
  clause: 'Events are stored on the device as JSONL.',
  text: 'The event log is JSONL: each line is one JSON value, and every retained event is in it.',
});
check(jsonl, { needs: ['log', 'drive'], sharing: 'publishing', premises: LIVE }, async (t: Device, streams) => {
  const { live } = await subscribeAtKnownCursor(t, streams);
  await publishEveryEventKind(t);
  await readUpTo(live, await publish(t, eventBudget(t, 5)));
  await live.close();
  await expectJsonl(t, await readLog(t), await stillRetained(streams, live.events), t.must);
});

check(
  jsonl,
  { aspect: 'retained', needs: ['log'], sharing: 'exclusive', turn: 'last', premises: RETAINED },
  async (t: Device, streams) => {
    const { stream } = await requireRetained(t, streams);
    const events = eventsOf(t, stream);
    await expectJsonl(t, await readLog(t), (await stillRetained(streams, events)).slice(-200), t.should);
  },
);

async function stillRetained(streams: Streams, events: readonly SeenEvent[]): Promise<readonly SeenEvent[]> {
  const all = distinct(events);
  const from = await earliestServedIn(streams, { cursor: all[0]?.id ?? 0n, events: all });
  return from === undefined ? all.slice(-1) : all.filter(({ id }) => id > from);
}

/** `judge`: assertion for lines that are not JSON; `t.should` where an old crash may have torn a line. */
async function expectJsonl(t: Device, log: Log, events: readonly SeenEvent[], judge: Device['should']): Promise<void> {
  const { lines, isCut } = log;
  const ids = events.map(({ id }) => id);
  const at = linesOf(lines, ids);
  if (isCut && [...at.values()].some((found) => found.length === 0))
    return expectJsonl(t, await readLog(t, Number.POSITIVE_INFINITY), events, judge);
  const missing = events.filter(({ id }) => at.get(id)?.length === 0);
  t.must(missing.length === 0, {
    expected: `each of the events ${showIds(events)} on a line of its own in the log`,
    actual: `no line holds ${showIds(missing)}`,
  });
  // Skips the lines before these events, where an old crash may have left a torn line.
  const first = [...at.values()].flat().reduce((least, line) => Math.min(least, line), lines.length);
  const broken = lines.slice(first).find(({ json }) => !json);
  judge(broken === undefined, {
    expected: 'one JSON value on each line',
    actual: broken?.text === '' ? 'an empty line' : broken?.text.slice(0, 300),
  });
}

const compaction = requirement({
  id: 'device.log.compaction',
  level: 'MUST',
  clause: 'The log is compacted to bound disk use; cursors pointing at compacted events become invalid and yield 410.',
  text:
    'Compaction removes only the oldest events. ' +
    'The retained events replay unchanged, and no live event is lost meanwhile.',
});
byOracle(check, compaction, { needs: ['compact'], least: 'compactions survived' });

const bounded = requirement({
  id: 'device.log.bounded',
  level: 'MUST',
  clause: 'The log is compacted to bound disk use',
  text: 'Compaction bounds disk use: it stays under a bound while twenty times the retention limit is published.',
});
const toFill = {
  needs: ['drive', 'log', 'compact'],
  premises: [jsonl.id],
  least: { requests: 0, compactions: 0, 'compactions of its own': 1 },
  orElse: 'a faster control, or a lower retention limit, lets the log fill up',
} as const;
check(bounded, toFill, async (t: Device) => {
  const { retention } = t.info;
  if (retention === undefined) return t.undecided('control names no retention limit');
  const least = TIMES_THE_LIMIT * retention;
  if (least > MOST_EVENTS)
    return t.undecided(`${least} events would have to be published, as the log keeps ${retention}`);
  // Judges the speed by a batch, because a busy machine delays single events.
  await publishUnread(t, TELLING_BATCH);
  const isSlow = t.session.isSlow('publish');
  if (!isSlow) await publishUnread(t, Math.min(retention, 1000));
  const { lines, bytes: logBytes } = await readLog(t);
  const mean = lines.reduce((sum, { text }) => sum + Buffer.byteLength(text) + 1, 0) / Math.max(1, lines.length);
  if (mean === 0) t.blocked('the event log holds nothing, though events have been published');
  const bound = Math.ceil(TIMES_THE_LIMIT * retention * mean + SLACK_BYTES);
  const deciding = Math.ceil(bound / mean);
  const otherBytes = (await diskUse(t)) - logBytes;
  const size = async (): Promise<number> => (await diskUse(t)) - otherBytes;
  const basis = `(${TIMES_THE_LIMIT} times ${retention} events of ${Math.round(mean)} bytes)`;

  const wanted = Math.max(PUBLISHED_TIMES * retention, Math.ceil((1.5 * bound) / mean));
  let highest = 0;
  if (isSlow)
    t.note(`events are published slowly: disk use was measured after a compaction alone, and not for ${wanted}`);
  const started = performance.now();
  const isEnough = (published: number): boolean =>
    published >= Math.min(wanted, MOST_EVENTS) || (published > deciding && performance.now() - started > FILLING_MS);
  let published = 0;
  const portion = Math.max(retention, LEAST_PORTION);
  for (; !isSlow && !isEnough(published); published += portion) {
    await publishUnread(t, portion);
    highest = Math.max(highest, await size());
  }
  t.should(highest <= bound, {
    expected: `at most ${bound} bytes while ${published} events are published ${basis}`,
    actual: `${highest} bytes`,
  });
  if (published > deciding && highest <= bound) t.saw('compactions of its own');
  await t.control.compact();
  const compacted = await size();
  t.must(compacted <= bound, {
    expected: `at most ${bound} bytes after compaction ${basis}`,
    actual: `${compacted} bytes`,
  });
});

/** Maximum size of the log, as a multiple of its retention limit; segments and late compaction take space. */
const TIMES_THE_LIMIT = 4;
const SLACK_BYTES = 64 * 1024;
const PUBLISHED_TIMES = 20;
const LEAST_PORTION = 20;
const FILLING_MS = 10_000;
const MOST_EVENTS = 100_000;

const survives = requirement({
  id: 'device.log.restart',
  level: 'MUST',
  clause: 'Events are stored on the device as JSONL.',
  text: 'After a restart ids go on, none is reused, and retained events replay as before.',
});
byOracle(check, survives, { profile: 'core', needs: ['restart'], least: 'restarts survived' });

const crash = requirement({
  id: 'device.log.crash',
  level: 'MUST',
  clause: 'Delivery is at-least-once … Events are stored on the device',
  text: 'Killed at any moment, the agent loses and renumbers no event that a client has seen.',
});
byOracle(check, crash, { needs: ['restart'], least: 'kills survived' });

const tornTail = requirement({
  id: 'device.log.torn-tail',
  level: 'MUST',
  clause: 'Events are stored on the device as JSONL.',
  text: 'A torn last line in the log damages no event written after it, over two restarts.',
});
byOracle(check, tornTail, { needs: ['restart', 'log'], least: 'torn lines survived' });

const keeps = requirement({
  id: 'device.deployment.restart',
  level: 'SHOULD',
  section: '2.2',
  clause: 'Config instances are currently available for consumption on the device.',
  text:
    'The deployment that is on the device is still the current one after the agent has been restarted, ' +
    'and the device is the same.',
});
byOracle(check, keeps, { needs: ['restart'], premises: CURRENT_SHOWN, least: 'restarts survived' });

byOracle(check, survives, { aspect: 'whole', needs: ['restart'], least: 'restarts of a long log' });
byOracle(check, survives, {
  aspect: 'compacted',
  needs: ['compact', 'restart'],
  least: 'restarts after a compaction',
});
