/** Fleets for tests, with a platform and folders of their own. */

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll } from 'vitest';
import { DIALECT_NAMES, NEWEST_VERSION } from '../../../../harness/contract/versions.ts';
import { type SimulatedPlatform, simulatePlatform } from '../../../platform/index.ts';
import { parseScenario } from '../../scenario/read.ts';
import { Fleet } from '../fleet.ts';
import type { FleetOptions, RunOptions } from '../plan.ts';

interface TestFleets {
  readonly platform: SimulatedPlatform;
  /** Folder of the robots' keys. */
  readonly stateDir: string;
  /** A fleet of 12 robots that starts at once; `yaml` has the other phases and fields of its scenario. */
  create(yaml: string, options?: Partial<FleetOptions>): Fleet;
}

/** Call once in a test file: starts the platform before its tests, and removes everything after them. */
export function useFleets(): TestFleets {
  let platform: SimulatedPlatform;
  let dir: string;
  let fleets = 0;
  beforeAll(async () => {
    dir = mkdtempSync(join(tmpdir(), 'muster-ft-'));
    platform = await simulatePlatform({ seed: 1, minKeyBits: 1024 });
  });
  afterAll(async () => {
    await platform.stop();
    rmSync(dir, { recursive: true, force: true });
  });
  return {
    get platform() {
      return platform;
    },
    get stateDir() {
      return join(dir, 'state');
    },
    create(yaml, options = {}) {
      fleets += 1;
      return new Fleet({
        robots: 12,
        platform,
        scenario: parseScenario(`name: test\nphases:\n  - { do: ramp, over: 0s }\n${yaml}`, 'test.yaml'),
        workers: 0,
        seed: 5,
        keyBits: 1024,
        stateDir: join(dir, 'state'),
        dir,
        namePrefix: `fleet-${fleets}`,
        ...options,
      });
    },
  };
}

/** What the Platform API answers to a GET of a list. */
export async function listOf<T>({ url, apiKey }: SimulatedPlatform, path: string): Promise<T[]> {
  const headers = { 'X-API-Key': apiKey, [DIALECT_NAMES.spec.versionHeader]: NEWEST_VERSION };
  const { data = [] } = (await (await fetch(`${url}${path}`, { headers })).json()) as { data?: T[] };
  return data;
}

/** Carries out the whole scenario of a fleet. */
export async function runAll(fleet: Fleet): Promise<void> {
  await fleet.prepare();
  for (const phase of fleet.options.scenario.phases) await fleet.run(phase);
  await fleet.finish();
}

// Options of a small run whose files lie below one folder. For tests.

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
