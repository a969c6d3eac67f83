/** Tests that a throttled check waits for other checks of its target only. */
import type { ServerResponse } from 'node:http';
import { describe, expect, it, onTestFinished } from 'vitest';
import { Session } from '../../../harness/runner/session.ts';
import type { OpenDeviceTarget } from '../../../harness/targets/opened.ts';
import { OPEN_STREAMS } from './requests.ts';
import type { Streams } from './streams.ts';
import { openTarget, runOn } from './testing/device.ts';

/** Device that serves `capacity` streams at once and throttles more streams without a `Retry-After`. */
async function startDevice(capacity: number) {
  const served = new Set<ServerResponse>();
  let requests = 0;
  let onThrottled = (): void => {};
  const target = await openTarget((request, response) => {
    // Counts requests for streams only, since opening the target sends other requests.
    if (request.method === 'GET' && request.url?.endsWith('/events') === true) requests += 1;
    if (served.size >= capacity) {
      response.writeHead(503).end();
      onThrottled();
      return;
    }
    served.add(response);
    response.once('close', () => served.delete(response));
    response.writeHead(200, { 'content-type': 'text/event-stream' }).write('id: 1\nevent: a.b\ndata: {}\n\n');
  });
  const throttled = new Promise<void>((resolve) => {
    onThrottled = resolve;
  });
  return { target, throttled, requests: () => requests };
}

async function connected(streams: Streams): Promise<unknown> {
  const source = streams.connect(['a.b']);
  onTestFinished(() => source.close());
  return source.until(() => true, { within: 20_000, for: 'an event' });
}

const sessions = new Map<OpenDeviceTarget, Session>();

function run(target: OpenDeviceTarget, body: Parameters<typeof runOn>[1]) {
  const session = sessions.get(target) ?? new Session();
  sessions.set(target, session);
  return runOn(target, body, session);
}

describe('a check that is throttled', () => {
  it('does not wait for a stream of another target', async () => {
    const serving = await startDevice(1);
    const throttling = await startDevice(0);
    const outcomes: string[] = [];
    const holding = await run(serving.target, async (_t, streams) => {
      await streams.open();
      const result = await run(throttling.target, (_other, its) => its.open());
      outcomes.push(result.outcome);
    });
    expect([...outcomes, holding.outcome]).toEqual(['fail', 'pass']);
    expect(throttling.requests()).toBe(1);
  });

  const ways: [name: string, open: (streams: Streams) => Promise<unknown>][] = [
    ['a stream', (streams) => streams.open()],
    ['a standard client', (streams) => connected(streams)],
  ];
  it.for(ways.flatMap(([holds, hold]) => ways.map(([waits, wait]) => [waits, holds, wait, hold] as const)))(
    'waits with %s until another check of its target closes %s',
    async ([, , wait, hold]) => {
      const { target, throttled, requests } = await startDevice(1);
      const holding = Promise.withResolvers<void>();
      const results = await Promise.all([
        run(target, async (_t, streams) => {
          await hold(streams);
          holding.resolve();
          await throttled;
        }),
        holding.promise.then(() => run(target, (_t, streams) => wait(streams))),
      ]);
      expect(results.map(({ outcome }) => outcome)).toEqual(['pass', 'pass']);
      expect(requests()).toBeGreaterThan(2);
    },
  );

  it.for(ways)('does not apply with %s beside its own stream, where the device serves one', async ([, wait]) => {
    const { target } = await startDevice(1);
    const result = await run(target, async (_t, streams) => {
      await streams.open();
      await wait(streams);
    });
    expect(result).toMatchObject({
      outcome: 'not_applicable',
      reason: 'the device serves no more than 1 stream at once',
    });
  });

  it('shares the count of open streams with all checks of its target alone', async () => {
    const [one, other] = [await startDevice(1), await startDevice(1)];
    const counts: number[] = [];
    await run(one.target, async (_t, streams) => {
      await streams.open();
      for (const { target } of [one, other])
        await run(target, async (beside) => counts.push(beside.session.get(OPEN_STREAMS).count));
    });
    expect(counts).toEqual([1, 0]);
  });
});
