import { expect, test } from 'vitest';
import { scratch } from '../../../simulators/common/testing/scratch.ts';
import { crashMatrix } from './crash-platform.ts';
import { whyUntraceable } from './system-calls.ts';

const traceable = whyUntraceable() === undefined;

test.runIf(traceable)(
  'a crash after any step of the database, on a disk that fails now and then, loses nothing',
  async () => {
    using folder = scratch();
    const { injected, lost, violations } = await crashMatrix({ seed: 2, points: 20, pointsEach: 20, dir: folder.path });
    expect(violations).toEqual([]);
    expect(lost).toBe(0);
    for (const kind of ['kill', 'power loss', 'EIO']) expect(injected[kind]).toBeGreaterThan(0);
  },
);

test.runIf(traceable)('a database that does not wait for the disk is found', async () => {
  using folder = scratch();
  const { lost, violations } = await crashMatrix({ seed: 1, points: 20, dir: folder.path }, 'PRAGMA synchronous = OFF');
  expect(violations.join('\n')).toMatch(/what was committed is not there|is damaged/);
  expect(lost).toBeGreaterThan(0);
});
