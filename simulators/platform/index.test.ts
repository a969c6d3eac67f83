import { once } from 'node:events';
import { request } from 'node:https';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { localhostTls } from '../../harness/common/testing/localhost-tls.ts';
import { NEWEST_VERSION } from '../../harness/contract/versions.ts';
import { simulatePlatform } from './index.ts';
import { startPlatform } from './testing/client.ts';

describe('a simulated platform', () => {
  it('starts with a generated key, and stops once however often stop is called', async () => {
    const platform = await startPlatform({ mqtt: {} });
    expect(platform.url).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/beta$/);
    expect(platform.mqttUrl).toMatch(/^mqtt:\/\/127\.0\.0\.1:\d+$/);
    expect(platform.apiKey.length).toBeGreaterThanOrEqual(32);
    expect((await platform.get('/principal')).status).toBe(200);
    await Promise.all([platform.stop(), platform.stop(), platform[Symbol.asyncDispose]()]);
    await expect(platform.get('/principal')).rejects.toThrow();
  });

  it('stops while a ping waits and a connection idles', async () => {
    const platform = await startPlatform({ mqtt: {} });
    const { id } = await platform.create('/devices', { name: 'robot' });
    // The ping never times out by itself.
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    onTestFinished(() => void vi.useRealTimers());
    const ping = platform.post(`/devices/${id}/ping`, { timeout_nanos: 10_000_000_000 }).catch(() => 'cut');
    await platform.get('/devices');
    await platform.stop();
    await ping;
  });

  it('rejects on a port that is taken, and leaves the server there running', async () => {
    await using first = await startPlatform();
    const port = Number(new URL(first.url).port);
    await expect(simulatePlatform({ port })).rejects.toMatchObject({ code: 'EADDRINUSE' });
    expect((await first.get('/devices')).status).toBe(200);
  });

  it('speaks TLS over HTTP and MQTT with a certificate', async () => {
    await using platform = await simulatePlatform({ tls: localhostTls });
    expect(platform.url).toMatch(/^https:/);
    expect(platform.mqttUrl).toMatch(/^mqtts:/);
    const call = request(`${platform.url}/devices`, {
      ca: localhostTls.cert,
      headers: { 'x-api-key': platform.apiKey, 'service-version': NEWEST_VERSION },
    });
    call.end();
    const [response] = await once(call, 'response');
    expect(response.statusCode).toBe(200);
    response.resume();
  });

  it('gives the same ids to the same requests with the same seed', async () => {
    const ids = async (seed: string) => {
      await using platform = await startPlatform({ seed });
      const made = await Promise.all(['/devices', '/groups'].map((path) => platform.create(path, { name: 'a' })));
      return made.map(({ id }) => id);
    };
    expect(await ids('x')).toEqual(await ids('x'));
    expect(await ids('x')).not.toEqual(await ids('y'));
  });
});
