/** Section 7: a client whose cursor is older than the earliest retained event. */
import { EXPIRED, event, frame, type SentEvent } from '../../harness/contract/situations.ts';
import { type Client, FOLLOW, RECONNECT, section } from './support/check.ts';
import { startRun } from './support/client-run.ts';
import type { ClientRequest } from './support/server.ts';
import { expectDispatched, expectNoHammering, StreamRun } from './support/stream-run.ts';

export const { requirement, check, checks } = section({
  level: 'SHOULD',
  section: '7',
  since: '2026-11-23',
  clause: 'The cursor (`after` or `Last-Event-ID`) is older than the earliest retained event.',
});

const OPTIONS = { needs: FOLLOW, premises: [...RECONNECT, 'client.delivery.cursor'] } as const;

const dead = event(5);
const refuse = (asked: ClientRequest): void => asked.refuse(EXPIRED);

async function expired(t: Client): Promise<StreamRun> {
  return startRun(await StreamRun.after(t, [dead]), async (run) => {
    run.current.cut();
    refuse(await run.request());
  });
}

const told = requirement({
  id: 'client.expired.told',
  text: 'A client that is answered 410 tells its caller that events are lost: a gap, or an end of the stream.',
});
check(told, OPTIONS, async (t) => {
  await using run: StreamRun = await expired(t);
  // Answers later requests too, because a client may report lost events together with its next event.
  const came = await run.until(() => {
    answered(run);
    return run.reported;
  });
  run.must((came ?? run.reported) !== undefined, {
    expected: '{"saw":"gap"} or {"saw":"end"} after 410',
    actual: run.outcome,
  });
});

/** Answers 410 to the expired cursor, and a stream with a later event to any other cursor. */
function answered(run: StreamRun): void {
  for (const asked of run.requests) {
    if (asked.status !== undefined || asked.closed) continue;
    if (asked.cursor === dead.id) refuse(asked);
    else void asked.accept().send(frame(event(50)));
  }
}

export const goesOn = requirement({
  id: 'client.expired.goes-on',
  text: 'A client that is answered 410 asks again without that cursor, and dispatches later events.',
});
check(goesOn, OPTIONS, async (t) => {
  await using run: StreamRun = await expired(t);
  await expectLater(run, [dead], event(50));
});

const AGAIN = { ...OPTIONS, aspect: 'again', premises: [...OPTIONS.premises, goesOn.id] } as const;
check(goesOn, AGAIN, async (t) => {
  await using run: StreamRun = await expired(t);
  const [later, last] = [event(50), event(90)];
  (await expectLater(run, [dead], later)).cut();
  await expectLater(run, [dead, later], last);
});

/** Maximum number of requests with an expired cursor that the check refuses. */
const MOST_REPEATS = 5;

/** Refuses expired cursors with 410, and serves `later` to the first request without an expired cursor. */
async function expectLater(run: StreamRun, gone: readonly SentEvent[], later: SentEvent): Promise<ClientRequest> {
  for (let attempt = 0; attempt < MOST_REPEATS; attempt += 1) {
    const asked = await run.request('the client to ask again without the cursor that has expired');
    if (gone.some(({ id }) => id === asked.cursor)) {
      refuse(asked);
      continue;
    }
    await asked.accept().send(frame(later));
    await expectDispatched(run, [...gone, later]);
    return asked;
  }
  throw run.violation({
    expected: 'a request without the cursor that has expired',
    actual: `${MOST_REPEATS} more with the cursor ${gone.at(-1)?.id}`,
  });
}

export const loop = requirement({
  id: 'client.expired.no-loop',
  protective: true,
  text: 'A client that is answered 410 again and again waits between its requests.',
});
check(loop, OPTIONS, async (t) => {
  await using run: StreamRun = await expired(t);
  await expectNoHammering(run, { answer: refuse, how: 'that are all answered 410' });
});
