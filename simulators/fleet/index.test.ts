import { once } from 'node:events';
import { existsSync, readdirSync } from 'node:fs';
import { get } from 'node:http';
import { tmpdir } from 'node:os';
import { json } from 'node:stream/consumers';
import { expect, it, onTestFinished, vi } from 'vitest';
import { useFolder } from '../common/testing/scratch.ts';
import { startFleet } from './index.ts';
import { useFleets } from './run/testing/fleets.ts';

const fleets = useFleets();
const folder = useFolder();

it('a fleet as a library comes online, receives a roll-out, and cleans up', async () => {
  const seen: string[] = [];
  const fleet = await startFleet({
    robots: 10,
    platform: fleets.platform,
    namePrefix: 'library',
    keyBits: 1024,
    stateDir: fleets.stateDir,
    onProgress: ({ stage, done }) => seen.push(`${stage} ${done}`),
  });
  const { latencies, missed, summary, rows } = await fleet.rollout({ content: '{"speed":2}' });
  expect(latencies).toHaveLength(10);
  expect(missed).toEqual([]);
  expect(summary).toMatchObject({ count: 10, unit: 'ms' });
  const asked = get({ socketPath: fleet.robotSocket(3), path: '/v0.2/deployments/current' });
  const [answer] = await once(asked, 'response');
  expect(await json(answer)).toMatchObject({ status: 'deployed' });
  for (const row of rows) {
    const legs = [row.command_ms, row.sync_ms, row.write_ms, row.event_ms].map(Number);
    expect(legs.every((ms) => ms >= 0)).toBe(true);
    expect(legs.reduce((sum, ms) => sum + ms, 0)).toBeCloseTo(Number(row.total_ms), 3);
    expect(row.report_ms).not.toBeNull();
  }
  expect(await fleet.verify()).toEqual([]);
  const socket = fleet.robotSocket(0);
  expect(seen).toContain('online 10');
  await Promise.all([fleet.stop(), fleet.stop()]);
  expect(existsSync(socket)).toBe(false);
});

it.each([
  [
    'refuses its robots',
    { apiKey: 'wrong key' },
    /^2 of 2 robots did not come online: start of robot-00000\d: HTTP 401 .*\(POST \/provisioning_tokens\)/,
  ],
  ['has an address that is none', { url: 'nowhere' }, 'Invalid URL'],
])('a fleet as a library rejects, and leaves no files, when the platform %s', async (_, change, message) => {
  // Uses its own temporary folder, because fleets of other tests keep keys in the common one.
  vi.stubEnv('TMPDIR', folder());
  onTestFinished(() => void vi.unstubAllEnvs());
  const platform = { ...fleets.platform, ...change };
  await expect(startFleet({ robots: 2, platform, keyBits: 1024 })).rejects.toThrow(message);
  expect(tmpdir()).toBe(folder());
  expect(readdirSync(folder())).toEqual([]);
});

it('a fleet as a library can be cancelled while it starts', async () => {
  const stop = new AbortController();
  const starting = startFleet({
    robots: 3,
    platform: fleets.platform,
    over: '1h',
    keyBits: 1024,
    stateDir: fleets.stateDir,
    signal: stop.signal,
    onProgress: ({ stage }) => stage === 'online' && stop.abort(new Error('enough')),
  });
  await expect(starting).rejects.toThrow('enough');
});
