/** A control that is bound to a check ends with it: requests, shell lines, polls and waits. */
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, onTestFinished, test } from 'vitest';
import { HttpClient } from '../../client/http.ts';
import { poll } from '../../common/waiting.ts';
import { CommandControl } from './command-control.ts';
import { ControlError, ControlLate, ControlRefused } from './control.ts';
import { EventWatch } from './event-watch.ts';
import { HttpControl } from './http-control.ts';
import { PlatformControl } from './platform-control.ts';

const folder = mkdtempSync(join(tmpdir(), 'muster-bound-'));
afterAll(() => rmSync(folder, { recursive: true }));

async function serve(listener: RequestListener): Promise<{ url: string; closed: Promise<unknown> }> {
  const server = createServer(listener).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const closed = once(server, 'connection').then(([socket]) => once(socket, 'close'));
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, closed };
}

describe('control over HTTP', () => {
  test('ends a pending request with its signal', async () => {
    const asked = Promise.withResolvers<void>();
    const { url, closed } = await serve(() => asked.resolve());
    const over = new AbortController();
    const publishing = new HttpControl(url).publish(3, over.signal);
    await asked.promise;
    over.abort();
    await expect(publishing).rejects.toThrow(ControlError);
    await closed;
  });

  test('tells a refusal, a failure, garbage and no answer apart', async () => {
    const { url } = await serve((request, response) => {
      if (request.url === '/compact') response.end('{"earliest');
      else if (request.url !== '/stop') response.writeHead(request.url === '/events' ? 409 : 500).end('no');
    });
    const control = new HttpControl(url, { timeoutMs: 200 });
    await expect(control.publish(1)).rejects.toThrow(ControlRefused);
    await expect(control.deploy()).rejects.not.toBeInstanceOf(ControlRefused);
    await expect(control.compact()).rejects.toThrow(/is not a ControlCompacted/);
    await expect(control.stop()).rejects.toThrow(ControlLate);
  });
});

test('control by shell lines kills a line with all that it started', async () => {
  const control = new CommandControl(
    { drive: 'sleep 600 & echo $! > child; mv child pid; wait' },
    { env: process.env, cwd: folder },
  );
  const over = new AbortController();
  const publishing = control.publish(1, over.signal);
  const pid = join(folder, 'pid');
  await poll('the line to start its child', () => existsSync(pid) || undefined, { timeoutMs: 30_000 });
  over.abort();
  await expect(publishing).rejects.toThrow(/was ended with its check/);
  const child = Number(readFileSync(pid, 'utf8'));
  const gone = (): true | undefined => {
    try {
      return readFileSync(`/proc/${child}/stat`, 'utf8').includes(') Z ') || undefined;
    } catch {
      return true;
    }
  };
  await poll('the child to end', gone, { timeoutMs: 30_000 });
});

describe('control by deployments', () => {
  const answers: RequestListener = (request, response) => {
    request.resume();
    response.setHeader('content-type', 'application/json');
    // The platform never reports a deployment as deployed.
    response.end(JSON.stringify({ id: 'x_1', activity_status: 'queued', error_status: 'none' }));
  };

  test('ends its polls with its signal, and lets the next call have its turn', async () => {
    const { url } = await serve(answers);
    const http = new HttpClient({ endpoint: { origin: url } });
    const control = new PlatformControl({ platform: http, device: http, deviceId: 'dvc_1', timeoutMs: 200 });
    const over = new AbortController();
    const first = control.deploy({}, over.signal);
    const waiting = control.deploy({}, over.signal);
    over.abort(new ControlError('over'));
    await expect(first).rejects.toThrow();
    await expect(waiting).rejects.toThrow('over');
    await expect(control.deploy()).rejects.toThrow(/did not report x_1 as deployed within 0.2 s/);
    await http.close();
  });

  test('says why no event can be published when the stream does not open', async () => {
    const { url } = await serve((request, response) => {
      if (request.url?.startsWith('/events') === true) response.writeHead(404).end();
      else answers(request, response);
    });
    const http = new HttpClient({ endpoint: { origin: url } });
    const control = new PlatformControl({ platform: http, device: http, deviceId: 'dvc_1', timeoutMs: 300 });
    await expect(control.publish(1)).rejects.toThrow(
      /event stream.* did not open within 0.3 s: GET \/events answered 404/,
    );
    await control.close();
    await http.close();
  });
});

test('an event watch opens again after a lost connection, and does not repeat a fault of Muster', async () => {
  let connections = 0;
  const { url } = await serve((_, response) => {
    connections += 1;
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    if (connections === 1) response.destroy();
    else response.write('id: 1\nevent: a.b\ndata: {"id":1,"type":"a.b"}\n\n');
  });
  const http = new HttpClient({ endpoint: { origin: url } });
  await using watch = new EventWatch(http);
  await watch.start(30_000);
  expect(await watch.until(({ id }) => id === 1, 0, 30_000)).toMatchObject({ type: 'a.b' });

  const faulty = new HttpClient({ endpoint: { origin: url } });
  faulty.open = () => Promise.reject(new TypeError('a fault of ours'));
  faulty.with = () => faulty;
  await using never = new EventWatch(faulty);
  await expect(never.start(30_000)).rejects.toThrow('a fault of ours');
  await http.close();
  await faulty.close();
});
