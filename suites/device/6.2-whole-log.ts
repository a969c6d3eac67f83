/** Section 6.2 over about as many events as the log keeps: what is capped shows only there. */
import type { OpenEvents } from '../../harness/client/sse.ts';
import { complete } from './6.2-replay.ts';
import { seam } from './6.2-seam.ts';
import { check, type Device } from './support/context.ts';
import { publish, room } from './support/drive.ts';
import { extend, judgeReplay, judgeStock, stockUp } from './support/stock.ts';
import { describeOpen, withStreams } from './support/streams.ts';

/** A replay this long takes a while, in which events are published. */
const SEAM_EVENTS = 400;
const SEAM_STREAMS = 6;
const TOO_SOON = 'the log is compacted as soon as it is filled';

export default [
  check(complete, { aspect: 'whole', needs: ['drive'], sharing: 'exclusive' }, (context: Device) =>
    withStreams(context, async (streams) => {
      const stock = await stockUp(context, streams);
      if (stock === undefined) return context.notApplicable(TOO_SOON);
      context.note(`replays of up to ${stock.events.length} events were compared`);
      await judgeStock(context, streams, stock);
      await judgeStock(context, streams, stock, (lastEventId) => ({ lastEventId }));
    }),
  ),

  check(seam, { aspect: 'whole', needs: ['drive'], sharing: 'exclusive' }, (context: Device) =>
    withStreams(context, async (streams) => {
      const { retention = 300 } = context.info;
      const stock = await stockUp(context, streams, Math.min(SEAM_EVENTS, retention / 2));
      if (stock === undefined) return context.notApplicable(TOO_SOON);
      const { cursor } = stock;
      const portion = Math.ceil(room(context, SEAM_EVENTS / 4) / SEAM_STREAMS);
      for (let round = 0; round < SEAM_STREAMS; round += 1) {
        const opening: OpenEvents = round % 2 === 0 ? { after: cursor } : { lastEventId: cursor };
        // One by one, while the stream is opened and the replay goes on.
        const publishing = (async () => {
          for (let at = 0; at < portion; at += 1) await publish(context, 1);
        })();
        publishing.catch(() => {});
        const stream = await streams.try(opening);
        await publishing;
        const what = `${describeOpen(opening)}, opened while events were published`;
        const judged =
          (await extend(context, streams, stock, 1)) &&
          (await judgeReplay(context, streams, stock, { cursor, stream, what }));
        if (!judged) return context.note(TOO_SOON);
      }
    }),
  ),
];
