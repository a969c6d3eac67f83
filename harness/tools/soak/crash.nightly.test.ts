import { expect, test } from 'vitest';
import { scratch } from '../../../simulators/common/testing/scratch.ts';
import type { LogBehaviour } from '../../../simulators/device/behaviour.ts';
import { referenceBehaviour } from '../../../simulators/device/index.ts';
import { crashMatrix } from './crash.ts';

const { log } = referenceBehaviour;
const WRONG: [what: string, rules: LogBehaviour, seen: RegExp][] = [
  ['counts ids on from the log', { ...log, highest: (last) => last }, /is given out again/],
  [
    'delivers before it stores',
    {
      ...log,
      publish: async ({ store, commit, deliver }) => {
        deliver();
        await store();
        commit();
      },
    },
    /are lost|with other bytes/,
  ],
];

test.for(WRONG)('a log that %s is found', async ([, rules, seen]) => {
  using folder = scratch();
  const { injected, violations } = await crashMatrix({ seed: 1, points: 300, dir: folder.path }, rules);
  expect(violations.join('\n')).toMatch(seen);
  for (const kind of ['kill', 'power loss', 'ENOSPC', 'EIO', 'short write']) expect(injected[kind]).toBeGreaterThan(0);
});
