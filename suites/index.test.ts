import { globSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { loadSuites } from '../harness/cli/catalogue.ts';
import { CLIENT_JOBS, JOB_TABLE } from '../harness/contract/client.ts';
import { premiseProblems } from '../harness/runner/testing/premises.ts';
import { clientSuite } from './client/index.ts';
import { deviceSuite } from './device/index.ts';
import { platformSuite } from './platform/index.ts';
import { EXPLORED_IDS } from './platform/oracle/checks.ts';
import { DECIDED } from './platform/oracle/decides.ts';
import { ANY_LIST } from './platform/support/check.ts';

const premisesBelow = (checks: readonly { id: string; premises?: readonly string[] }[], id: string): string[] =>
  (checks.find((check) => check.id === id)?.premises ?? []).flatMap((each) => [each, ...premisesBelow(checks, each)]);

describe.each(await loadSuites())('the $api suite', ({ api, checks }) => {
  it('rests on existing premises without a cycle that start early enough', () => {
    expect(premiseProblems(checks)).toEqual([]);
  });

  it('bases every requirement on a section, and quotes it in at most 25 words', () => {
    for (const { id, requirement } of checks) {
      expect(requirement.section, id).toMatch(/^[1-9](\.[1-9])?$/);
      if (requirement.level === 'MUST') expect(requirement.clause, id).toBeDefined();
      expect(requirement.clause?.split(/\s+/).length ?? 0, id).toBeLessThanOrEqual(25);
    }
  });

  it('marks every check that sends a platform more than GET', () => {
    const pings = /\.(?:ping|reach)|^platform\.auth\.scope$/;
    for (const { id, needs, writes } of checks.filter(() => ['platform', 'system'].includes(api)))
      expect(writes === true, id).toBe(needs?.includes('write') === true || pings.test(id));
    if (api === 'device') expect(checks.filter(({ writes }) => writes === true)).toEqual([]);
  });
});

it.each([
  ['device.events.monotonic.retained', { events: 2 }],
  ['device.events.replay.exclusive', { events: 2, inputs: 1 }],
  ['device.events.replay.complete.retained', { 'compared replays': 1 }],
  ['device.events.replay.complete.whole', { 'compared replays': 1 }],
  ['device.events.replay.seam.whole', { 'compared replays': 1 }],
  ['device.events.written-first', { 'deployments with files': 1 }],
  ['device.events.deployed-only', { 'deployments that are not deployed': 1 }],
  ['device.events.after-wins.expired', { 'expired cursors by both': 1 }],
  ['device.log.compaction', { 'compactions survived': 1 }],
  ['device.log.restart.compacted', { 'restarts after a compaction': 1 }],
  ['platform.list.page-size', { items: 1 }],
  ['platform.list.has-more', { 'pages before others': 1, 'last pages': 1 }],
  ['platform.list.walk-once', { 'walks over several pages': 1 }],
  ['platform.list.stable', { items: 2 }],
  ['platform.list.total-count', { 'counted items': 1 }],
])('the minimum of observations of %s is declared', (id, least) => {
  const found = [...deviceSuite.checks, ...platformSuite.checks].find((check) => check.id === id);
  expect(found?.least).toMatchObject(least);
});

describe('the device suite', () => {
  const { checks } = deviceSuite;

  it('runs each check alone that stops or compacts the device', () => {
    for (const { id, needs = [], sharing } of checks) {
      if (needs.includes('restart') || needs.includes('compact')) expect(sharing, id).toBe('disruptive');
    }
  });

  it('rests only slow checks on slow checks', () => {
    const slow = new Set(checks.filter((check) => check.slow === true).map(({ id }) => id));
    for (const { id, premises = [] } of checks.filter((check) => check.slow !== true))
      expect(
        premises.filter((premise) => slow.has(premise)),
        id,
      ).toEqual([]);
  });

  it('bases comparisons of replays on the plainest replay', () => {
    for (const id of ['at-least-once', 'replay.seam', 'after-wins', 'client', 'types'])
      expect(premisesBelow(checks, `device.events.${id}`)).toContain('device.events.replay.complete');
    expect(premisesBelow(checks, 'device.log.crash')).toContain('device.events.content-type');
  });

  it('keeps the retained twin of every core check in profile core', () => {
    const core = new Set(checks.filter(({ profile }) => profile === 'core').map(({ id }) => id));
    const twins = checks.map(({ id }) => id).filter((id) => core.has(id.replace(/\.retained$/, '')));
    expect(twins.filter((id) => id.endsWith('.retained')).length).toBeGreaterThan(5);
    expect(twins.filter((id) => !core.has(id))).toEqual([]);
  });
});

it('the platform suite rests every check on the list of any collection', () => {
  const [first, ...others] = platformSuite.checks;
  expect(first?.id).toBe(ANY_LIST);
  for (const { id, premises } of others) expect(premises, id).toContain(ANY_LIST);
});

it('the client suite gives every check one job, and rests it on the plainest of that job', () => {
  const { checks } = clientSuite;
  const plainest = CLIENT_JOBS.map((job) => checks.find(({ needs = [] }) => needs.includes(job))?.requirement.id);
  expect(plainest).toEqual(CLIENT_JOBS.map((job) => JOB_TABLE[job].plainest));
  expect(checks[0]?.requirement.id).toBe(JOB_TABLE.follow.plainest);
  for (const { id, requirement, needs = [] } of checks) {
    const jobs = CLIENT_JOBS.filter((job) => needs.includes(job));
    expect(jobs, id).toHaveLength(1);
    for (const first of jobs.map((job) => JOB_TABLE[job].plainest))
      if (requirement.id !== first) expect(premisesBelow(checks, id), id).toContain(first);
  }
});

it('the table of the oracle names exactly the requirements that explorations decide', () => {
  expect(platformSuite.checks.length).toBeGreaterThan(DECIDED.length);
  expect(DECIDED.toSorted()).toEqual([...EXPLORED_IDS].toSorted());
});

function callsOfProperty(source: string): string[] {
  return [...source.matchAll(/\bt\.property\(/g)].map(({ index, 0: { length } }) => {
    let open = 1;
    let end = index + length;
    for (; open > 0 && end < source.length; end += 1) {
      if (source[end] === '(') open += 1;
      else if (source[end] === ')') open -= 1;
    }
    return source.slice(index, end);
  });
}

it('every property of the suites describes its counterexample', () => {
  const files = globSync(`${import.meta.dirname}/{device,platform,system}/*.ts`);
  const calls = files
    .filter((file) => !file.endsWith('.test.ts'))
    .flatMap((file) => callsOfProperty(readFileSync(file, 'utf8')).map((call) => ({ file, call })));
  expect(calls.length).toBeGreaterThan(10);
  const silent = calls.filter(({ call }) => !/describe/.test(call));
  expect(silent.map(({ file, call }) => `${file}: ${call.slice(0, 60)}`)).toEqual([]);
});
