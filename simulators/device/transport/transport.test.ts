import { existsSync, lstatSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import http from 'node:http';
import net from 'node:net';
import { describe, expect, test } from 'vitest';
import { simulateDevice } from '../index.ts';
import { ask, robot, scratch } from '../testing/robot.ts';

const mode = (path: string) => (statSync(path).mode & 0o777).toString(8);

describe('the unix socket', () => {
  test.for([undefined, 0o600, 0o666])('has the mode %s', async (wanted) => {
    using home = scratch();
    const path = `${home.path}/a.sock`;
    const socket = wanted === undefined ? path : { path, mode: wanted };
    await using _device = await simulateDevice({ dir: `${home.path}/a`, socket });
    expect(mode(path)).toBe((wanted ?? 0o660).toString(8));
  });

  test('is gone after a stop, and stays after a kill', async () => {
    await using on = await robot();
    await on.device.stop();
    expect(existsSync(on.socket)).toBe(false);
    await on.device.start();
    on.device.kill();
    expect(lstatSync(on.socket).isSocket()).toBe(true);
    await expect(ask(on.socket, '/health')).rejects.toThrow(/ECONNREFUSED/);
  });

  test('of a dead agent is taken over', async () => {
    await using on = await robot();
    on.device.kill();
    await on.device.start();
    expect((await on.ask('/health')).status).toBe(200);
  });

  test('of a live agent is refused, and goes on working', async () => {
    await using on = await robot();
    await expect(simulateDevice({ dir: `${on.dir}2`, socket: on.socket })).rejects.toThrow(/in use: another agent/);
    expect((await on.ask('/health')).status).toBe(200);
  });

  test('does not replace a file', async () => {
    using home = scratch();
    writeFileSync(`${home.path}/file`, 'precious');
    await expect(simulateDevice({ dir: home.path, socket: `${home.path}/file` })).rejects.toThrow(/not a socket/);
    expect(readFileSync(`${home.path}/file`, 'utf8')).toBe('precious');
  });

  test('with a path that is too long, or in no directory, is refused with a clear message', async () => {
    using home = scratch();
    const long = `${home.path}/${'x'.repeat(120)}`;
    await expect(simulateDevice({ dir: home.path, socket: long })).rejects.toThrow(/at most 106/);
    await expect(simulateDevice({ dir: home.path, socket: `${home.path}/no/a.sock` })).rejects.toThrow(/ENOENT|EACCES/);
  });
});

describe('loopback', () => {
  const loopback = async () => {
    const home = scratch();
    const discovery = `${home.path}/agent.json`;
    const device = await simulateDevice({
      dir: `${home.path}/a`,
      socket: `${home.path}/a.sock`,
      loopback: { discovery },
    });
    const get = (authorization?: string): Promise<number> =>
      new Promise((resolve, reject) => {
        const headers = authorization === undefined ? {} : { authorization };
        const request = http.get(`${device.url}/v0.2/health`, { headers, agent: false }, (response) => {
          response.resume();
          resolve(response.statusCode ?? 0);
        });
        request.once('error', reject);
      });
    return {
      discovery,
      device,
      get,
      socket: `${home.path}/a.sock`,
      [Symbol.asyncDispose]: async () => {
        await device[Symbol.asyncDispose]();
        home[Symbol.dispose]();
      },
    };
  };

  test('writes port and token to the discovery file, which only its owner can read', async () => {
    await using on = await loopback();
    const { port, token } = JSON.parse(readFileSync(on.discovery, 'utf8'));
    expect(on.device.url).toBe(`http://127.0.0.1:${port}`);
    expect(on.device.token).toBe(token);
    expect(token).toMatch(/^[0-9a-f]{64}$/);
    expect(mode(on.discovery)).toBe('600');
  });

  test('needs the whole token; the unix socket needs none', async () => {
    await using on = await loopback();
    const { token = '' } = on.device;
    expect(await on.get(`Bearer ${token}`)).toBe(200);
    expect(await on.get(`bearer ${token}`)).toBe(200);
    for (const wrong of [
      undefined,
      '',
      token,
      'Bearer',
      `Bearer ${token.slice(1)}`,
      `Bearer ${token}x`,
      `Basic ${token}`,
    ]) {
      expect(await on.get(wrong)).toBe(401);
    }
    expect((await ask(on.socket, '/health')).status).toBe(200);
  });

  test('answers every path with 401 without a token, also unknown ones', async () => {
    await using on = await loopback();
    const socket = net.connect(Number(new URL(on.device.url ?? '').port), '127.0.0.1');
    let text = '';
    socket.on('data', (part) => (text += part));
    socket.end('GET /nonsense HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n');
    await new Promise((resolve) => socket.once('close', resolve));
    expect(text).toMatch(/^HTTP\/1\.1 401 .*www-authenticate: bearer/is);
    expect(text).not.toContain(on.device.token);
  });

  test('removes its file at the end, unless another agent has replaced it', async () => {
    await using on = await loopback();
    await on.device.stop();
    expect(existsSync(on.discovery)).toBe(false);
    await on.device.start();
    writeFileSync(on.discovery, '{"port":1,"token":"of another"}');
    await on.device.stop();
    expect(readFileSync(on.discovery, 'utf8')).toContain('of another');
  });

  test('does not start when it cannot write its file, and leaves no socket behind', async () => {
    using home = scratch();
    mkdirSync(`${home.path}/agent.json`);
    const socket = `${home.path}/a.sock`;
    const starting = simulateDevice({
      dir: `${home.path}/a`,
      socket,
      loopback: { discovery: `${home.path}/agent.json` },
    });
    await expect(starting).rejects.toThrow(/cannot write the discovery file/);
    expect(existsSync(socket)).toBe(false);
  });
});
