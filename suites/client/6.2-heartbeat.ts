/** Section 6.2, rule 3: heartbeats, and their absence. */
import { CLIENT_VARIABLES } from '../../harness/contract/client.ts';
import { eventsFrom, frames, HEARTBEAT } from '../../harness/contract/situations.ts';
import { type Client, FOLLOW, RECONNECT, section } from './support/check.ts';
import { AGAIN_PATIENCES } from './support/client-run.ts';
import { expectCursor, expectDispatched, StreamRun } from './support/stream-run.ts';

export const { requirement, check, checks } = section({ section: '6.2', since: '2026-11-23' });

const PREMISES = [...RECONNECT, 'client.delivery.cursor'];

const cursor = requirement({
  id: 'client.heartbeat.cursor',
  level: 'MUST',
  clause: 'clients ignore comment lines',
  text: 'Heartbeats move no cursor: after one the client still names the last event.',
});
check(cursor, { needs: FOLLOW, premises: PREMISES }, async (t) => {
  await using run: StreamRun = await StreamRun.follow(t);
  const all = eventsFrom(7, 2);
  const stream = await run.stream();
  await stream.send(frames(all.slice(0, 1)) + HEARTBEAT.repeat(3));
  await expectDispatched(run, all.slice(0, 1));
  stream.end();
  const again = await run.stream();
  expectCursor(run, again, '7');
  await again.send(HEARTBEAT + frames(all.slice(1)));
  await expectDispatched(run, all);
});

const silence = requirement({
  id: 'client.heartbeat.silence',
  level: 'SHOULD',
  clause: 'The agent sends a comment line `: heartbeat` roughly every 30 seconds',
  text:
    'A client that has heard nothing for several heartbeats takes the connection for dead, ' +
    'and asks again with its cursor.',
});
/** Seconds between heartbeats, tried in order, because a busy machine may delay a client beyond a short interval. */
const INTERVALS = [0.5, 2, 4];
/** Maximum number of silent heartbeat intervals that a client may tolerate. */
const SILENT_INTERVALS = 20;
check(silence, { needs: [...FOLLOW, 'heartbeat'], premises: PREMISES, slow: true }, async (t) => {
  for (const interval of INTERVALS) if (await isDecided(t, interval, interval === INTERVALS.at(-1))) return;
});

/** Returns false if the client left too early for a verdict and a longer interval remains to be tried. */
async function isDecided(t: Client, interval: number, isLast: boolean): Promise<boolean> {
  await using run: StreamRun = await StreamRun.follow(t, {
    variables: { [CLIENT_VARIABLES.heartbeatSeconds]: String(interval) },
  });
  const all = eventsFrom(1, 2);
  const stream = await run.stream();
  await stream.send(HEARTBEAT + frames(all.slice(0, 1)));
  const isEarly = (): boolean => !isLast && run.requests.length > 1;
  await run.until(() => run.dispatched.length > 0 || isEarly() || undefined);
  if (isEarly()) return false;
  await expectDispatched(run, all.slice(0, 1));
  // Keeps the stream open without sending a byte, like a half-open connection.
  const again = await run.requestWithin(Math.max(SILENT_INTERVALS * interval * 1000, AGAIN_PATIENCES * run.patienceMs));
  run.must(again !== undefined, {
    expected: `a new request after ${SILENT_INTERVALS} heartbeat intervals of ${interval} s without a byte`,
    actual: run.state,
  });
  if (again.cursor !== '1' && !isLast) return false;
  expectCursor(run, again, '1');
  await again.accept().send(frames(all.slice(1)));
  const asked = run.requests.length;
  const isImpatient = (): boolean => !isLast && run.requests.length > asked;
  await run.until(() => run.dispatched.length === all.length || isImpatient() || undefined);
  if (run.dispatched.length < all.length && isImpatient()) return false;
  await expectDispatched(run, all);
  return true;
}
