/** Section 6.2, rule 5: the event log on the device, and its compaction. */
import { requirement } from '../../harness/runner/define.ts';
import { compactAway } from './support/compaction.ts';
import { check, type Device } from './support/context.ts';
import { anchor, compact, follow, publish, room, stir } from './support/drive.ts';
import { readEvent, type SeenEvent, sameEvents, showIds } from './support/events.ts';
import { diskUse, type LogLine, logPath, readLog, tellsOf } from './support/log-file.ts';
import { retained } from './support/retained.ts';
import { describeOpen, withStreams } from './support/streams.ts';

const jsonl = requirement({
  id: 'device.log.jsonl',
  level: 'MUST',
  section: '6.2',
  since: '2026-11-21',
  text: 'The event log is JSONL: each line one JSON value, and every retained event is in it.',
});

const bounded = requirement({
  id: 'device.log.bounded',
  level: 'MUST',
  section: '6.2',
  since: '2026-11-21',
  text: 'Compaction bounds disk use: it stays under a bound while twenty times the retention limit is published.',
});

const compaction = requirement({
  id: 'device.log.compaction',
  level: 'MUST',
  section: '6.2',
  since: '2026-11-21',
  text: 'Compaction takes the oldest events and nothing else: those from the earliest retained one on replay as they were sent, and no live event is lost meanwhile.',
});

function judgeLines(context: Device, lines: readonly LogLine[], events: readonly SeenEvent[]): void {
  const missing = events.filter(({ id }) => !lines.some((line) => tellsOf(line, id)));
  context.must(missing.length === 0, {
    expected: `each of the events ${showIds(events)} on a line of its own in the log`,
    actual: `no line tells of ${showIds(missing)}`,
  });
  // A crash long ago may have left a torn line; what counts is what was written now.
  const first = lines.findIndex((line) => events.some(({ id }) => tellsOf(line, id)));
  const broken = lines.slice(first).find(({ json }) => !json);
  context.must(broken === undefined, {
    expected: 'one JSON value on each line',
    actual: broken?.text === '' ? 'an empty line' : broken?.text.slice(0, 300),
  });
}

/** Leaves room for logs in segments, and for compaction that comes late. */
const TIMES_THE_LIMIT = 4;
const SLACK_BYTES = 64 * 1024;
const MOST_EVENTS = 100_000;

export default [
  check(jsonl, { needs: ['log', 'drive'], sharing: 'exclusive' }, (context: Device) =>
    withStreams(context, async (streams) => {
      const { live } = await anchor(context, streams);
      await stir(context);
      await follow(live, await publish(context, room(context, 5)));
      judgeLines(context, await readLog(logPath(context)), live.events);
    }),
  ),

  check(jsonl, { aspect: 'retained', needs: ['log'], sharing: 'exclusive' }, (context: Device) =>
    withStreams(context, async (streams) => {
      const found = await retained(context, streams);
      if (found === undefined) return context.notApplicable('the device replays no event that it retained');
      const events = found.sample.stream.frames.flatMap((frame) => readEvent(context, frame) ?? []);
      judgeLines(context, await readLog(logPath(context)), events.slice(-200));
    }),
  ),

  check(compaction, { needs: ['drive', 'compact'], sharing: 'disruptive' }, (context: Device) =>
    withStreams(context, async (streams) => {
      const { earliest: before } = await compactAway(context, streams);
      const { live, cursor } = await anchor(context, streams);
      context.note(`compaction left the events from ${before} on`);
      const compactNow = async (): Promise<undefined> => void (await compact(context));
      let published = 0;
      for (let round = 0; round < 10; round += 1) {
        const portion = room(context, 8);
        published += portion;
        const [batch] = await Promise.all([publish(context, portion), compactNow()]);
        await follow(live, batch);
      }
      context.must(live.events.length >= published, {
        expected: `the ${published} events published while the log was being compacted, on a live stream`,
        actual: showIds(live.events),
      });
      const { earliest, latest } = await compact(context);
      context.should(earliest <= latest, {
        expected: 'an event that is left after compaction, so that whoever is a little behind can catch up',
        actual: 'an empty log',
      });
      // With nothing retained, the next event is the earliest that is.
      const retained = earliest > latest ? (await publish(context, 1)).last : earliest;
      let from = cursor;
      if (retained > from) from = retained;
      const last = await publish(context, 1);
      await follow(live, last);
      const replay = await streams.open({ after: from });
      await follow(replay, last);
      const due = live.events.filter(({ id }) => id > from);
      sameEvents(context, replay.events, due, `${describeOpen({ after: from })} after compaction`);
    }),
  ),

  check(bounded, { needs: ['drive', 'log', 'compact'], sharing: 'disruptive' }, async (context: Device) => {
    const { retention } = context.info;
    if (retention === undefined) return context.notApplicable('control names no retention limit');
    const path = logPath(context);
    await publish(context, Math.min(retention, 1000));
    const lines = await readLog(path);
    const mean = lines.reduce((sum, { text }) => sum + Buffer.byteLength(text) + 1, 0) / Math.max(1, lines.length);
    const bound = Math.ceil(TIMES_THE_LIMIT * retention * mean + SLACK_BYTES);
    const size = async (): Promise<number> => (await diskUse(path)) - others;
    const others = (await diskUse(path)) - lines.reduce((sum, { text }) => sum + Buffer.byteLength(text) + 1, 0);
    let highest = 0;
    for (let published = 0; published < Math.min(20 * retention, MOST_EVENTS); published += retention) {
      await publish(context, retention);
      highest = Math.max(highest, await size());
    }
    context.should(highest <= bound, {
      expected: `at most ${bound} bytes while ${20 * retention} events are published (${TIMES_THE_LIMIT} times ${retention} events of ${Math.round(mean)} bytes)`,
      actual: `${highest} bytes`,
    });
    await context.control.compact();
    const compacted = await size();
    context.must(compacted <= bound, {
      expected: `at most ${bound} bytes after compaction (${TIMES_THE_LIMIT} times ${retention} events of ${Math.round(mean)} bytes)`,
      actual: `${compacted} bytes`,
    });
  }),
];
