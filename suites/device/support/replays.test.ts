/** Where each event takes a while, checks share a stretch of the log, for as long as it is certainly retained. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, it, onTestFinished } from 'vitest';
import { Recorder } from '../../../harness/client/recorder.ts';
import { Redactor } from '../../../harness/client/redact.ts';
import { requirement } from '../../../harness/runner/define.ts';
import { runCheck } from '../../../harness/runner/run-check.ts';
import { Session } from '../../../harness/runner/session.ts';
import { noControl } from '../../../harness/targets/control/control.ts';
import { layered } from '../../../harness/targets/control/layers.ts';
import { openDeviceTarget } from '../../../harness/targets/open-device.ts';
import { type Device, logMayDiffer } from './check.ts';
import { publish } from './drive.ts';
import { record } from './replays.ts';
import { check } from './section.ts';
import { withStreams } from './streams.ts';

const frame = (id: number): string =>
  `id: ${id}\nevent: a.b\ndata: ` +
  `${JSON.stringify({ object: 'event', id, type: 'a.b', occurred_at: '2026-01-02T03:04:05Z', data: {} })}\n\n`;

/** Runs `work` on a device that replays every event it was made to publish, and compacts nothing. */
async function onDevice(work: (t: Device, published: () => number) => Promise<void>): Promise<void> {
  let newest = 0;
  const server = createServer((request, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    const after = Number(new URL(request.url ?? '', 'http://device').searchParams.get('after') ?? newest);
    for (let id = after + 1; id <= newest; id += 1) response.write(frame(id));
    response.flushHeaders();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const publish = async (count: number) => {
    newest += count;
    return { first_id: newest - count + 1, last_id: newest };
  };
  const control = layered(noControl, {
    info: async () => ({ capabilities: ['drive'] }),
    call: (call) => (call.name === 'publish' ? publish(call.count) : undefined),
  });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const target = await openDeviceTarget({ url, redactor: new Redactor(), env: {}, attach: async () => control });
  onTestFinished(async () => {
    await target.close();
    server.closeAllConnections();
    server.close();
  });
  const any = requirement({ id: 'device.any', level: 'MUST', section: '6', since: '2026-11-21', text: 'Anything.' });
  const recorder = new Recorder(new Redactor());
  const one = check(any, { needs: ['drive'] }, (t: Device) => work(t, () => newest));
  const context = (over: AbortSignal) => target.context(recorder, over);
  const { signal } = new AbortController();
  const result = await runCheck({
    check: one,
    context,
    recorder,
    session: new Session(),
    seed: 1,
    runs: 1,
    signal,
    limitMs: 60_000,
  });
  expect(result).toMatchObject({ outcome: 'pass' });
}

it('is shared on a slow target until something may have removed it', () =>
  onDevice((t, published) =>
    withStreams(t, async (streams) => {
      const slow = (): void => {
        for (let round = 0; round < 5; round += 1) t.session.took('publish', 200);
        t.session.took('deployment', 2000);
      };
      slow();
      const first = await record(t, streams, 3);
      const count = published();
      slow();
      expect(await record(t, streams, 3)).toBe(first);
      expect(published()).toBe(count);
      // As many events as a device may keep could have been published meanwhile.
      await publish(t, 50);
      slow();
      const second = await record(t, streams, 3);
      expect(second.cursor).toBeGreaterThan(first.cursor);
      // Nobody knows what a compaction or a restart has left.
      logMayDiffer(t);
      await publish(t, 1);
      slow();
      expect((await record(t, streams, 3)).cursor).toBeGreaterThan(second.cursor);
    }),
  ));
