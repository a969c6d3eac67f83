/** Section 4.1: the request by which a client opens the event stream. */
import { DISPATCH, FOLLOW, section } from './support/check.ts';
import { StreamRun } from './support/stream-run.ts';

export const { requirement, check, checks } = section({ section: '4.1', since: '2026-11-23' });

const accept = requirement({
  id: 'client.request.accept',
  level: 'SHOULD',
  clause: 'open a long-lived SSE stream of events',
  text: 'A client asks for text/event-stream, or accepts anything.',
});
check(accept, { needs: FOLLOW, premises: DISPATCH }, async (t) => {
  await using run: StreamRun = await StreamRun.follow(t);
  const { headers } = await run.request();
  const value = headers['accept'];
  const accepts = value === undefined || /text\/event-stream|text\/\*|\*\/\*/i.test(value);
  run.must(accepts, { expected: 'Accept: text/event-stream, */* or none', actual: `Accept: ${value}` });
});
