/** A check that a device throttles waits for other checks of the same target, and for no others. */
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, it, onTestFinished } from 'vitest';
import { Recorder } from '../../../harness/client/recorder.ts';
import { Redactor } from '../../../harness/client/redact.ts';
import { requirement } from '../../../harness/runner/define.ts';
import { runCheck } from '../../../harness/runner/run-check.ts';
import { Session } from '../../../harness/runner/session.ts';
import { openDeviceTarget } from '../../../harness/targets/open-device.ts';
import type { OpenDeviceTarget } from '../../../harness/targets/opened.ts';
import type { Device } from './check.ts';
import { OPEN_STREAMS } from './requests.ts';
import { check } from './section.ts';
import { withStreams } from './streams.ts';

/** A device that serves so many streams at once and throttles the others without a Retry-After. */
async function startDevice(capacity: number) {
  const served = new Set<ServerResponse>();
  let requests = 0;
  let onThrottled = (): void => {};
  const server = createServer((request, response) => {
    // Whether it answers at all is asked in another way, as the target is opened.
    if (request.method === 'GET' && request.url?.endsWith('/events') === true) requests += 1;
    if (served.size >= capacity) {
      response.writeHead(503).end();
      onThrottled();
      return;
    }
    served.add(response);
    response.once('close', () => served.delete(response));
    response.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const target = await openDeviceTarget({ url: `http://127.0.0.1:${port}`, redactor: new Redactor(), env: {} });
  onTestFinished(async () => {
    await target.close();
    server.closeAllConnections();
    server.close();
  });
  const throttled = new Promise<void>((resolve) => {
    onThrottled = resolve;
  });
  return { target, throttled, requests: () => requests };
}

const any = requirement({ id: 'device.any', level: 'MUST', section: '6', since: '2026-11-21', text: 'Anything.' });

/** Of each target. */
const sessions = new Map<OpenDeviceTarget, Session>();

function run(target: OpenDeviceTarget, body: (t: Device) => Promise<unknown>) {
  const session = sessions.get(target) ?? new Session();
  sessions.set(target, session);
  const { signal } = new AbortController();
  const recorder = new Recorder(new Redactor());
  const context = target.context(recorder, signal);
  const one = check(any, {}, async (t: Device) => void (await body(t)));
  return runCheck({ check: one, context: () => context, recorder, session, seed: 1, runs: 1, signal, limitMs: 60_000 });
}

describe('a check that is throttled', () => {
  it('does not wait for a stream of another target', async () => {
    const serving = await startDevice(1);
    const throttling = await startDevice(0);
    const outcomes: string[] = [];
    const holding = await run(serving.target, (t) =>
      withStreams(t, async (streams) => {
        await streams.open();
        const result = await run(throttling.target, (other) => withStreams(other, (its) => its.open()));
        outcomes.push(result.outcome);
      }),
    );
    expect([...outcomes, holding.outcome]).toEqual(['fail', 'pass']);
    expect(throttling.requests()).toBe(1);
  });

  it('waits until another check of its target closes a stream', async () => {
    const { target, throttled, requests } = await startDevice(1);
    const results = await Promise.all([
      run(target, (t) =>
        withStreams(t, async (streams) => {
          await streams.open();
          await throttled;
        }),
      ),
      run(target, (t) => withStreams(t, (streams) => streams.open())),
    ]);
    expect(results.map(({ outcome }) => outcome)).toEqual(['pass', 'pass']);
    expect(requests()).toBeGreaterThan(2);
  });

  it('shares the count of open streams with all checks of its target alone', async () => {
    const [one, other] = [await startDevice(1), await startDevice(1)];
    const counts: number[] = [];
    await run(one.target, (t) =>
      withStreams(t, async (streams) => {
        await streams.open();
        for (const { target } of [one, other])
          await run(target, async (beside) => counts.push(beside.session.get(OPEN_STREAMS).count));
      }),
    );
    expect(counts).toEqual([1, 0]);
  });
});
