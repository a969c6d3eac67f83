import { describe, expect, it } from 'vitest';
import { UsageError } from '../common/usage.ts';
import { requirement, suite } from './define.ts';
import { makePlan } from './plan.ts';
import { define } from './testing/checks.ts';
import type { Capability } from './types.ts';

describe('plan', () => {
  const all = suite<object>('device', [
    [
      define(
        requirement({
          id: 'device.events.frame',
          level: 'MUST',
          section: '6.1',
          since: '2026-11-21',
          text: 'x',
        }),
        { needs: ['drive'] },
        async () => {},
      ),
      define(
        requirement({
          id: 'device.events.heartbeat',
          level: 'MUST',
          section: '6.2',
          since: '2026-11-21',
          text: 'x',
        }),
        { slow: true },
        async () => {},
      ),
    ],
  ]);
  const none = new Set<Capability>();

  it('refuses an id that nothing has, and says which is near', () => {
    expect(() => makePlan(all, { capabilities: none, only: ['device.events.fram'] })).toThrow(UsageError);
    expect(() => makePlan(all, { capabilities: none, only: ['device.events.fram'] })).toThrow(
      'did you mean device.events.frame',
    );
    expect(() => makePlan(all, { capabilities: none, sections: ['42'] })).toThrow('6.1, 6.2');
  });

  it('lists what it leaves out, with the reason', () => {
    const plan = makePlan(all, { capabilities: none, fast: true });
    expect(plan.checks.map(({ skip }) => skip)).toEqual([
      expect.stringContaining('drive'),
      expect.stringContaining('--fast'),
    ]);
    expect(plan.narrowedBy).toEqual(['--fast']);
  });

  it('blames --read-only, not the target, for what may not write', () => {
    const writing = define(
      requirement({
        id: 'platform.group.tree',
        level: 'MUST',
        section: '9',
        since: '2026-11-21',
        text: 'x',
      }),
      { needs: ['write'], writes: true },
      async () => {},
    );
    const plan = makePlan(suite<object>('platform', [[writing]]), { capabilities: none, readOnly: true });
    expect(plan.checks.map(({ skip }) => skip)).toEqual([expect.stringContaining('--read-only')]);
    expect(plan.narrowedBy).toEqual(['--read-only']);
  });

  it('takes patterns and sections', () => {
    const ids = (options: object): string[] =>
      makePlan(all, { capabilities: none, ...options }).checks.map(({ check }) => check.id);
    expect(ids({ only: ['*heartbeat'] })).toEqual(['device.events.heartbeat']);
    expect(ids({ only: ['device.events'] })).toHaveLength(2);
    expect(ids({ sections: ['6'] })).toHaveLength(2);
    expect(ids({ sections: ['6.2'] })).toEqual(['device.events.heartbeat']);
  });
});
