import { mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, expect, test } from 'vitest';
import { sampleFailure } from '../reports/testing/samples.ts';
import type { CheckResult, Outcome } from '../runner/types.ts';
import { keepLastRun, lastRunOf } from './last-run.ts';
import { useFolder } from './testing/muster.ts';

const at = useFolder();
const env = { XDG_STATE_HOME: at('state') };
const folder = at('state', 'muster', 'last-run');
const TARGET = { command: './agent' };

beforeEach(() => rmSync(at('state'), { recursive: true, force: true }));

const ran = (outcomes: Record<string, Outcome>, change: Partial<CheckResult> = {}): string | undefined => {
  const checks = Object.entries(outcomes).map(([id, outcome]) => sampleFailure({ id, outcome, ...change }));
  return keepLastRun('device', TARGET, { checks }, env);
};
const open = (target: Record<string, string> = TARGET): readonly string[] => lastRunOf('device', target, env).open;

test('what failed, was blocked or stayed undecided is open until a run decides it otherwise', () => {
  ran({ a: 'pass', b: 'fail', c: 'blocked', d: 'undecided', e: 'warn', f: 'not_applicable' });
  expect(open()).toEqual(['b', 'c', 'd']);
  ran({ b: 'pass', c: 'fail' });
  expect(open()).toEqual(['c', 'd']);
  ran({ e: 'warn' }, { fails_by: '--fail-on should' });
  expect(open()).toEqual(['c', 'd', 'e']);
  ran({ c: 'pass', d: 'pass', e: 'warn' });
  expect(() => open()).toThrow(/left nothing failed or undecided/);
});

test('it is asked for by target, and says where nothing is known', () => {
  ran({ b: 'fail' });
  expect(() => open({ command: './other' })).toThrow(/no run against this target is remembered \(.*device-\w+\.json\)/);
  expect(() => lastRunOf('platform', TARGET, env)).toThrow(/no run against this target/);
  const [name = ''] = readdirSync(folder);
  writeFileSync(join(folder, name), '{"checks":[1]}');
  expect(() => open()).toThrow(/no run against this target/);
});

test('the oldest of many targets are forgotten, and a place that cannot be written is told', () => {
  mkdirSync(folder, { recursive: true });
  for (let index = 0; index < 120; index += 1) writeFileSync(join(folder, `device-${index}.json`), '{}');
  expect(ran({ b: 'fail' })).toBeUndefined();
  expect(readdirSync(folder)).toHaveLength(100);
  expect(open()).toEqual(['b']);
  rmSync(at('state'), { recursive: true });
  writeFileSync(at('state'), '');
  expect(ran({ b: 'fail' })).toMatch(/cannot be written .*--last-failed will not know this run/);
  rmSync(at('state'));
});
