import { existsSync, readFileSync, statSync } from 'node:fs';
import { createServer as createHttps } from 'node:https';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { describe, expect, onTestFinished, test } from 'vitest';
import { localhostTls } from '../../common/testing/localhost-tls.ts';
import { lives } from '../../common/testing/processes.ts';
import { served } from '../../common/testing/servers.ts';
import { poll } from '../../common/waiting.ts';
import { serve, temporaryFolder } from '../testing/places.ts';
import { acceptsControl } from '../transports/index.ts';
import { type CallName, ControlError, ControlLate, parseExact } from './control.ts';
import { CommandControl, type ControlCommands, HttpControl } from './ends.ts';
import { CALLS } from './testing/fakes.ts';

const folder = temporaryFolder();

test('control over HTTP ends a pending request with its signal', async () => {
  const asked = Promise.withResolvers<void>();
  const closed = Promise.withResolvers<unknown>();
  const url = await serve(({ socket }) => {
    socket.once('close', closed.resolve);
    asked.resolve();
  });
  const over = new AbortController();
  const publishing = new HttpControl(url).publish(3, over.signal);
  await asked.promise;
  over.abort(new Error('its check is over'));
  await expect(publishing).rejects.toThrow(new ControlError('control: its check is over'));
  await closed.promise;
});

