import { expect, onTestFinished, test, vi } from 'vitest';
import { Unreachable } from '../../client/errors.ts';
import { poll } from '../../common/waiting.ts';
import { EventWatch } from './event-watch.ts';
import { FakeDevice } from './testing/fakes.ts';

const IN_TIME_MS = 30_000;

async function watching(change: Partial<FakeDevice> = {}) {
  const device = await FakeDevice.start();
  Object.assign(device, change);
  const watch = new EventWatch(device.http);
  onTestFinished(async () => {
    await watch[Symbol.asyncDispose]();
    await device[Symbol.asyncDispose]();
  });
  const streams = () => device.requests.filter((request) => request.startsWith('GET /events'));
  const opened = (count: number) =>
    poll('the stream to be opened again', () => streams().length >= count || undefined, { timeoutMs: IN_TIME_MS });
  const seeEvent7 = async () => {
    await watch.start(IN_TIME_MS);
    device.sendEvent(7);
    await watch.until(({ id }) => id === 7, 0, IN_TIME_MS);
  };
  return { device, watch, streams, opened, seeEvent7 };
}

test('a watch keeps events in order from a mark, and skips invalid data', async () => {
  const { device, watch } = await watching();
  await watch.start(IN_TIME_MS);
  await watch.start(IN_TIME_MS);
  for (const data of ['{', 'null', '{"id":"1","type":"a"}', '{"id":1}', '{"type":"a.b"}']) device.send(data);
  device.sendEvent(1, ',"data":{"deployment_id":"d1"}');
  device.sendEvent(2n ** 60n + 1n, ',"data":{"deployment_id":5}');
  device.sendEvent(3);
  await watch.until(({ id }) => id === 3, 0, IN_TIME_MS);
  expect(watch.since(0)).toEqual([
    { id: 1, type: 'a.b', deploymentId: 'd1', data: { deployment_id: 'd1' } },
    { id: 2n ** 60n + 1n, type: 'a.b', deploymentId: undefined, data: { deployment_id: 5 } },
    { id: 3, type: 'a.b', deploymentId: undefined, data: {} },
  ]);
  expect([watch.mark, watch.since(2)]).toMatchObject([3, [{ id: 3 }]]);
  expect(await watch.until(({ id }) => id === 1, 1, 20)).toBeUndefined();
  expect(device.requests).toHaveLength(1);
});

test('a watch continues after its last event when the connection is lost', async () => {
  const { device, watch, streams, opened, seeEvent7 } = await watching();
  await seeEvent7();
  device.retained = [7, 8];
  device.cut();
  expect(await watch.until(({ id }) => id === 8, 1, IN_TIME_MS)).toMatchObject({ id: 8 });
  await opened(2);
  expect(streams()).toEqual(['GET /events', 'GET /events?after=7']);
  expect(watch.since(0).map(({ id }) => id)).toEqual([7, 8]);
});

test('a watch starts with new events when its cursor was compacted away', async () => {
  const { device, watch, streams, opened, seeEvent7 } = await watching();
  await seeEvent7();
  device.eventsStatus = 503;
  device.cut();
  await opened(2);
  device.eventsStatus = 410;
  await opened(4);
  device.eventsStatus = 200;
  await opened(5);
  const [first, second, ...others] = streams();
  expect([first, second]).toEqual(['GET /events', 'GET /events?after=7']);
  expect(others.at(-1)).toBe('GET /events');
  expect(watch.refusalStatus).toBe(410);
});

test('a watch asks an agent that is down for no stream, and then for all events if it saw none', async () => {
  const { device, streams, opened } = await watching();
  const { http } = device;
  const { connect } = http;
  let tries = 0;
  http.with = () => http;
  http.connect = () => {
    tries += 1;
    return tries < 3 ? Promise.reject(new Unreachable('down')) : connect.call(http);
  };
  await using watch = new EventWatch(http);
  await watch.start(IN_TIME_MS);
  device.cut();
  await opened(2);
  device.sendEvent(1);
  // Ends only a stream that has opened, because this client ignores the signal of its watch.
  await watch.until(({ id }) => id === 1, 0, IN_TIME_MS);
  expect([streams(), tries]).toEqual([['GET /events', 'GET /events?after=0'], 3]);
});

test('a watch reopens a stream that does not open, and reports the reason', async () => {
  const { watch, opened } = await watching({ eventsStatus: 404 });
  await expect(watch.start(500)).rejects.toThrow(
    "control: the device's event stream, which shows what was published, did not open within 0.5 s: " +
      'GET /events answered 404',
  );
  await opened(2);
});

test('a wait for a silent agent reports that it has not answered', async () => {
  const { device } = await watching();
  const silent = device.http;
  silent.with = ({ signal }) => {
    silent.open = () =>
      new Promise((_, reject) => signal?.addEventListener('abort', () => reject(signal.reason), { once: true }));
    return silent;
  };
  await using watch = new EventWatch(silent);
  await expect(watch.start(100)).rejects.toThrow('did not open within 0.1 s: the agent has not answered yet');
});

test('a wait ends with its signal, and the stream ends with the watch', async () => {
  const { device, watch, streams } = await watching();
  await watch.start(IN_TIME_MS);
  const over = new AbortController();
  const waiting = watch.until(() => false, 0, IN_TIME_MS, over.signal);
  over.abort(new Error('over'));
  await expect(waiting).rejects.toThrow('over');
  await watch[Symbol.asyncDispose]();
  device.sendEvent(1);
  expect([watch.mark, streams()]).toEqual([0, ['GET /events']]);
});

test('a fault in Muster rejects every wait, and the stream is not reopened', async () => {
  const { device } = await watching();
  const faulty = device.http;
  const open = vi.fn(() => Promise.reject(new TypeError('a fault of ours')));
  Object.assign(faulty, { open, with: () => faulty });
  await using watch = new EventWatch(faulty);
  await expect(watch.start(IN_TIME_MS)).rejects.toThrow('a fault of ours');
  await expect(watch.until(() => true, 0, IN_TIME_MS)).rejects.toThrow('a fault of ours');
  expect(open).toHaveBeenCalledTimes(1);
});
