/** A server that does nothing passes no MUST. */
import { describe, expect, it } from 'vitest';
import { type NullServerName, nullServer } from '../../simulators/defects/null.ts';
import { EVERYTHING, lines, runPlatformSuite } from './testing/run.ts';

const CASES: NullServerName[] = ['hangs-up', 'not-found', 'empty-object'];

describe('a server that', () => {
  it.for(CASES)('%s passes no MUST', async (kind) => {
    await using server = await nullServer(kind, { port: 0 });
    const report = await runPlatformSuite({
      url: `${server.address}/beta`,
      apiKey: 'key_0123456789',
      limitedKey: 'key_limited_0123456789',
      onlineDevice: 'dvc_online',
      offlineDevice: 'dvc_offline',
      capabilities: EVERYTHING,
    });
    const musts = report.checks.filter(({ level }) => level === 'MUST');
    expect(musts.filter(({ outcome }) => outcome === 'pass').map(({ id }) => id)).toEqual([]);
    expect(lines(report, ['not_applicable'])).toEqual([]);
    expect(report.exit_code).toBe(1);
  });

  it('answers every request with an empty list passes no check of keys, pages or writes', async () => {
    await using server = await nullServer('empty-list', { port: 0 });
    const report = await runPlatformSuite({ url: `${server.address}/beta`, apiKey: 'key_0123456789' });
    const passed = report.checks.filter(({ outcome, level }) => outcome === 'pass' && level === 'MUST');
    expect(
      passed
        .map(({ id }) => id)
        .filter((id) =>
          /auth|walk|has-more|ping|deployment|group|slug|provisioning|clamp.(high|low|offset|huge)/.test(id),
        ),
    ).toEqual([]);
  });
});
