/**
 * A silent stream is asked with one more event, so that a lost event is proven at once and a late one is waited for.
 */
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, it, onTestFinished } from 'vitest';
import { Recorder } from '../../../harness/client/recorder.ts';
import { Redactor } from '../../../harness/client/redact.ts';
import { requirement } from '../../../harness/runner/define.ts';
import { runCheck } from '../../../harness/runner/run-check.ts';
import { Session } from '../../../harness/runner/session.ts';
import type { CheckResult } from '../../../harness/runner/types.ts';
import { noControl } from '../../../harness/targets/control/control.ts';
import { layered } from '../../../harness/targets/control/layers.ts';
import { openDeviceTarget } from '../../../harness/targets/open-device.ts';
import type { Device } from './check.ts';
import { publish, readUpTo } from './drive.ts';
import { check } from './section.ts';

const frame = (id: number): string =>
  `id: ${id}\nevent: a.b\ndata: ` +
  `${JSON.stringify({ object: 'event', id, type: 'a.b', occurred_at: '2026-01-02T03:04:05Z', data: {} })}\n\n`;

/** A device that sends each event when `send` says so. */
async function startDevice(send: (id: number, write: () => void) => void) {
  const streams = new Set<ServerResponse>();
  let newest = 0;
  const server = createServer((request, response) => {
    if (request.method !== 'GET' || request.url?.endsWith('/events') !== true) return void response.end('{}');
    response.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders();
    streams.add(response);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const publish = async (count: number) => {
    const first_id = newest + 1;
    for (let sent = 0; sent < count; sent += 1) {
      newest += 1;
      const id = newest;
      send(id, () => {
        for (const stream of streams) stream.write(frame(id));
      });
    }
    return { first_id, last_id: newest };
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
  return target;
}

const any = requirement({ id: 'device.any', level: 'MUST', section: '6', since: '2026-11-21', text: 'Anything.' });

async function readTwo(target: Awaited<ReturnType<typeof startDevice>>): Promise<CheckResult> {
  const { signal } = new AbortController();
  const recorder = new Recorder(new Redactor());
  const one = check(any, { needs: ['drive'] }, async (t: Device, streams) => {
    const live = await streams.open();
    await readUpTo(live, await publish(t, 2));
  });
  const context = (over: AbortSignal) => target.context(recorder, over);
  return runCheck({ check: one, context, recorder, session: new Session(), seed: 1, runs: 1, signal, limitMs: 60_000 });
}

it('an event after which a later one has come is lost', async () => {
  const result = await readTwo(await startDevice((id, write) => id !== 2 && write()));
  expect(result).toMatchObject({
    outcome: 'fail',
    expected: 'the published events 1 to 2, on an open stream',
    actual: 'event 3, which was published after them, and not 2',
  });
});

it('an event that is late comes before the one that was asked for', async () => {
  let late: () => void = () => {};
  const target = await startDevice((id, write) => {
    if (id === 2) late = write;
    else if (id > 2) {
      late();
      write();
    } else write();
  });
  expect(await readTwo(target)).toMatchObject({ outcome: 'pass' });
});
