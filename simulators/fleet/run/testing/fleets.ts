import { join } from 'node:path';
import { afterAll, beforeAll } from 'vitest';
import { NAMES_BY_DIALECT, NEWEST_VERSION } from '../../../../harness/contract/versions.ts';
import { scratch } from '../../../common/testing/scratch.ts';
import { type SimulatedPlatform, simulatePlatform } from '../../../platform/index.ts';
import { parseScenario } from '../../scenario/read.ts';
import { Fleet, type FleetOptions, type RunOptions } from '../fleet.ts';

export function useFleets() {
  let platform: SimulatedPlatform;
  let home: ReturnType<typeof scratch>;
  let fleets = 0;
  beforeAll(async () => {
    home = scratch();
    platform = await simulatePlatform({ seed: 1, minKeyBits: 1024 });
  });
  afterAll(async () => {
    await platform.stop();
    home[Symbol.dispose]();
  });
  return {
    get platform() {
      return platform;
    },
    get stateDir() {
      return join(home.path, 'state');
    },
    /** Fleet of 12 robots. `yaml`: phases after the ramp, and further fields of the scenario. */
    create(yaml: string, options: Partial<FleetOptions> = {}) {
      fleets += 1;
      return new Fleet({
        robots: 12,
        platform,
        scenario: parseScenario(`name: test\nphases:\n  - { do: ramp, over: 0s }\n${yaml}`, 'test.yaml'),
        workers: 0,
        seed: 5,
        keyBits: 1024,
        stateDir: join(home.path, 'state'),
        dir: home.path,
        namePrefix: `fleet-${fleets}`,
        ...options,
      });
    },
    async online(yaml: string, options: Partial<FleetOptions> = {}): Promise<Fleet> {
      const fleet = this.create(yaml, options);
      await fleet.prepare();
      await fleet.run({ do: 'ramp', over: '0s' });
      return fleet;
    },
  };
}

export async function listOf<T>({ url, apiKey }: SimulatedPlatform, path: string): Promise<T[]> {
  const headers = { 'X-API-Key': apiKey, [NAMES_BY_DIALECT.spec.versionHeader]: NEWEST_VERSION };
  const { data = [] } = (await (await fetch(`${url}${path}`, { headers })).json()) as { data?: T[] };
  return data;
}

export async function runAll(fleet: Fleet): Promise<void> {
  await fleet.prepare();
  for (const phase of fleet.options.scenario.phases) await fleet.run(phase);
  await fleet.finish();
}

/** Two robots in this process, with all files below `root`. `scenario`: YAML without the field `name`. */
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