const compacted = '{"earliest_id":1,"latest_id":9007199254740993}';
test.each<[CallName, asked: string, body: string, answer: string, result: unknown]>([
  ['deploy', 'POST /deployments', '{"description":"x"}', '{"id":"d"}', { id: 'd' }],
  ['remove', 'POST /deployments/a%20b/remove', '', '{"id":"d"}', { id: 'd' }],
  ['publish', 'POST /events', '{"count":2}', '{"first_id":1,"last_id":2}', { first_id: 1, last_id: 2 }],
  ['compact', 'POST /compact', '', compacted, { earliest_id: 1, latest_id: 9007199254740993n }],
  ['stop', 'POST /stop', '{"signal":"SIGKILL"}', '', undefined],
  ['start', 'POST /start', '', '', undefined],
])('control over HTTP sends %s as %s', async (name, asked, body, answer, result) => {
  const seen: string[] = [];
  const url = await serve(async (request, response) => {
    seen.push(`${request.method} ${request.url}`, await text(request), request.headers.authorization ?? '');
    response.writeHead(299).end(answer);
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
  [401, 'no', 'start', 'ControlRefused', ' /start answered 401: no. Its token is taken from MUSTER_CONTROL_TOKEN'],
  [500, 'no', 'compact', 'ControlError', 'control POST /compact answered 500: no'],
  [304, '', 'compact', 'ControlError', 'control POST /compact answered 304'],
  [200, '{"earl', 'compact', 'ControlError', ' /compact answered something that is not a ControlCompacted: '],
  [200, '{"first_id":1}', 'publish', 'ControlError', 'something that is not a ControlPublished:'],
  [200, '{"id":1}', 'deploy', 'ControlError', 'POST /deployments answered a deployment without id: {"id":1}'],
  [200, 'null', 'remove', 'ControlError', 'answered a deployment without id: null'],
])(
  'control over HTTP reports the answer %i %j to %s as an error, with the reason',
  async (status, body, name, kind, words) => {
    const url = await serve((_, response) => void response.writeHead(status).end(body));
    const failure: unknown = await new HttpControl(url).call(CALLS[name]).catch((error: unknown) => error);
    expect(failure).toHaveProperty('message', expect.stringContaining(words));
    expect(failure).toHaveProperty('name', kind);
    expect((failure as Error).message.includes('token')).toBe(status === 401);
  },
);

test('control over HTTP gives its capabilities, also on a socket, and rejects malformed and late answers', async () => {
  const info = { capabilities: ['drive'], retention: 5 };
  const url = await serve((request, response) => {
    if (request.method === 'GET') response.end(JSON.stringify(request.url === '/' ? info : {}));
  });
  const late = new HttpControl(url, { timeoutMs: 200 });
  const byPort = new HttpControl(new URL(url).port);
  expect([late.kind, await byPort.info()]).toEqual([`http ${url}`, info]);
  await expect(new HttpControl(`${url}/other`).info()).rejects.toThrow('something that is not a ControlInfo');
  await expect(late.stop()).rejects.toThrow('control POST /stop: no whole answer within 0.2 s');
  await expect(late.start()).rejects.toThrow(ControlLate);
  const nowhere = new HttpControl(join(folder, 'none.sock'));
  expect(nowhere.line({ name: 'start' })).toMatch(/--unix-socket \S+none.sock .*http:\/\/localhost\/start/);
  await expect(nowhere.start()).rejects.toThrow(/^control: .*no such socket/);
  expect([await acceptsControl(join(folder, 'none.sock')), await acceptsControl(url)]).toEqual([false, true]);
});

test('control over HTTP trusts over https the given authority, in its shell lines too', async () => {
  const info = { capabilities: ['drive'] };
  const server = createHttps(localhostTls, (_, response) => void response.end(JSON.stringify(info)));
  const url = `https://127.0.0.1:${(await served(server)).port}`;
  const trusting = new HttpControl(url, { ca: localhostTls.cert, caFile: '/ca.pem' });
  expect(await trusting.info()).toEqual(info);
  expect(trusting.line({ name: 'start' })).toContain(' --cacert /ca.pem ');
  await expect(new HttpControl(url).info()).rejects.toThrow('signed by an authority that is not trusted here');
});

test('a control answer keeps integers beyond the precision of numbers', () => {
  expect(parseExact('{"first_id":1,"last_id":9007199254740993}')).toEqual({ first_id: 1, last_id: 9007199254740993n });
  const exact = [-9223372036854775808n, 9007199254740991, 1.5, 1e30];
  expect(parseExact('[-9223372036854775808, 9007199254740991, 1.5, 1e30]')).toEqual(exact);
  expect(() => parseExact('{')).toThrow(SyntaxError);
});

describe('control by shell lines', () => {
  const control = (commands: ControlCommands, timeoutMs = 60_000) =>
    new CommandControl(commands, { env: process.env, cwd: folder, timeoutMs });

  test('derives the capabilities from the commands', async () => {
    const all = { drive: 'x', compact: 'x', stop: 'x', start: 'x', event_log: '/l', config_root: '/c', retention: 50 };
    expect(await control(all).info()).toEqual({
      capabilities: ['drive', 'compact', 'restart', 'log', 'files'],
      retention: 50,
      event_log: '/l',
      config_root: '/c',
    });
    expect((await control({ stop: 'x' }).info()).capabilities).toEqual([]);
  });

  test('passes a request in environment and stdin, and reads the answer from stdout', async () => {
    const drive =
      'cat > request-$MUSTER_ACTION; case $MUSTER_ACTION in publish) echo ' +
      `"{\\"first_id\\":1,\\"last_id\\":$MUSTER_COUNT}";; *) echo '{"id":"dpl_1"}';; esac`;
    const driven = control({ drive });
    expect((await driven.deploy({ description: 'it’s "one"' })).id).toBe('dpl_1');
    expect(await driven.publish(3)).toEqual({ first_id: 1, last_id: 3 });
    await driven.remove('dpl_1');
    expect(await control({ drive: `(sleep 0.1; echo '{"id":"dpl_2"}') &` }).deploy()).toEqual({ id: 'dpl_2' });
    const request = (action: string) => JSON.parse(readFileSync(join(folder, `request-${action}`), 'utf8'));
    expect([request('deploy'), request('publish'), request('remove')]).toEqual([
      { description: 'it’s "one"' },
      { count: 3 },
      { deployment_id: 'dpl_1' },
    ]);
  });

  test.each<[CallName, string | undefined]>([
    ['deploy', `printf %s '{"description":"x"}' | MUSTER_ACTION=deploy /bin/sh -c 'd x'`],
    [
      'remove',
      `printf %s '{"deployment_id":"a b"}' | MUSTER_ACTION=remove MUSTER_DEPLOYMENT_ID='a b' /bin/sh -c 'd x'`,
    ],
    ['publish', `printf %s '{"count":2}' | MUSTER_ACTION=publish MUSTER_COUNT=2 /bin/sh -c 'd x'`],
    ['stop', `printf %s '{}' | MUSTER_SIGNAL=SIGKILL /bin/sh -c s`],
    ['compact', undefined],
  ])('gives a shell line that repeats %s', (name, line) => {
    const commands = { drive: 'd x', stop: 's' };
    expect(new CommandControl(commands, { env: {} }).line(CALLS[name])).toBe(line);
    expect(control(commands).line(CALLS[name])).toBe(line === undefined ? undefined : `(cd ${folder} && ${line})`);
  });

  test('leaves a started agent running that goes on printing', async () => {
    const [written, pid] = [join(folder, 'written'), join(folder, 'printing')];
    const loop = `while :; do echo x; echo x >&2; echo x >> ${written}; sleep 0.05; done`;
    await control({ start: `(${loop}) & echo $! > ${pid}` }).start();
    const size = () => statSync(written, { throwIfNoEntry: false })?.size ?? 0;
    const before = size();
    // Ten rounds, because the pipes would close only soon after the call.
    await poll('the agent to print', () => size() >= before + 20 || undefined, { timeoutMs: 30_000 });
    process.kill(Number(readFileSync(pid, 'utf8')), 'SIGKILL');
  });

  test.each<[ControlCommands, CallName, RegExp, number?]>([
    [{ drive: 'echo broken >&2; exit 4' }, 'deploy', /^control drive: .* ended with exit code 4: broken$/],
    [{ drive: 'echo no robot; echo see above >&2; exit 4' }, 'deploy', /exit code 4: see above\nno robot$/],
    [{ drive: 'echo no' }, 'deploy', /printed no deployment with an id/],
    [{}, 'deploy', /the target file has no `drive` command/],
    [{ drive: 'kill -KILL $$' }, 'deploy', /^control drive: `kill -KILL \$\$` was ended by SIGKILL$/],
    [{ compact: 'exec sleep 600' }, 'compact', /did not end within 0.5 s/, 500],
    [{ compact: 'yes' }, 'compact', /printed more than 1 MiB, and was ended$/],
    [{ drive: 'yes >&2' }, 'publish', /did not end within 0.5 s/, 500],
  ])('explains in a few words why %j fails', async (commands, name, words, timeoutMs = 60_000) => {
    const failure = await control(commands, timeoutMs)
      .call(CALLS[name])
      .catch((error: unknown) => error);
    const { message } = failure as Error;
    expect(message).toMatch(words);
    expect(message.length).toBeLessThan(3000);
  });

  test('kills a line and its child processes when its check ends', async () => {
    const killed = control({ drive: 'sleep 600 & echo $! > child; mv child pid; wait' });
    const over = new AbortController();
    const publishing = killed.publish(1, over.signal);
    const pid = join(folder, 'pid');
    await poll('the line to start its child', () => existsSync(pid) || undefined, { timeoutMs: 30_000 });
    over.abort();
    await expect(publishing).rejects.toThrow(/was ended with its check/);
    const child = Number(readFileSync(pid, 'utf8'));
    await poll('the child to end', () => !lives(child) || undefined, { timeoutMs: 30_000 });
    await expect(killed.publish(1, over.signal)).rejects.toThrow(/was ended with its check/);
  });
});
