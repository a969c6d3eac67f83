/** Section 6.1: an event of 10 MiB, in one data line or in many. */
import { event, frame, payload, type SentEvent } from '../../harness/contract/situations.ts';
import { type Client, DISPATCH, FOLLOW, section } from './support/check.ts';
import { expectDispatched, FOR_LARGE, StreamRun } from './support/stream-run.ts';

export const { requirement, check, checks } = section({ section: '6.1', since: '2026-11-23' });

const MIB = 1024 * 1024;
const HUGE = 10 * MIB;
const LINE = 100;
/** Maximum number of waits for a client that neither dispatches the last event nor ends. */
const MOST_ROUNDS = 12;

const huge = requirement({
  id: 'client.stream.huge',
  level: 'SHOULD',
  text:
    'An event of 10 MiB is dispatched like any other. ' +
    'A client that takes no such event says that it is lost, and goes on with the next one.',
});
const options = { needs: FOLLOW, premises: [...DISPATCH, 'client.stream.large'] } as const;

check(huge, { ...options, aspect: 'one-line' }, (t) =>
  expectTaken(t, { ...event(2, { data: { ...payload('2'), note: 'x'.repeat(HUGE) } }), data: payload('2') }, frame),
);

check(huge, { ...options, aspect: 'many-lines' }, (t) => {
  const lines = Array.from({ length: Math.ceil(HUGE / LINE) }, () => 'x'.repeat(LINE));
  const each = (sent: SentEvent): string => frame(sent).replaceAll('","xx', '",\ndata: "xx');
  return expectTaken(t, { ...event(2, { data: { ...payload('2'), lines } }), data: payload('2') }, each);
});

async function expectTaken(t: Client, big: SentEvent, render: (sent: SentEvent) => string): Promise<void> {
  const [first, last] = [event(1), event(3)];
  await using run: StreamRun = await StreamRun.after(t, [first]);
  const stream = run.current;
  // Does not wait for the client, which may hang up or stop reading.
  void stream.send(render(big));
  void stream.send(frame(last));
  const isBound = (): boolean => run.reported !== undefined && !run.dispatched.some(({ id }) => id === big.id);
  for (let round = 0; !run.dispatched.some(({ id }) => id === last.id); round += 1) {
    if (stream.closed && isBound()) await (await run.stream()).send(frame(last));
    const seen = run.dispatched.length + run.requests.length;
    const isNew = (): boolean => run.dispatched.length + run.requests.length > seen || (stream.closed && isBound());
    const more = await run.until(() => isNew() || undefined, FOR_LARGE * run.patienceMs);
    run.must(more && round < MOST_ROUNDS, {
      expected: 'an event of 10 MiB to be dispatched, or a gap, and the event after it',
      actual: run.outcome,
    });
  }
  await expectDispatched(run, isBound() ? [first, last] : [first, big, last]);
}
