/** A planted leak, in a real process that is sampled as a soak samples its own. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import process from 'node:process';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { scratch } from '../../../simulators/common/testing/scratch.ts';
import { judge } from './plot.ts';
import { Sampler } from './samples.ts';

const PROBE = fileURLToPath(new URL('./probe.ts', import.meta.url));
const SERVER = fileURLToPath(new URL('./testing/leaking-server.ts', import.meta.url));
const BATCHES = 60;
const BATCH = 60;

/** The names of the series that grow while a server that keeps `bytes` of each request answers 3,600. */
async function growing(bytes: number): Promise<string[]> {
  using folder = scratch();
  const server = spawn(process.execPath, ['--import', PROBE, SERVER, String(bytes)], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, MUSTER_SOAK: folder.path, MUSTER_SOAK_EVERY: '15' },
  });
  try {
    const [port] = (await once(server.stdout, 'data')) as [Buffer];
    const url = `http://127.0.0.1:${Number(port)}/`;
    const sampler = new Sampler(folder.path);
    for (let batch = 0; batch < BATCHES; batch += 1) {
      await Promise.all(Array.from({ length: BATCH }, async () => await (await fetch(url)).text()));
      sampler.process('server', server.pid ?? 0);
    }
    return judge(sampler.series.values())
      .filter(({ slope }) => slope?.grows ?? false)
      .map(({ what }) => what);
  } finally {
    server.kill('SIGKILL');
    await once(server, 'close');
  }
}

test('a leak of 1 KB a request is found, and a server without one is flat', async () => {
  expect(await growing(1_024)).toContain('live heap');
  expect(await growing(0)).not.toContain('live heap');
});
