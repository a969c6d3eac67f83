/** What does nothing must get nothing. */
import { describe, expect, it } from 'vitest';
import { type NullServer, nullServer } from './testing/null-servers.ts';
import { EVERYTHING, lines, runPlatformSuite } from './testing/run.ts';

const CASES: NullServer[] = ['hangs up', 'answers 404', 'answers 200 {}'];

describe('a server that', () => {
  it.for(CASES)('%s passes no MUST', async (kind) => {
    await using server = await nullServer(kind);
    const report = await runPlatformSuite({
      url: server.url,
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

  it('answers an empty list to everything, whoever asks, passes no check of keys, pages or writes', async () => {
    await using server = await nullServer('answers an empty list');
    const report = await runPlatformSuite({ url: server.url, apiKey: 'key_0123456789' });
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
