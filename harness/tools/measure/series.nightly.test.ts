import { expect, test } from 'vitest';
import { scratch } from '../../../simulators/common/testing/scratch.ts';
import { PROBE, Task } from './process.ts';
import { judgeSeries, Sampler } from './series.ts';
import type { tasks } from './testing/leaking-server.ts';

const SERVER = new URL('./testing/leaking-server.ts', import.meta.url).href;
const BATCHES = 60;
const BATCH = 60;

/** Series that grow while a server leaks `bytes` in each of 3,600 requests. */
async function growing(bytes: number): Promise<string[]> {
  using folder = scratch();
  const env = { MUSTER_SOAK: folder.path, MUSTER_SOAK_EVERY: '15' };
  await using server = new Task<typeof tasks>(SERVER, { flags: ['--import', PROBE], env });
  const url = `http://127.0.0.1:${await server.call('listen', bytes)}/`;
  const sampler = new Sampler(folder.path);
  for (let batch = 0; batch < BATCHES; batch += 1) {
    await Promise.all(Array.from({ length: BATCH }, async () => await (await fetch(url)).text()));
    sampler.process('server', server.pid);
  }
  return judgeSeries(sampler.series.values())
    .filter(({ slope }) => slope?.grows ?? false)
    .map(({ what }) => what);
}

test('a leak of 1 KB a request is found, and none without it', async () => {
  expect(await growing(1_024)).toContain('live heap');
  expect(await growing(0)).not.toContain('live heap');
});
