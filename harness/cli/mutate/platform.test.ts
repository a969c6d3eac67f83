import { expect, test } from 'vitest';
import { platformSubjects } from './platform.ts';

test('the command line that starts a platform by hand quotes the path of the seed file', async () => {
  const setting = { dialect: 'spec', seed: 7, seedFile: undefined, devices: 1 } as const;
  const byHand = async (path: string) => (await platformSubjects(setting, new Map(), path)).subjects[0]?.byHand;
  expect(await byHand('/a b.yaml')).toContain(" --seed-file '/a b.yaml' --seed 7 ");
  expect(await byHand('seeds/a.yaml')).toContain(' --seed-file seeds/a.yaml --seed 7 ');
});
