/** Section 7: what a client does when its cursor is older than the earliest retained event. */
import { runningMs } from '../../harness/common/waiting.ts';
import { EXPIRED } from '../../harness/contract/situations/answers.ts';
import { event, frame } from '../../harness/contract/situations/events.ts';
import { requirement } from '../../harness/runner/define.ts';
import { check, expectDispatched, FOLLOW, RECONNECT } from './support/check.ts';
import type { Client } from './support/context.ts';
import { Scene } from './support/scene.ts';
import type { Asked } from './support/stage.ts';

const OPTIONS = { needs: FOLLOW, premises: [...RECONNECT, 'client.delivery.cursor'] } as const;
const COMMON = {
  level: 'SHOULD',
  section: '7',
  since: '2026-11-23',
  clause: 'The cursor (`after` or `Last-Event-ID`) is older than the earliest retained event.',
} as const;

const dead = event(5);
const refuse = (asked: Asked): void => asked.refuse(EXPIRED);

/** A client whose cursor has just been refused with 410. */
async function expired(t: Client): Promise<Scene> {
  const scene = await Scene.follow(t);
  try {
    const stream = await scene.stream();
    await stream.send(frame(dead));
    await expectDispatched(scene, [dead]);
    stream.cut();
    refuse(await scene.request());
    return scene;
  } catch (error) {
    await scene[Symbol.asyncDispose]();
    throw error;
  }
}

const told = requirement({
  ...COMMON,
  id: 'client.expired.told',
  text: 'A client that is answered 410 tells its caller that events are lost: a gap, or an end of the stream.',
});
const toldCheck = check(told, OPTIONS, async (t) => {
  await using scene: Scene = await expired(t);
  // It may tell it with the first event that it gets again.
  const came = await scene.until(() => {
    answered(scene);
    return scene.told;
  });
  scene.must((came ?? scene.told) !== undefined, {
    expected: '{"saw":"gap"} or {"saw":"end"} after 410',
    actual: scene.outcome,
  });
});

/** Answers what is still open: 410 for the cursor that has expired, and a stream with a later event for any other. */
function answered(scene: Scene): void {
  for (const asked of scene.requests) {
    if (asked.status !== undefined || asked.closed) continue;
    if (asked.cursor === dead.id) refuse(asked);
    else void asked.accept().send(frame(event(50)));
  }
}

const goesOn = requirement({
  ...COMMON,
  id: 'client.expired.goes-on',
  text: 'A client that is answered 410 asks again without that cursor, and dispatches later events.',
});
/** With the same cursor. */
const PATIENT = 5;
const goesOnCheck = check(goesOn, OPTIONS, async (t) => {
  await using scene: Scene = await expired(t);
  for (let attempt = 0; attempt < PATIENT; attempt += 1) {
    const asked = await scene.request('the client to ask again without the cursor that has expired');
    if (asked.cursor === dead.id) {
      refuse(asked);
      continue;
    }
    const later = event(50);
    await asked.accept().send(frame(later));
    return await expectDispatched(scene, [dead, later]);
  }
  throw scene.violation({
    expected: 'a request without the cursor that has expired',
    actual: `${PATIENT} more with the cursor ${dead.id}`,
  });
});

const loop = requirement({
  ...COMMON,
  id: 'client.expired.no-loop',
  text: 'A client that is answered 410 again and again waits between its requests.',
});
const WINDOW_MS = 3000;
const MOST = 30;
const loopCheck = check(loop, OPTIONS, async (t) => {
  await using scene: Scene = await expired(t);
  // Not counting the time in which this process is held up, and answers nobody.
  const until = runningMs() + WINDOW_MS;
  let requests = 1;
  for (let left = WINDOW_MS; left > 0 && requests <= MOST && !scene.over; left = until - runningMs()) {
    const asked = await scene.requestWithin(left);
    if (asked === undefined) break;
    refuse(asked);
    requests += 1;
  }
  scene.must(requests <= MOST, {
    expected: `at most ${MOST} requests in ${WINDOW_MS / 1000} s that are all answered 410`,
    actual: `${requests} within ${((runningMs() - until + WINDOW_MS) / 1000).toFixed(2)} s`,
  });
});

export default [toldCheck, goesOnCheck, loopCheck];
