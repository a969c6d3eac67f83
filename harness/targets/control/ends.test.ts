/** The ends of control: what a call becomes, what they make of the answer, and that a call ends with its signal. */
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, describe, expect, onTestFinished, test } from 'vitest';
import { HttpClient } from '../../client/http.ts';
import { poll } from '../../common/waiting.ts';
import { CommandControl } from './command-control.ts';
import { type CallName, ControlError, ControlLate } from './control.ts';
import { acceptsControl, HttpControl } from './http-control.ts';
import { PlatformControl } from './platform-control.ts';
import { CALLS } from './testing/fakes.ts';

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
    over.abort(new Error('its check is over'));
    await expect(publishing).rejects.toThrow(new ControlError('control: its check is over'));
    await closed;
  });

  const compacted = '{"earliest_id":1,"latest_id":9007199254740993}';
  test.each<[CallName, asked: string, body: string, answer: string, result: unknown]>([
    ['deploy', 'POST /deployments', '{"description":"x"}', '{"id":"d"}', { id: 'd' }],
    ['remove', 'POST /deployments/a%20b/remove', '', '{"id":"d"}', { id: 'd' }],
    ['publish', 'POST /events', '{"count":2}', '{"first_id":1,"last_id":2}', { first_id: 1, last_id: 2 }],
    ['compact', 'POST /compact', '', compacted, { earliest_id: 1, latest_id: 9007199254740993n }],
    ['stop', 'POST /stop', '{"signal":"SIGKILL"}', '', undefined],
    ['start', 'POST /start', '', '', undefined],
  ])('sends %s as %s', async (name, asked, body, answer, result) => {
    const seen: string[] = [];
    const { url } = await serve(async (request, response) => {
      seen.push(`${request.method} ${request.url}`, await text(request), request.headers.authorization ?? '');
      response.end(answer);
    });
    const control = new HttpControl(`${url}/base/`, { token: 's3cret' });
    onTestFinished(() => control.close());
    expect(await control.call(CALLS[name])).toEqual(result);
    const [method = '', path = ''] = asked.split(' ');
    expect(seen).toEqual([`${method} /base${path}`, body, 'Bearer s3cret']);
    const line = control.line(CALLS[name]);
    expect(line).toContain(`${url}/base${path}`);
    expect(line.includes('content-type: application/json')).toBe(body !== '');
    expect(line.includes(body) && line.includes('MUSTER_CONTROL_TOKEN') && !line.includes('s3cret')).toBe(true);
  });

  test.each<[status: number, body: string, CallName, kind: string, words: string]>([
    [409, 'not now', 'publish', 'ControlRefused', 'control POST /events answered 409: not now'],
    [
      401,
      'no',
      'start',
      'ControlRefused',
      ' /start answered 401: no. Its token is taken from MUSTER_CONTROL_TOKEN, or',
    ],
    [500, 'no', 'compact', 'ControlError', 'control POST /compact answered 500: no'],
    [304, '', 'compact', 'ControlError', 'control POST /compact answered 304'],
    [200, '{"earl', 'compact', 'ControlError', ' /compact answered something that is not a ControlCompacted: '],
    [200, '{"first_id":1}', 'publish', 'ControlError', 'something that is not a ControlPublished:'],
    [200, '{"id":1}', 'deploy', 'ControlError', 'POST /deployments answered a deployment without id: {"id":1}'],
    [200, 'null', 'remove', 'ControlError', 'answered a deployment without id: null'],
  ])('calls %i %j to %s what it is', async (status, body, name, kind, words) => {
    const { url } = await serve((_, response) => void response.writeHead(status).end(body));
    const failure: unknown = await new HttpControl(url).call(CALLS[name]).catch((error: unknown) => error);
    expect(failure).toHaveProperty('message', expect.stringContaining(words));
    expect(failure).toHaveProperty('name', kind);
    expect((failure as Error).message.includes('token')).toBe(status === 401);
  });

  test('says what it can do, also on a socket; an answer that is none, and one that is late, are errors', async () => {
    const info = { capabilities: ['drive'], retention: 5 };
    const { url } = await serve((request, response) => {
      if (request.method === 'GET') response.end(JSON.stringify(request.url === '/' ? info : {}));
    });
    const late = new HttpControl(url, { timeoutMs: 200 });
    expect([late.kind, await late.info()]).toEqual([`http ${url}`, info]);
    expect(await new HttpControl(new URL(url).port).info()).toEqual(info);
    await expect(new HttpControl(`${url}/other`).info()).rejects.toThrow(
      'control GET / answered something that is not a ControlInfo',
    );
    await expect(late.stop()).rejects.toThrow('control POST /stop: no whole answer within 0.2 s');
    await expect(late.start()).rejects.toThrow(ControlLate);
    const nowhere = new HttpControl(join(folder, 'none.sock'));
    expect(nowhere.line({ name: 'start' })).toMatch(/--unix-socket \S+none.sock .*http:\/\/localhost\/start/);
    await expect(nowhere.start()).rejects.toThrow(/^control: .*no such socket/);
    expect([await acceptsControl(join(folder, 'none.sock')), await acceptsControl(url)]).toEqual([false, true]);
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

  type Shown = Partial<Record<'activity_status' | 'error_status', string>>;
  const files = { config_instances: [{ filepath: 'a.json', content: '{}' }] };
  test.each<[shown: Shown, asked: string, (control: PlatformControl) => Promise<unknown>, ends: string]>([
    [{ activity_status: 'deployed' }, 'a deployment', (control) => control.deploy(files as never), 'x_1 deployed'],
    [{ error_status: 'failed' }, 'a deployment', (control) => control.deploy(), 'the agent reported x_1 as failed'],
    [{ error_status: 'failed' }, 'a failure', (control) => control.deploy({ error_status: 'failed' }), 'x_1 queued'],
    [{}, 'a queued one', (control) => control.deploy({ activity_status: 'queued' }), 'drive an agent to queued with'],
    [{}, 'one to retry', (control) => control.deploy({ error_status: 'retrying' }), 'to deployed with error retrying'],
    [{}, 'a target', (control) => control.deploy({ target_status: 'staged' as never }), 'to deployed with error none'],
    [{}, 'a release', (control) => control.deploy({ release_id: 'r' }), 'a platform chooses the id of a release'],
    [{ activity_status: 'archived' }, 'a removal', (control) => control.remove('x_1'), 'x_1 is archived already'],
    [{}, 'a compaction', (control) => control.compact(), 'a platform cannot make an agent compact its log'],
    [{}, 'a stop', (control) => control.stop(), 'a platform cannot stop an agent; start it with --command'],
    [{}, 'a start', (control) => control.start(), 'a platform cannot start an agent; start it with --command'],
  ])('where the platform shows %j, %s ends as it must', async (shown, _, call, ends) => {
    const paths: string[] = [];
    const { url } = await serve((request, response) => {
      paths.push(`${request.method} ${request.url}`);
      request.resume();
      response.setHeader('content-type', 'application/json');
      response.end(JSON.stringify({ id: 'x_1', activity_status: 'queued', error_status: 'none', ...shown }));
    });
    const http = new HttpClient({ endpoint: { origin: url } });
    onTestFinished(() => http.close());
    const made = { platform: http, device: http, deviceId: 'dvc_1', timeoutMs: 30_000, syncPath: '/sync' };
    const control = new PlatformControl(made);
    const ended = await call(control).then(
      (answer) => `${(answer as Shown & { id: string }).id} ${(answer as Shown).activity_status}`,
      (error: Error) => `${error.name}: ${error.message}`,
    );
    expect(ended).toContain(ends);
    expect(paths.includes('POST /sync')).toBe(paths.includes('POST /deployments'));
    if (!ended.startsWith('x_1') && !ends.includes('reported')) expect(ended).toMatch(/^ControlRefused: control: /);
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
