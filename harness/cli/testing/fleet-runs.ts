/** Runs of `muster fleet` and `muster merge` in processes of their own. For tests. */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect } from 'vitest';
import { type FleetResult, fleetResult } from '../../../simulators/fleet/result/result.ts';
import { writeResult } from '../../../simulators/fleet/result/shards.ts';
import { resultWith } from '../../../simulators/fleet/result/testing/result.ts';
import { type Ended, Running } from './muster.ts';

export interface FleetRuns {
  /** A path in the folder of the test. Everything that a run leaves for a time lies there, in `tmp`. */
  path(...names: string[]): string;
  /** The words of a run of 8 robots: `phases` is YAML and follows a ramp; an option of `change` that is undefined is left out. */
  words(phases: string, change?: Record<string, string | undefined>): string[];
  start(words: readonly string[], env?: Record<string, string>): Running;
  run(words: readonly string[], env?: Record<string, string>): Promise<Ended>;
  /** The result in a folder, by default that of a run. */
  result(folder?: string): FleetResult;
  /** Writes the result that a shard leaves. */
  leave(index: number, count: number): void;
}

/** Call once in a test file: each of its tests has a folder of its own. */
export function useFleetRuns(): FleetRuns {
  let dir: string;
  beforeEach(() => {
    dir = mkdtempSync(join(tmpdir(), 'muster-fc-'));
  });
  afterEach(() => rmSync(dir, { recursive: true, force: true }));
  const path = (...names: string[]): string => join(dir, ...names);
  const start: FleetRuns['start'] = (words, env = {}) => {
    mkdirSync(path('tmp'), { recursive: true });
    return new Running(words, { env: { MUSTER_API_KEY: '', TMPDIR: path('tmp'), ...env }, cwd: dir });
  };
  return {
    path,
    start,
    run: (words, env) => start(words, env).ended,
    words: (phases, change = {}) => {
      const scenario = path('s.yaml');
      const head = 'name: test\nkey_bits: 1024\nphases:\n  - { do: ramp, over: 200ms, measure: false }\n';
      writeFileSync(scenario, `${head}${phases}`);
      const folders = { out: path('out'), state: path('state'), dir: path('tmp') };
      const options = { scenario, platform: 'embedded', workers: '1', robots: '8', ...folders, ...change };
      const given = Object.entries(options).flatMap(([name, value]) =>
        value === undefined ? [] : [`--${name}`, value],
      );
      return ['fleet', ...given];
    },
    result: (folder = path('out')) => {
      const value: unknown = JSON.parse(readFileSync(join(folder, 'result.json'), 'utf8'));
      expect(fleetResult.problems(value)).toEqual([]);
      return value as FleetResult;
    },
    leave: (index, count) =>
      writeResult(path('results', `shard-${index}`), resultWith({ shard: { index, count }, robots: 5 })),
  };
}

/** On a machine that is busy with something else a run may end invalid, which comes before thresholds. */
export const unlessSaturated = (code: number, { verdict }: FleetResult): number => (verdict === 'invalid' ? 98 : code);
