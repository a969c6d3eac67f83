/** Section 9: the version prefix of the path. */
import { requirement } from '../../harness/runner/define.ts';
import { check, type Device } from './support/check.ts';
import { STREAM } from './support/premises.ts';
import { CURRENT, mediaType, objectOf, request } from './support/requests.ts';
import { withStreams } from './support/streams.ts';

const prefix = requirement({
  id: 'device.version.prefix',
  level: 'MUST',
  section: '9',
  since: '2026-11-21',
  clause: 'The version prefix is part of the path: `/v0.2`.',
  text: 'The Device API is served below /v0.2; the same paths without the prefix, or below another version, do not answer as v0.2.',
});

const prefixCheck = check(prefix, { sharing: 'shared', profile: 'core', premises: STREAM }, (t: Device) =>
  withStreams(t, async (streams) => {
    // The stream and not the deployment: a device without a deployment may answer 404 there.
    await streams.open();
    const root = t.http.basePath.replace(/\/v0\.2$/, '');
    for (const elsewhere of [root, `${root}/v9.9`]) {
      const current = await request(t, { path: elsewhere + CURRENT, absolute: true });
      t.should(!(current.status === 200 && objectOf(current)?.['object'] === 'deployment'), {
        expected: `no v0.2 deployment at ${elsewhere}${CURRENT}`,
        actual: `${current.status} with a deployment`,
      });
      const stream = await streams.try({}, t.http.with({ basePath: elsewhere }));
      t.should(!(stream.status === 200 && mediaType(stream.headers) === 'text/event-stream'), {
        expected: `no v0.2 event stream at ${elsewhere}/events`,
        actual: '200 with an event stream',
      });
    }
  }),
);

export default [prefixCheck];
