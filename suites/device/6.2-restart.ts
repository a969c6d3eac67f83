/** Section 6.2, rule 5: events are stored, so they outlive the agent's process, however that ends. */
import fc from 'fast-check';
import type { HttpClient } from '../../harness/client/http.ts';
import { requirement } from '../../harness/runner/define.ts';
import { ControlError } from '../../harness/targets/control/control.ts';
import { CURRENT, objectOf } from './support/ask.ts';
import { check, type Device } from './support/context.ts';
import { anchor, follow, publish, room, stir } from './support/drive.ts';
import { distinct, type SeenEvent, sameEvents, showIds } from './support/events.ts';
import { appendTo, lastLine, logPath } from './support/log-file.ts';
import { restart } from './support/restart.ts';
import { earliest, judgeStock, stockUp } from './support/stock.ts';
import { describeOpen, type Streams, withStreams } from './support/streams.ts';

const survives = requirement({
  id: 'device.log.restart',
  level: 'MUST',
  section: '6.2',
  since: '2026-11-21',
  text: 'After a restart ids go on, none is reused, and retained events replay as before.',
});

const crash = requirement({
  id: 'device.log.crash',
  level: 'MUST',
  section: '6.2',
  since: '2026-11-21',
  text: 'Killed at any moment, the agent loses and renumbers no event that a client has seen.',
});

const tornTail = requirement({
  id: 'device.log.torn-tail',
  level: 'MUST',
  section: '6.2',
  since: '2026-11-21',
  text: 'A torn last line in the log damages no event written after it, over two restarts.',
});

const keeps = requirement({
  id: 'device.deployment.restart',
  level: 'SHOULD',
  section: '2.2',
  since: '2026-11-21',
  text: 'The deployment that is on the device is still the current one after the agent has been restarted, and the device the same.',
});

const MOST_BURSTS = 6;

/** Publishes on the restarted agent, and reads everything since the cursor. */
async function sinceThen(context: Device, streams: Streams, http: HttpClient, cursor: bigint, count = 1) {
  streams.use(http);
  const replay = await streams.open({ after: cursor });
  const published = await publish(context, count);
  const events = await follow(replay, published);
  await replay.close();
  return { events: distinct(events), published };
}

function mustGoOn(context: Device, first: bigint, before: readonly SeenEvent[]): void {
  const newest = before.at(-1)?.id ?? 0n;
  context.must(first > newest, {
    expected: `ids above ${newest}, the newest before the restart`,
    actual: `the first event after it got ${first}`,
  });
}

