/** Section 9: the version prefix of the path. */
import { requirement } from '../../harness/runner/define.ts';
import { ask, CURRENT, mediaType, objectOf } from './support/ask.ts';
import { check, type Device } from './support/context.ts';
import { withStreams } from './support/streams.ts';

const prefix = requirement({
  id: 'device.version.prefix',
  level: 'MUST',
  section: '9',
  since: '2026-11-21',
  text: 'The Device API is served below /v0.2; the same paths without the prefix, or below another version, do not answer as v0.2.',
});

export default [
  check(prefix, { sharing: 'shared', profile: 'core' }, (context: Device) =>
    withStreams(context, async (streams) => {
      // The stream and not the deployment: a device without a deployment may answer 404 there.
      await streams.open();
      const root = context.http.basePath.replace(/\/v0\.2$/, '');
      for (const elsewhere of [root, `${root}/v9.9`]) {
        const current = await ask(context, { path: elsewhere + CURRENT, absolute: true });
        context.should(!(current.status === 200 && objectOf(current)?.['object'] === 'deployment'), {
          expected: `no v0.2 deployment at ${elsewhere}${CURRENT}`,
          actual: `${current.status} with a deployment`,
        });
        const stream = await streams.try({}, context.http.with({ basePath: elsewhere }));
        context.should(!(stream.status === 200 && mediaType(stream.headers) === 'text/event-stream'), {
          expected: `no v0.2 event stream at ${elsewhere}/events`,
          actual: '200 with an event stream',
        });
      }
    }),
  ),
];
