/** Options of a small run whose files lie below one folder. For tests. */
import { join } from 'node:path';
import { parseScenario } from '../../scenario/scenario-file.ts';
import type { RunOptions } from '../plan.ts';

/** Two robots in this process. `scenario` is YAML without its name. */
export const runOptionsIn = (root: string, scenario: string, change: Partial<RunOptions> = {}): RunOptions => ({
  scenario: parseScenario(`name: test\n${scenario}`, 'test.yaml'),
  robots: 2,
  workers: 0,
  platform: undefined,
  seed: 1,
  keyBits: 1024,
  stateDir: join(root, 'state'),
  dir: join(root, 'robots'),
  out: join(root, 'out'),
  thresholds: [],
  screen: { write: () => {} },
  version: '0.0.0',
  signal: new AbortController().signal,
  ...change,
});
