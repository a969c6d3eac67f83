/** Choices that the specification leaves to a client; `muster compare` shows the differences. */

import { event, frame, frames } from '../../harness/contract/situations.ts';
import { cutOff } from './6.2-back-off.ts';
import { FOLLOW, RECONNECT, section } from './support/check.ts';
import { openElsewhere } from './support/client-run.ts';
import type { ClientRequest } from './support/server.ts';
import { StreamRun } from './support/stream-run.ts';

export const { requirement, check, checks } = section({ level: 'INFO', section: '6.2', since: '2026-11-25' });

const OPTIONS = { needs: FOLLOW, premises: [...RECONNECT, 'client.delivery.cursor'] } as const;

const [first, second, third, fourth] = [event(1), event(2), event(3), event(4)];

const nextOf = (run: StreamRun): Promise<ClientRequest | undefined> => run.requestWithin(2 * run.patienceMs);

const repeated = requirement({
  id: 'client.choices.repeated',
  text: 'Whether a client hands an event on again that is sent again after a reconnection, as at-least-once allows.',
});
check(repeated, OPTIONS, async (t) => {
  await using run: StreamRun = await cutOff(t);
  await (await run.stream()).send(frames([first, second]));
  await run.untilDispatched(second.id);
  const times = run.dispatched.filter(({ id }) => id === first.id).length;
  t.observe('an event that is sent again', times > 1 ? 'handed on again' : 'handed on once');
});

const nul = requirement({
  id: 'client.choices.null-id',
  text: 'What a client does with an id that has U+0000 in it. No agent sends one, and the standard leaves it out.',
});
check(nul, OPTIONS, async (t) => {
  await using run: StreamRun = await StreamRun.after(t, [first]);
  await run.current.send(frame(second).replace(`id: ${second.id}`, `id: ${second.id}\u0000`));
  await run.until(() => run.dispatched.length > 1 || undefined);
  run.current.end();
  const asked = await nextOf(run);
  const cursor = asked?.cursor ?? '';
  const value = { [first.id]: 'left out', [second.id]: 'taken without it', '': 'loses its cursor' }[cursor];
  t.observe('an id with U+0000', asked === undefined ? 'never asks again' : (value ?? 'taken as it is'));
});

const noContent = requirement({
  id: 'client.choices.no-content',
  text: 'Whether a client asks again after 204, which in the standard ends the stream for good.',
});
check(noContent, OPTIONS, async (t) => {
  await using run: StreamRun = await cutOff(t);
  (await run.request()).answer(204, '');
  const again = await nextOf(run);
  t.observe('204 in place of a stream', again === undefined ? 'ends' : 'asks again');
});

const otherType = requirement({
  id: 'client.choices.other-type',
  text: 'Whether a client reads a stream that comes as text/plain, which the standard refuses.',
});
check(otherType, OPTIONS, async (t) => {
  await using run: StreamRun = await cutOff(t);
  (await run.request()).answer(200, frames([second, third]), { 'content-type': 'text/plain' });
  const again = await nextOf(run);
  // Waits for one more event, because lines that a client prints may arrive after its next request.
  if (again !== undefined) {
    await again.accept().send(frames([fourth]));
    await run.untilDispatched(fourth.id);
  }
  const reads = run.dispatched.some(({ id }) => id === second.id);
  t.observe('a stream as text/plain', `${reads ? 'read' : 'left out'}; ${again === undefined ? 'ends' : 'asks again'}`);
});

const redirected = requirement({
  id: 'client.choices.redirected',
  text: 'Whether a client follows a redirection of the stream to another host, and whether its cursor goes with it.',
});
check(redirected, OPTIONS, async (t) => {
  await using run: StreamRun = await cutOff(t);
  const cursors: (string | undefined)[] = [];
  await using other = await openElsewhere(t, {
    track: (what) => run.timeline.request(what, ' (at the other address)'),
    request: (asked) => {
      cursors.push(asked.cursor);
      void asked.accept().send(frame(second));
    },
  });
  (await run.request()).answer(307, '', { location: `${other.url}/events` });
  await run.until(() => run.dispatched.length > 1 || run.requests.length > 2 || undefined, 2 * run.patienceMs);
  const how = cursors[0] === undefined ? 'followed without the cursor' : 'followed with the cursor';
  t.observe('a redirection of the stream', cursors.length === 0 ? 'not followed' : how);
});
