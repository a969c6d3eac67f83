import { describe, expect, it } from 'vitest';
import { monotonicMs } from '../schedule/scheduler.ts';
import { Deadlines } from './deadlines.ts';

const never = new Promise<void>(() => {});
const farOff = (): number => monotonicMs() + 3_600_000;

describe('waits of a run', () => {
  it('all end with the run, also those that begin after it', async () => {
    const deadlines = new Deadlines();
    const waiting = [deadlines.until(farOff()), deadlines.at(farOff()).promise, deadlines.reached(farOff(), never)];
    deadlines.end();
    expect(await Promise.all(waiting)).toEqual([undefined, undefined, true]);
    expect(await deadlines.until(farOff())).toBeUndefined();
  });

  it('report whether work was done in time', async () => {
    const deadlines = new Deadlines();
    expect(await deadlines.reached(farOff(), Promise.resolve())).toBe(true);
    expect(await deadlines.reached(monotonicMs(), never)).toBe(false);
    await expect(deadlines.reached(farOff(), Promise.reject(new Error('refused')))).rejects.toThrow('refused');
  });
});
