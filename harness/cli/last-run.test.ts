import { mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, expect, test } from 'vitest';
import { sampleFailure } from '../reports/testing/samples.ts';
import type { CheckResult, Outcome } from '../runner/types.ts';
import { isRemembered, remember, remembered } from './last-run.ts';
import { useFolder } from './testing/muster.ts';

const at = useFolder();
const env = { XDG_STATE_HOME: at('state') };
const folder = at('state', 'muster', 'runs');
const TARGET = { command: './agent' };

beforeEach(() => rmSync(at('state'), { recursive: true, force: true }));

const ran = (outcomes: Record<string, Outcome>, change: Partial<CheckResult> = {}): string | undefined => {
  const checks = Object.entries(outcomes).map(([id, outcome]) => sampleFailure({ id, outcome, ...change }));
  return remember('device', TARGET, { checks }, env);
};
const open = (target: Record<string, string> = TARGET): readonly string[] => remembered('device', target, env).open;

test('failed, blocked and undecided checks stay open until a later run clears them', () => {
  ran({ a: 'pass', b: 'fail', c: 'blocked', d: 'undecided', e: 'warn', f: 'not_applicable' });
  expect(open()).toEqual(['b', 'c', 'd']);
  ran({ b: 'pass', c: 'fail' });
  expect(open()).toEqual(['c', 'd']);
  ran({ e: 'warn' }, { fails_by: '--fail-on should' });
  expect(open()).toEqual(['c', 'd', 'e']);
  ran({ c: 'pass', d: 'pass', e: 'warn' });
  expect(() => open()).toThrow(/left nothing failed or undecided/);
});

test('a broken rule keeps open what showed it, and a check that did not run stays what it was', () => {
  ran({ b: 'fail' });
  ran({ b: 'not_applicable' }, { reason: 'not run: --fast leaves out what has to wait' });
  ran({ c: 'pass', 'd.everywhere': 'fail' }, { seen_by: ['c'] });
  expect(open()).toEqual(['b', 'c', 'd.everywhere']);
});

test('a lookup fails for a target without a remembered run or with damaged files', () => {
  ran({ b: 'fail' });
  expect(() => open({ command: './other' })).toThrow(/no run against this target is remembered \(.*device-\w+\.json\)/);
  expect(() => remembered('platform', TARGET, env)).toThrow(/no run against this target/);
  const [name = ''] = readdirSync(folder);
  writeFileSync(join(folder, name), '{"checks":[1]}');
  expect(() => open()).toThrow(/no run against this target/);
});

test('the oldest of more than 500 targets are forgotten, and an unwritable folder is reported', () => {
  mkdirSync(folder, { recursive: true });
  for (let index = 0; index < 520; index += 1) writeFileSync(join(folder, `device-${index}.json`), '{}');
  expect(ran({ b: 'fail' })).toBeUndefined();
  expect(readdirSync(folder)).toHaveLength(500);
  expect(open()).toEqual(['b']);
  rmSync(at('state'), { recursive: true });
  writeFileSync(at('state'), '');
  expect(ran({ b: 'fail' })).toMatch(/cannot be written .*--last-failed and replay will not know this run/);
  rmSync(at('state'));
});

test('an unreachable target is remembered too, and its options only as a digest', () => {
  const options = { command: './agent --token s3cret', 'read-only': true };
  expect(isRemembered('device', options, env)).toBe(false);
  remember('device', options, { checks: [], unreachable: 'nobody listens' }, env);
  expect(isRemembered('device', { ...options, fast: true, identify: true }, env)).toBe(true);
  expect(isRemembered('device', { ...options, command: './agent' }, env)).toBe(false);
  expect(isRemembered('system', options, env)).toBe(false);
  expect(() => remembered('device', options, env)).toThrow(/no run against this target is remembered/);
  const [name = ''] = readdirSync(folder);
  expect(readFileSync(join(folder, name), 'utf8')).not.toContain('agent');
  expect(statSync(join(folder, name)).mode & 0o777).toBe(0o600);
  expect(statSync(folder).mode & 0o777).toBe(0o700);
});
