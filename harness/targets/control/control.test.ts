import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { CommandControl, type ControlCommands } from './command-control.ts';
import { type CallName, parseExact } from './control.ts';
import { TcpProxy } from './controlled-agent.ts';
import { CALLS } from './testing/fakes.ts';

test('reads integers that no number holds as they are written', () => {
  expect(parseExact('{"first_id":1,"last_id":9007199254740993}')).toEqual({ first_id: 1, last_id: 9007199254740993n });
  expect(parseExact('[-9223372036854775808, 9007199254740991, 1.5, 1e30]')).toEqual([
    -9223372036854775808n,
    9007199254740991,
    1.5,
    1e30,
  ]);
  expect(() => parseExact('{')).toThrow(SyntaxError);
});

describe('control by shell lines', () => {
  const folder = mkdtempSync(join(tmpdir(), 'muster-commands-'));
  afterAll(() => rmSync(folder, { recursive: true }));
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

  test('passes the request to drive in its environment and on stdin, and reads the answer from stdout', async () => {
    const drive =
      'cat > request-$MUSTER_ACTION; case $MUSTER_ACTION in publish) echo ' +
      `"{\\"first_id\\":1,\\"last_id\\":$MUSTER_COUNT}";; *) echo '{"id":"dpl_1"}';; esac`;
    const driven = control({ drive });
    expect((await driven.deploy({ description: 'it’s "one"' })).id).toBe('dpl_1');
    expect(await driven.publish(3)).toEqual({ first_id: 1, last_id: 3 });
    await driven.remove('dpl_1');
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
  ])('makes a line of %s that repeats it', (name, line) => {
    const commands = { drive: 'd x', stop: 's' };
    expect(new CommandControl(commands, { env: {} }).line(CALLS[name])).toBe(line);
    expect(control(commands).line(CALLS[name])).toBe(line === undefined ? undefined : `(cd ${folder} && ${line})`);
  });

  test('shows what a line that failed wrote to both of its outputs', async () => {
    const failing = control({ drive: 'echo no such robot; echo see above >&2; exit 4' });
    await expect(failing.deploy()).rejects.toThrow(/ended with exit code 4: see above\nno such robot$/);
  });

  test('ends a line that prints without end, and keeps little of it', async () => {
    const endless = control({ compact: 'yes', drive: 'yes >&2' }, 500);
    await expect(endless.compact()).rejects.toThrow(/printed more than 1 MiB, and was ended$/);
    const error: Error = await endless.publish(1).then(
      () => expect.unreachable(),
      (failure: Error) => failure,
    );
    expect(error.message).toContain('did not end within 0.5 s');
    expect(error.message.length).toBeLessThan(3000);
  });

  test('passes the signal to stop, and lets start leave the agent behind', async () => {
    const started = control({ stop: 'echo $MUSTER_SIGNAL > signal', start: 'sleep 600 & echo $! > pid' });
    await started.stop('SIGKILL');
    expect(readFileSync(join(folder, 'signal'), 'utf8')).toBe('SIGKILL\n');
    await started.start();
    process.kill(Number(readFileSync(join(folder, 'pid'), 'utf8')), 'SIGKILL');
  });

  test.each([
    [{ drive: 'echo broken >&2; exit 4' }, /control drive: .* ended with exit code 4: broken/],
    [{ drive: 'echo no' }, /printed no deployment with an id/],
    [{}, /the target file has no `drive` command/],
    [{ drive: 'kill -KILL $$' }, /^control drive: `kill -KILL \$\$` was ended by SIGKILL$/],
  ])('explains why %j fails', async (commands, words) => {
    await expect(control(commands).deploy()).rejects.toThrow(words);
  });

  test('ends a command that hangs', async () => {
    await expect(control({ compact: 'exec sleep 600' }, 200).compact()).rejects.toThrow(/did not end within 0.2 s/);
  });
});

describe('a TCP proxy', () => {
  test('carries bytes both ways until it is cut, and again once restored', async () => {
    const echo = createServer((socket) => socket.on('error', () => {}).pipe(socket)).listen(0, '127.0.0.1');
    await once(echo, 'listening');
    const { port } = echo.address() as AddressInfo;
    await using proxy = await TcpProxy.to(`http://127.0.0.1:${port}`);
    expect(proxy.url).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/);
    const open = () => connect(Number(new URL(proxy.url).port), '127.0.0.1').on('error', () => {});

    const first = open();
    first.write('hello');
    expect(String((await once(first, 'data'))[0])).toBe('hello');
    const closed = (socket: Socket) => new Promise((resolve) => socket.once('close', resolve));
    const ended = closed(first);
    proxy.cut();
    await ended;

    const refused = open();
    await closed(refused);

    proxy.restore();
    const again = open();
    again.write('back');
    expect(String((await once(again, 'data'))[0])).toBe('back');
    again.destroy();
    echo.close();
  });
});
