/** Section 7: 410 for a cursor that is older than the earliest retained event. */
import type { OpenEvents } from '../../harness/client/sse.ts';
import { isObject, parseJson } from '../../harness/common/lenient.ts';
import { byOracle } from './oracle/explore.ts';
import { compact, type Device, LIVE, STREAM } from './support/check.ts';
import { isEventStream } from './support/requests.ts';
import { section } from './support/section.ts';
import { describeAnswer, describeOpen, endOf, type Streams } from './support/streams.ts';

export const { requirement, check, checks } = section({ section: '7', since: '2026-11-21' });

const gone = requirement({
  id: 'device.events.expired.410',
  level: 'MUST',
  clause: 'The cursor (`after` or `Last-Event-ID`) is older than the earliest retained event.',
  text: 'A cursor older than the earliest retained event gets 410, by after and by Last-Event-ID, and no stream.',
});
byOracle(check, gone, { profile: 'core', needs: ['compact'], least: 'expired cursors' });
byOracle(check, gone, { aspect: 'restart', needs: ['compact', 'restart'], least: 'expired cursors' });

/** Shows only member names, because values differ from run to run. */
function formOf(body: string): string {
  const value = parseJson(body);
  if (value === undefined) return body.trim() === '' ? 'empty' : 'text';
  return `JSON ${isObject(value) ? `{${Object.keys(value).sort().join(', ')}}` : typeof value}`;
}

async function expectGone(t: Device, streams: Streams, options: OpenEvents): Promise<void> {
  const stream = await streams.try(options);
  const expected = `410 and no stream for ${describeOpen(options)}, which lies before the earliest retained event`;
  t.must(stream.status === 410 && !isEventStream(stream), { expected, actual: await describeAnswer(t, stream) });
  const body = await endOf(t, stream).catch((error: Error) => {
    t.must(false, { expected: `${expected}; the answer ends`, actual: error.message });
    return '';
  });
  t.observe('body of a 410', formOf(body));
  t.note(`body of a 410: ${body.slice(0, 120)}`);
  await stream.close();
}

const onceLogIsFull = { sharing: 'exclusive', turn: 'last' } as const;
check(gone, { aspect: 'retained', profile: 'core', premises: STREAM, ...onceLogIsFull }, async (t: Device, streams) => {
  const zero = await streams.try({ after: 0 });
  if (zero.status !== 410) return t.notApplicable('no cursor is known that is certainly expired');
  // Opens a stream without a cursor first, because a device that answers every request with 410 would pass.
  await (await streams.open()).close();
  await expectGone(t, streams, { after: 0 });
  await expectGone(t, streams, { lastEventId: 0 });
  await expectGone(t, streams, { after: 0, types: ['deployment.deployed'] });
});

const boundary = requirement({
  id: 'device.events.expired.boundary',
  level: 'MUST',
  clause: 'older than the earliest retained event',
  text: 'The earliest retained id and every later one is served, not 410, and replays all that follows it.',
});
byOracle(check, boundary, { profile: 'core', needs: ['compact'], least: 'cursors at the earliest event left' });

const only = requirement({
  id: 'device.events.expired.only',
  level: 'SHOULD',
  clause: 'older than the earliest retained event',
  text: '410 is for cursors older than the earliest retained event: one beyond the newest gets another answer.',
});
check(only, { premises: STREAM }, async (t: Device, streams) => {
  await (await streams.open()).close();
  for (const options of [{ after: 2n ** 62n }, { lastEventId: 2n ** 62n }]) {
    const stream = await streams.try(options);
    t.must(stream.status !== 410, {
      expected: `no 410 for ${describeOpen(options)}, which is not older than any event`,
      actual: await describeAnswer(t, stream),
    });
    await stream.close();
  }
});

const zero = requirement({
  id: 'device.events.expired.zero',
  level: 'INFO',
  text: 'Whether after=0 is expired once events have been compacted away, or means "from the earliest", is not stated.',
});
check(zero, { needs: ['drive', 'compact'], turn: 'last', premises: LIVE }, async (t: Device, streams) => {
  const { earliest } = await compact(t);
  if (earliest <= 1n) return t.undecided('nothing has been compacted away yet');
  const stream = await streams.try({ after: 0 });
  t.observe('after=0 once events have been compacted away', stream.status ?? 'no answer');
});

const precedence = requirement({
  id: 'device.events.after-wins.expired',
  level: 'MUST',
  section: '4.1',
  clause: 'Takes precedence over the header.',
  text: 'after takes precedence over Last-Event-ID even when one of the two is expired.',
});
byOracle(check, precedence, { needs: ['compact'], least: 'expired cursors by both' });
