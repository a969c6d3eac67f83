import { describe, expect, it } from 'vitest';
import { Blocked, Violation } from '../../../harness/runner/violation.ts';
import { type System, whileOffline } from './check.ts';

const violation = new Violation({ expected: 'queued', actual: 'deployed' });

function systemThat(online: () => Promise<void>) {
  const calls: string[] = [];
  const t = {
    offline: async () => void calls.push('offline'),
    online: () => {
      calls.push('online');
      return online();
    },
  } as unknown as System;
  return { t, calls };
}
const refusing = () => Promise.reject(new Blocked('control refused'));

describe('after a check of an offline device', () => {
  it('the device is reconnected, even if the check failed', async () => {
    const { t, calls } = systemThat(async () => {});
    await whileOffline(t, async () => void calls.push('check'));
    await expect(whileOffline(t, () => Promise.reject(violation))).rejects.toBe(violation);
    expect(calls).toEqual(['offline', 'check', 'online', 'offline', 'online']);
  });

  it('a refusing control keeps a violation, and blocks a check without one', async () => {
    const { t } = systemThat(refusing);
    await expect(whileOffline(t, () => Promise.reject(violation))).rejects.toBe(violation);
    await expect(whileOffline(t, async () => {})).rejects.toThrow('control refused');
  });
});
