/** Section 9: the version prefix of the path. */
import type { HttpResponse } from '../../harness/client/http.ts';
import type { EventStream } from '../../harness/client/sse.ts';
import { Violation } from '../../harness/runner/violation.ts';
import { type Device, ignoring, STREAM } from './support/check.ts';
import { CURRENT, isDeployment, isEventStream, objectOf, request } from './support/requests.ts';
import { section } from './support/section.ts';
import type { Streams } from './support/streams.ts';

export const { requirement, check, checks } = section({ section: '9', since: '2026-11-21' });

const prefix = requirement({
  id: 'device.version.prefix',
  level: 'MUST',
  clause: 'The version prefix is part of the path: `/v0.2`.',
  text:
    'The Device API is served below /v0.2; ' +
    'the same paths without the prefix, or below another version, do not answer as v0.2.',
});

/** Fails only if both paths answer 404; the checks of each path judge other refusals. */
check(prefix, { profile: 'core', essential: true, outsideApi: true }, async (t: Device, streams) => {
  const { basePath } = t.http;
  const current = await answerAt(t, basePath);
  if (isDeployment(current)) return;
  // Tries the stream too, because a device without a deployment may answer 404 to the current deployment.
  const stream = await streamAt(streams, t);
  t.must(current?.status !== 404 || stream?.status !== 404, {
    expected: `the Device API below ${basePath}: a deployment at ${CURRENT}, or an event stream at /events`,
    actual: `404 for both${await deploymentElsewhere(t)}`,
  });
  await stream?.close();
  // Tries another version too, because a server that opens a stream at every path proves nothing.
  const other = isStream(stream) ? await streamAt(streams, t, `${rootOf(t)}/v9.9`) : undefined;
  if (!isStream(stream) || isStream(other))
    t.blocked(
      `neither a deployment at ${basePath}${CURRENT} nor an event stream at ${basePath}/events shows what is served`,
    );
});

const rootOf = ({ http }: Device): string => http.basePath.replace(/\/v0\.2$/, '');

const answerAt = (t: Device, basePath: string): Promise<HttpResponse | undefined> =>
  request(t, { path: basePath + CURRENT, absolute: true }).catch(ignoring(Violation));

const streamAt = (streams: Streams, t: Device, basePath = t.http.basePath): Promise<EventStream | undefined> =>
  streams.try({}, t.http.with({ basePath })).catch(ignoring(Violation));

const isStream = (stream: EventStream | undefined): boolean => stream?.status === 200 && isEventStream(stream);

async function deploymentElsewhere(t: Device): Promise<string> {
  for (const elsewhere of ['', '/v0.2.2', '/v0'].map((prefix) => rootOf(t) + prefix))
    if (isDeployment(await answerAt(t, elsewhere))) return `; there is a deployment at ${elsewhere}${CURRENT}`;
  return '';
}

check(
  prefix,
  { aspect: 'elsewhere', profile: 'core', premises: STREAM, outsideApi: true },
  async (t: Device, streams) => {
    // Proves that the API is served, even by a device without a deployment.
    await (await streams.open()).close();
    for (const elsewhere of [rootOf(t), `${rootOf(t)}/v9.9`]) {
      const current = await request(t, { path: elsewhere + CURRENT, absolute: true });
      t.should(!(current.status === 200 && objectOf(current)?.['object'] === 'deployment'), {
        expected: `no v0.2 deployment at ${elsewhere}${CURRENT}`,
        actual: `${current.status} with a deployment`,
      });
      const stream = await streams.try({}, t.http.with({ basePath: elsewhere }));
      t.should(!isStream(stream), {
        expected: `no v0.2 event stream at ${elsewhere}/events`,
        actual: '200 with an event stream',
      });
    }
  },
);
