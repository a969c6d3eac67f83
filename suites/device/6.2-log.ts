/** Section 6.2, rule 5: the event log on the device, and its compaction. */
import { TELLING_BATCH } from '../../harness/runner/session.ts';
import { byOracle } from './oracle/checks.ts';
import { type Device, LIVE, RETAINED } from './support/check.ts';
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
import { earliestServedIn } from './support/replays.ts';
import { requireRetained } from './support/sample.ts';
import { section } from './support/section.ts';
import type { Streams } from './support/streams.ts';

export const { requirement, check, checks } = section({ level: 'MUST', section: '6.2', since: '2026-11-21' });

const jsonl = requirement({
  id: 'device.log.jsonl',
  clause: 'Events are stored on the device as JSONL.',
  text: 'The event log is JSONL: each line is one JSON value, and every retained event is in it.',
});
check(jsonl, { needs: ['log', 'drive'], sharing: 'publishing', premises: LIVE }, async (t: Device, streams) => {
  const { live } = await subscribeAtKnownCursor(t, streams);
  await publishEveryEventKind(t);
  await readUpTo(live, await publish(t, eventBudget(t, 5)));
  await live.close();
  const log = await readLog(t);
  await expectJsonl(t, log, await stillRetained(streams, live.events));
});

check(
  jsonl,
  { aspect: 'retained', needs: ['log'], sharing: 'exclusive', turn: 'last', premises: RETAINED },
  async (t: Device, streams) => {
    const { stream } = await requireRetained(t, streams);
    await stream.close();
    const events = eventsOf(t, stream);
    const log = await readLog(t);
    await expectJsonl(t, log, (await stillRetained(streams, events)).slice(-NEWEST));
  },
);

/** Leaves out events that the device may have compacted away. */
async function stillRetained(streams: Streams, events: readonly SeenEvent[]): Promise<readonly SeenEvent[]> {
  const all = distinct(events);
  const from = await earliestServedIn(streams, { cursor: all[0]?.id ?? 0n, events: all });
  return from === undefined ? all.slice(-1) : all.filter(({ id }) => id > from);
}

const NEWEST = 200;

async function expectJsonl(t: Device, log: Log, events: readonly SeenEvent[]): Promise<void> {
  const { lines, isCut } = log;
  const at = linesOf(
    lines,
    events.map(({ id }) => id),
  );
  if (isCut && [...at.values()].some((found) => found.length === 0))
    return expectJsonl(t, await readLog(t, Number.POSITIVE_INFINITY), events);
  const missing = events.filter(({ id }) => at.get(id)?.length === 0);
  t.must(missing.length === 0, {
    expected: `each of the events ${showIds(events)} on a line of its own in the log`,
    actual: `no line holds ${showIds(missing)}`,
  });
  // Ignores lines before the first of the events, where an old crash may have left a torn line.
  const first = [...at.values()].flat().reduce((least, line) => Math.min(least, line), lines.length);
  const broken = lines.slice(first).find(({ json }) => !json);
  t.must(broken === undefined, {
    expected: 'one JSON value on each line',
    actual: broken?.text === '' ? 'an empty line' : broken?.text.slice(0, 300),
  });
}

const compaction = requirement({
  id: 'device.log.compaction',
  clause: 'The log is compacted to bound disk use; cursors pointing at compacted events become invalid and yield 410.',
  text:
    'Compaction removes only the oldest events. ' +
    'The retained events replay unchanged, and no live event is lost meanwhile.',
});
check(compaction, ...byOracle(compaction, { isAlone: true, needs: ['compact'], least: 'compactions survived' }));

const bounded = requirement({
  id: 'device.log.bounded',
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
  // Judges the speed by a batch, because single events wait for the processor of a busy machine.
  await publishUnread(t, TELLING_BATCH);
  const isSlow = t.session.isSlow('publish');
  if (!isSlow) await publishUnread(t, Math.min(retention, 1000));
  const { logBytes, mean } = await measureLines(t);
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

/** Maximum size of the log as a multiple of the retention limit; log segments and late compaction take space. */
const TIMES_THE_LIMIT = 4;
const SLACK_BYTES = 64 * 1024;
const PUBLISHED_TIMES = 20;
const LEAST_PORTION = 20;
const FILLING_MS = 10_000;
const MOST_EVENTS = 100_000;

async function measureLines(t: Device): Promise<{ logBytes: number; mean: number }> {
  const { lines, bytes } = await readLog(t);
  const read = lines.reduce((sum, { text }) => sum + Buffer.byteLength(text) + 1, 0);
  return { logBytes: bytes, mean: read / Math.max(1, lines.length) };
}
