/** The suite decides every requirement of the catalogue, and its declarations are consistent. */
import { describe, expect, it } from 'vitest';
import { premiseProblems } from '../../harness/runner/schedule.ts';
import { deviceSuite } from './index.ts';

/** By level and section of the specification. */
const CATALOGUE = {
  MUST: {
    '2.1': 'device.deployment.shape',
    '2.2': 'device.deployment.merge device.deployment.failed',
    '2.3': 'device.events.envelope',
    '2.4': 'device.events.payload.deployed',
    '4.1': `device.deployment.current device.events.content-type device.events.long-lived device.events.no-cursor.live device.events.types
      device.events.header-cursor device.events.after-wins device.events.after-wins.expired device.events.replay.complete`,
    '5': 'device.socket.no-token device.socket.permissions device.loopback.discovery device.loopback.bearer-required',
    '6': 'device.events.concurrent',
    '6.1': 'device.events.frame device.events.framing-safe device.events.monotonic',
    '6.2': `device.events.at-least-once device.events.client device.events.replay.exclusive device.events.replay.live
      device.events.replay.seam device.events.heartbeat device.events.heartbeat.inert device.events.type-form
      device.events.slow-reader.complete
      device.log.jsonl device.log.bounded device.log.compaction device.log.restart device.log.crash device.log.torn-tail`,
    '6.3': 'device.events.written-first device.events.deployed-only',
    '7': 'device.events.expired.410 device.events.expired.boundary',
    '9': 'device.version.prefix',
  },
  SHOULD: {
    '2.2': 'device.deployment.removed device.deployment.restart',
    '4.1': 'device.deployment.safe device.events.cursor.malformed device.robust.requests',
    '5': 'device.loopback.scheme-case device.loopback.only',
    '6': 'device.events.slow-reader',
    '7': 'device.events.expired.only',
  },
  INFO: {
    '4.1': 'device.events.no-cursor device.events.cursor.future',
    '6.3': 'device.events.removed',
    '7': 'device.events.expired.zero',
  },
} as const;
const { checks } = deviceSuite;

describe('the device suite', () => {
  it.for(Object.entries(CATALOGUE))(
    'decides every %s of the catalogue, and declares no other',
    ([level, bySection]) => {
      const declared = checks.filter(({ requirement }) => requirement.level === level);
      const due = Object.entries(bySection).flatMap(([section, ids]) =>
        ids.split(/\s+/).map((id) => `${section} ${id}`),
      );
      const found = declared.map(({ requirement }) => `${requirement.section} ${requirement.id}`);
      expect([...new Set(found)].sort()).toEqual(due.sort());
    },
  );

  it('declares each requirement once, however many checks decide it', () => {
    const byId = new Map(checks.map(({ requirement }) => [requirement.id, requirement]));
    for (const { id, requirement } of checks) expect(byId.get(requirement.id), id).toBe(requirement);
  });

  it('runs every check alone that stops or compacts the device', () => {
    for (const { id, needs = [], sharing } of checks) {
      if (needs.includes('restart') || needs.includes('compact')) expect(sharing, id).toBe('disruptive');
    }
  });

  it('rests on premises that exist, run no later, form no circle and are no waits', () => {
    expect(premiseProblems(checks)).toEqual([]);
    const slow = new Set(checks.filter((check) => check.slow === true).map(({ id }) => id));
    for (const { id, premises = [] } of checks.filter((check) => check.slow !== true))
      expect(
        premises.filter((premise) => slow.has(premise)),
        id,
      ).toEqual([]);
  });

  it('compares replays only where the plainest replay is right', () => {
    const premises = new Map(checks.map((check) => [check.id, check.premises ?? []]));
    const below = (id: string): string[] => (premises.get(id) ?? []).flatMap((each) => [each, ...below(each)]);
    for (const id of ['at-least-once', 'replay.seam', 'after-wins', 'client', 'types'])
      expect(below(`device.events.${id}`)).toContain('device.events.replay.complete');
    expect(below('device.log.crash')).toContain('device.events.content-type');
  });

  it('asks a black box in profile core for all that it asks a driven device for there, where it can', () => {
    const core = new Set(checks.filter(({ profile }) => profile === 'core').map(({ id }) => id));
    const twins = checks.map(({ id }) => id).filter((id) => core.has(id.replace(/\.retained$/, '')));
    expect(twins.filter((id) => id.endsWith('.retained')).length).toBeGreaterThan(5);
    expect(twins.filter((id) => !core.has(id))).toEqual([]);
  });

  it('quotes the specification in at most 25 words', () => {
    for (const { requirement } of checks)
      expect(requirement.clause?.split(/\s+/).length ?? 0, requirement.id).toBeLessThanOrEqual(25);
  });

  it('never writes to a platform', () => {
    expect(checks.filter(({ writes }) => writes === true)).toEqual([]);
  });
});
