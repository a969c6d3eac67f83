import { expect, test } from 'vitest';
import { scratch } from '../../../simulators/common/testing/scratch.ts';
import { randomEnds } from './ends.ts';

test.skipIf(process.platform !== 'linux')(
  'commands that end in the middle, each in another way, leave nothing',
  async () => {
    using folder = scratch();
    const { problems, inTheMiddle } = await randomEnds({ ends: 13, seed: 7, dir: folder.path, say: () => {} });
    expect(problems).toEqual([]);
    expect(inTheMiddle).toBeGreaterThan(6);
  },
  900_000,
);
