/** Section 6.2, rule 1: a replay longer than the memory of a client. */
import { setImmediate as turn } from 'node:timers/promises';
import { event, frame } from '../../harness/contract/situations.ts';
import { FOLLOW, RECONNECT, section } from './support/check.ts';
import type { ClientRequest } from './support/server.ts';
import { Sequence, StreamRun } from './support/stream-run.ts';

export const { requirement, check, checks } = section({ section: '6.2', since: '2026-11-23' });

const replay = requirement({
  id: 'client.delivery.long-replay',
  level: 'MUST',
  clause: 'Delivery is at-least-once',
  text: 'A replay of very many events is dispatched whole and in order, unless the client says that events are lost.',
});

/** Number of events in the first replay: few, because a client may start a process for each event. */
const FIRST_EVENTS = 250;
const MOST_EVENTS = 100_000;
const QUICK_MS = 2000;
const EVENTS_IN_A_PIECE = 250;

check(replay, { needs: FOLLOW, premises: [...RECONNECT, 'client.delivery.cursor'] }, async (t) => {
  await using run: StreamRun = await StreamRun.after(t, [event(1)]);
  run.current.cut();
  const again = await run.stream();
  const sequence = new Sequence(1);
  run.sequence = sequence;
  const started = performance.now();
  for (let count = FIRST_EVENTS, sent = 1; sent < MOST_EVENTS; count *= 2) {
    const since = performance.now();
    const last = sent + count;
    await sendUntil(again, sent, last);
    sent = last;
    while (sequence.last < last) {
      const seen = sequence.last;
      const more = await run.untilRead(() => sequence.last > seen || sequence.wrong !== undefined || run.reported);
      if (run.reported !== undefined) return t.note(`the client told of a gap in a replay of ${last} events`);
      run.must(more !== undefined && sequence.wrong === undefined, {
        expected: `events 2 to ${last} dispatched once each, in order`,
        actual: sequence.wrong ?? `nothing after event ${sequence.last}; ${run.state}`,
      });
    }
    const now = performance.now();
    if (now - started + 2 * (now - since) > QUICK_MS) break;
  }
  run.must(sequence.wrong === undefined, { expected: 'each event once', actual: sequence.wrong ?? '' });
});

/** Sends events without waiting for the client, which may have stopped reading. */
async function sendUntil(stream: ClientRequest, from: number, to: number): Promise<void> {
  for (let sent = from; sent < to && !stream.closed; sent += EVENTS_IN_A_PIECE) {
    let piece = '';
    for (let id = sent + 1; id <= Math.min(to, sent + EVENTS_IN_A_PIECE); id += 1) piece += frame(event(id));
    void stream.send(piece);
    await turn();
  }
}