export default [
  check(survives, { needs: ['drive', 'restart'], sharing: 'disruptive', profile: 'core' }, (context: Device) =>
    withStreams(context, async (streams) => {
      const { cursor, live } = await anchor(context, streams);
      await stir(context);
      await follow(live, await publish(context, room(context, 10)));
      let before = distinct(live.events);
      for (let round = 0; round < 2; round += 1) {
        const http = await restart(context);
        const { events, published } = await sinceThen(context, streams, http, cursor, 3);
        mustGoOn(context, published.first, before);
        const old = events.filter(({ id }) => id <= (before.at(-1)?.id ?? 0n));
        sameEvents(context, old, before, `${describeOpen({ after: cursor })} after a restart`);
        before = events;
      }
    }),
  ),

  check(survives, { aspect: 'whole', needs: ['drive', 'restart'], sharing: 'disruptive' }, (context: Device) =>
    withStreams(context, async (streams) => {
      const stock = await stockUp(context, streams);
      if (stock === undefined) return context.notApplicable('the log is compacted as soon as it is filled');
      const kept = async (): Promise<number> => {
        const from = await earliest(streams, stock);
        return from === undefined ? 0 : stock.events.filter(({ id }) => id > from).length;
      };
      const before = await kept();
      streams.use(await restart(context));
      const after = await kept();
      // Compaction may come at any time. That it comes with every start, and takes most, is another matter.
      context.should(before === 0 || after * 2 > before, {
        expected: `events that were retained before a restart, ${before} of them, to be retained after it`,
        actual: `${after} of them are`,
      });
      await judgeStock(context, streams, stock, (after) => ({ after }), ' after a restart');
    }),
  ),

  check(
    survives,
    { aspect: 'compacted', needs: ['drive', 'compact', 'restart'], sharing: 'disruptive' },
    (context: Device) =>
      withStreams(context, async (streams) => {
        const { live } = await anchor(context, streams);
        await follow(live, await publish(context, room(context, 5)));
        const before = distinct(live.events);
        await live.close();
        // What is left to count from may be nothing.
        await context.control.compact();
        await restart(context);
        mustGoOn(context, (await publish(context, 1)).first, before);
      }),
  ),

  check(crash, { needs: ['drive', 'restart', 'log'], sharing: 'disruptive' }, (context: Device) =>
    withStreams(context, async (streams) => {
      await context.property(
        fc.record({ bursts: fc.integer({ min: 1, max: MOST_BURSTS }), delayMs: fc.integer({ min: 0, max: 25 }) }),
        async ({ bursts, delayMs }) => {
          const { cursor, live } = await anchor(context, streams);
          // Not awaited: the agent is killed while it writes.
          const portion = Math.ceil(room(context, 60) / MOST_BURSTS);
          const publishing = Array.from({ length: bursts }, () => publish(context, portion).catch(swallow));
          await new Promise((resolve) => setTimeout(resolve, delayMs));
          let seen: SeenEvent[] = [];
          const http = await restart(context, 'SIGKILL', async () => {
            await Promise.all(publishing);
            seen = distinct(await live.rest());
          });
          const { events, published } = await sinceThen(context, streams, http, cursor);
          mustGoOn(context, published.first, seen);
          const known = new Set(seen.map(({ id }) => id));
          const lost = seen.filter(({ id }) => !events.some((event) => event.id === id));
          context.must(lost.length === 0, {
            expected: `after a kill, every event that a client saw before it: ${showIds(seen)}`,
            actual: `${showIds(lost)} are lost`,
          });
          const again = events.filter(({ id }) => known.has(id));
          sameEvents(context, again, seen, `${describeOpen({ after: cursor })} after a kill`);
        },
        { runs: 6 },
      );
    }),
  ),

  check(tornTail, { needs: ['drive', 'restart', 'log'], sharing: 'disruptive' }, (context: Device) =>
    withStreams(context, async (streams) => {
      const path = logPath(context);
      await restart(context);
      await context.property(
        fc.double({ min: 0, max: 1, noNaN: true }),
        async (fraction) => {
          const { cursor, live } = await anchor(context, streams);
          await follow(live, await publish(context, room(context, 3)));
          let due = distinct(live.events);
          await live.close();
          const torn = async (): Promise<void> => {
            const line = await lastLine(path);
            const whole = line.length > 2 ? line : Buffer.from('{"object":"event","id":1}\n');
            // At least one byte, and never the closing brace.
            await appendTo(path, whole.subarray(0, 1 + Math.floor(fraction * (whole.length - 3))));
          };
          for (const [round, whileDown] of [torn, undefined].entries()) {
            const http = await restart(context, 'SIGTERM', whileDown).catch((error: unknown) => {
              // It came back when its log was whole, so that control can be trusted.
              if (whileDown === undefined || !(error instanceof ControlError)) throw error;
              context.must(false, {
                expected: 'an agent that starts with a torn last line in its log',
                actual: error.message,
              });
              throw error;
            });
            const { events, published } = await sinceThen(context, streams, http, cursor, 2);
            mustGoOn(context, published.first, due);
            const old = events.filter(({ id }) => id <= (due.at(-1)?.id ?? 0n));
            sameEvents(
              context,
              old,
              due,
              `the log after a torn line and ${round + 1} restart${round === 0 ? '' : 's'}`,
            );
            due = events;
          }
        },
        { runs: 4, examples: [[0], [1], [0.5]] },
      );
    }),
  ),

  check(keeps, { needs: ['drive', 'restart'], sharing: 'disruptive' }, async (context: Device) => {
    const { id } = await context.control.deploy();
    const before = objectOf(await context.http.get(CURRENT))?.['device_id'];
    const http = await restart(context);
    const response = await http.get(CURRENT);
    const { id: now, device_id: device } = objectOf(response) ?? {};
    context.must(response.status === 200 && now === id, {
      expected: `the deployment ${id}`,
      actual: now ?? response.status,
    });
    context.must(before === undefined || device === before, {
      expected: `the device_id of before the restart, ${String(before)}`,
      actual: device,
    });
  }),
];

/** What the kill cut off is the point of it. */
function swallow(error: unknown): void {
  if (!(error instanceof ControlError)) throw error;
}
