import { describe, expect, it } from 'vitest';
import { Blocked } from '../../../harness/runner/violation.ts';
import { type Control, noControl } from '../../../harness/targets/control/control.ts';
import { layered } from '../../../harness/targets/control/layers.ts';
import { Pace, pacedControl, paceOf } from './pace.ts';

/** A pace whose clock stands still until it is set. */
function paceAt() {
  const clock = { ms: 0 };
  return { clock, pace: new Pace(() => clock.ms) };
}

describe('a pace', () => {
  it('asks for all where nothing is known yet, and where the target is quick', () => {
    const { pace } = paceAt();
    expect([pace.batch(300), pace.rounds(3), pace.isSlow()]).toEqual([300, 3, false]);
    pace.took('event', 2);
    expect([pace.batch(300), pace.rounds(3), pace.isSlow()]).toEqual([300, 3, false]);
    expect(pace.whyTooMuch('event', 2000, Number.POSITIVE_INFINITY)).toBeUndefined();
  });

  it('asks for little of a device that sends one event a second', () => {
    const { pace } = paceAt();
    pace.took('event', 1000);
    expect([pace.batch(300), pace.batch(1), pace.rounds(3), pace.isSlow()]).toEqual([2, 1, 1, true]);
  });

  it('knows an agent that publishes at once after a pause, and once a second otherwise', () => {
    const { pace } = paceAt();
    for (const ms of [100, 1000, 100, 100, 100, 100, 100, 100]) pace.took('publish', ms);
    expect(pace.isSlow('publish')).toBe(false);
    for (const ms of [900, 100, 100, 100, 100, 100]) pace.took('publish', ms);
    expect([pace.isSlow('publish'), pace.typicalMs('publish'), pace.batch(300)]).toEqual([true, 900, 2]);
    // The agent may be right and quick: what control takes its time for gets the whole of the run.
    expect(pace.whyTooMuch('publish', 300, 600_000)).toBeUndefined();
    expect(pace.whyTooMuch('publish', 2001, 600_000)).toContain('and 600 s of --max-time are left');
  });

  it('lets checks that drive wait for those that watch an idle stream', async () => {
    const { pace } = paceAt();
    await pace.quiet();
    const watch = Promise.withResolvers<void>();
    pace.askForQuiet(watch.promise);
    let began = false;
    const driving = pace.quiet().then(() => {
      began = true;
    });
    await new Promise((resolve) => setImmediate(resolve));
    expect(began).toBe(false);
    watch.resolve();
    await driving;
  });

  it('takes one slow answer among quick ones for an accident', () => {
    const { pace } = paceAt();
    for (const ms of [3, 4000, 5]) pace.took('answer', ms);
    expect(pace.isSlow()).toBe(false);
    for (let count = 0; count < 5; count += 1) pace.took('answer', 300);
    expect(pace.isSlow()).toBe(true);
  });

  it('waits for silence as long as it takes where events are slow, and less where they are quick', () => {
    const { pace } = paceAt();
    expect(pace.quietMs(150)).toBe(50);
    pace.waits.succeeded('event', 20);
    expect(pace.quietMs(150)).toBe(100);
    pace.waits.succeeded('event', 1000);
    expect(pace.quietMs(150)).toBe(150);
  });

  it('hurries when the run is late', () => {
    const { clock, pace } = paceAt();
    clock.ms = 90_000;
    expect([pace.isSlow(), pace.isSlow('event'), pace.rounds(3), pace.batch(300)]).toEqual([true, false, 1, 300]);
  });

  it('says at once, with the arithmetic, what cannot be had any more', () => {
    const { clock, pace } = paceAt();
    pace.took('event', 1000);
    expect(pace.whyTooMuch('event', 2000, 600_000)).toBe(
      'not decided: 2,000 events at 1 s each take 2000 s, and 150 s of the 150 s that a slow target gets, a quarter of --max-time, are left',
    );
    expect(pace.whyTooMuch('event', 5, 600_000)).toBeUndefined();
    expect(pace.whyTooMuch('event', 200, 2_400_000)).toBeUndefined();
    expect(pace.whyTooMuch('event', 5, 4000)).toContain('5 events at 1 s each take 5 s, and 1 s of the 1 s');
    clock.ms = 149_500;
    expect(pace.whyTooMuch('event', 1, 450_500)).toContain('1 event at 1 s each take 1 s, and 0.5 s of the 150 s');
    expect(pace.whyTooMuch('deployment', 1, 600_000)).toBeUndefined();
  });

  it('belongs to one target', () => {
    const [one, other] = [{ capabilities: [] }, { capabilities: [] }];
    paceOf({ info: one }).took('event', 1000);
    expect([paceOf({ info: one }).isSlow(), paceOf({ info: other }).isSlow()]).toEqual([true, false]);
  });
});

const publishing = (publish: (count: number) => { first_id: number; last_id: number }): Control =>
  layered(noControl, {
    call: (call) => (call.name === 'publish' ? Promise.resolve(publish(call.count)) : undefined),
  });

describe('a paced control', () => {
  it('measures each event of a batch, and refuses a batch that would take too long', async () => {
    const info = { capabilities: [] };
    let published = 0;
    const control = pacedControl({
      control: publishing((count) => {
        published += count;
        return { first_id: 1, last_id: count };
      }),
      info,
      remainingMs: () => 1000,
      blocked: (reason) => {
        throw new Blocked(reason);
      },
    });
    await control.publish(100);
    expect(paceOf({ info }).typicalMs('publish')).toBeLessThan(1000);
    for (let round = 0; round < 5; round += 1) paceOf({ info }).took('publish', 1000, 10);
    await expect(control.publish(2)).rejects.toThrow('2 events at 1 s each take 2 s, and ');
    await expect(control.publish(2000)).rejects.toThrow('2,000 events at 1 s each take 2000 s, and ');
    expect(published).toBe(100);
  });

  it('tries a small batch before it refuses a large one for two events that a busy machine held up', async () => {
    const info = { capabilities: [] };
    const batches: number[] = [];
    let published = 0;
    const control = pacedControl({
      control: publishing((count) => {
        batches.push(count);
        published += count;
        return { first_id: published - count + 1, last_id: published };
      }),
      info,
      remainingMs: () => 560_000,
      blocked: (reason) => {
        throw new Blocked(reason);
      },
    });
    for (const ms of [2, 600, 2, 2, 600, 2]) paceOf({ info }).took('publish', ms);
    expect(await control.publish(2001)).toEqual({ first_id: 1, last_id: 2001 });
    expect(batches).toEqual([10, 1991]);
    for (const ms of [58_000, 600, 58_000]) paceOf({ info }).took('publish', ms);
    await control.publish(2);
    paceOf({ info }).took('publish', 600, 10);
    await expect(control.publish(2001)).rejects.toThrow('2,001 events at 0.6 s each take ');
    expect(batches).toEqual([10, 1991, 2]);
  });
});
