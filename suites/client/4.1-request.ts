/** Section 4.1: the request with which a client opens the event stream. */
import { CLIENT_VARIABLES } from '../../harness/contract/client.ts';
import { event, frame } from '../../harness/contract/situations.ts';
import { DISPATCH, FOLLOW, NEWEST, RECONNECT, section } from './support/check.ts';
import type { ClientRequest } from './support/server.ts';
import { StreamRun } from './support/stream-run.ts';

export const { requirement, check, checks } = section({ section: '4.1', since: '2026-11-23' });

export const accept = requirement({
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

export const types = requirement({
  id: 'client.request.types',
  since: NEWEST,
  level: 'MUST',
  clause: '`types` | string | no | Comma-separated list of event types; when omitted all types are sent.',
  text: 'A client whose caller can choose types of events asks for those, as one list with commas.',
});
const WISHES = ['deployment.removed', 'deployment.deployed,deployment.removed'] as const;
check(types, { needs: FOLLOW, premises: RECONNECT }, async (t) => {
  const asked: string[] = [];
  for (const wish of WISHES) {
    await using run: StreamRun = await StreamRun.follow(t, { variables: { [CLIENT_VARIABLES.types]: wish } });
    const stream = await run.stream();
    asked.push(typesOf(stream));
    // Skips a client that sends the same types twice, because such a client offers its caller no choice.
    if (asked.length < WISHES.length || asked[0] === asked[1]) continue;
    run.must(asked.join(' and ') === WISHES.map(inOrder).join(' and '), {
      expected: `types=${WISHES.join(' and types=')}, as ${CLIENT_VARIABLES.types} says`,
      actual: asked.map((each) => (each === '' ? 'none' : `types=${each}`)).join(' and '),
    });
    await stream.send(frame(event(1, { type: 'deployment.removed', data: {} })));
    await run.untilDispatched('1');
    stream.end();
    const again = typesOf(await run.request());
    t.should(again === asked.at(-1), {
      expected: `types=${wish} again after the stream has ended`,
      actual: again === '' ? 'none' : `types=${again}`,
    });
  }
  t.observe('types of events that a caller wants', asked[0] === asked[1] ? 'not taken' : 'asked for');
});

const typesOf = ({ query }: ClientRequest): string => inOrder(query.get('types') ?? '');
const inOrder = (list: string): string => list.split(',').toSorted().join(',');
