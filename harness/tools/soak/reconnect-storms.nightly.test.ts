import { expect, test } from 'vitest';
import { scratch } from '../../../simulators/common/testing/scratch.ts';
import { reconnectStorms } from './reconnect-storms.ts';

test('a platform that is killed, and one that ends, under 200 robots: nothing is lost or applied twice', async () => {
  using folder = scratch();
  const { signal } = new AbortController();
  const { problems, figures } = await reconnectStorms({
    robots: 200,
    seed: 1,
    dir: folder.path,
    say: () => {},
    signal,
  });
  expect(problems).toEqual([]);
  expect(figures['connections lost']).toBeGreaterThanOrEqual(400);
  expect(figures['deployments posted']).toBe(600);
  expect(figures['applied']).toBeGreaterThan(200);
}, 600_000);
