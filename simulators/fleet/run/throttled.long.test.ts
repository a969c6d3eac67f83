import { existsSync, readFileSync } from 'node:fs';
import { createServer, request } from 'node:http';
import { text } from 'node:stream/consumers';
import { expect, it, onTestFinished } from 'vitest';
import { served } from '../../../harness/common/testing/servers.ts';
import { eventually, useFolder } from '../../common/testing/scratch.ts';
import { simulatePlatform } from '../../platform/index.ts';
import type { AgentPort } from '../../platform/ports.ts';
import { exitCode, type FleetResult } from '../result/result.ts';
import type { RunOptions } from './fleet.ts';
import { runFleet } from './run.ts';
import { runOptionsIn } from './testing/fleets.ts';

const folder = useFolder();

const optionsWith = (phases: string, change: Partial<RunOptions>): RunOptions =>
  runOptionsIn(folder(), `phases:\n  - { do: ramp, over: 0s }\n${phases}`, change);
const written = (): FleetResult => JSON.parse(readFileSync(folder('out', 'result.json'), 'utf8')) as FleetResult;

/**
 * Starts a proxy, which answers with the status that `answer` returns, or forwards the request. It holds back the
 * answer to a POST until `isReady` resolves.
 */
async function inFrontOf(
  answer: (path: string) => number | undefined,
  retryAfterS = 0,
  isReady: (posted: string, port: AgentPort) => Promise<void> = async () => {},
) {
  const platform = await simulatePlatform({ seed: 1, minKeyBits: 1024 });
  const { url, agentUrl, mqttUrl, apiKey } = platform;
  const front = createServer((asked, response) => {
    const status = answer(asked.url ?? '');
    if (status !== undefined)
      return void response.writeHead(status, { 'retry-after': String(retryAfterS) }).end('\u001b[2Jbusy');
    const { method, headers, url: path } = asked;
    const onward = request(new URL(path ?? '/', url), { method, headers }, async (answered) => {
      const body = await text(answered);
      if (method === 'POST') await isReady(body, platform.port);
      response.writeHead(answered.statusCode ?? 502, answered.headers).end(body);
    });
    asked.pipe(onward);
  });
  onTestFinished(() => platform.stop());
  const { url: own } = await served(front);
  return { url: `${own}${new URL(url).pathname}`, agentUrl, mqttUrl, apiKey };
}

it('a platform that throttles delays the set-up of a run, without a failure', async () => {
  const asked = new Map<string, number>();
  const setUp = /provisioning_tokens|config_types|config_schemas|releases|config_instances/;
  const platform = await inFrontOf((path) => {
    const name = setUp.exec(path)?.[0];
    if (name === undefined) return undefined;
    const before = asked.get(name) ?? 0;
    asked.set(name, before + 1);
    return before === 0 ? 429 : before === 1 ? 503 : undefined;
  });
  const result = await runFleet(optionsWith('  - { do: rollout, over: 50ms }\n', { platform }));
  expect(result).toMatchObject({ complete: true, incomplete_reasons: [], missed: [] });
  expect(result.metrics['rollout.ms']?.count).toBe(2);
  for (const [name, times] of asked) expect(times, name).toBeGreaterThanOrEqual(3);
});

it('a platform that throttles forever ends in an incomplete result with the reason', async () => {
  const platform = await inFrontOf((path) => (path.includes('config_types') ? 429 : undefined));
  const result = await runFleet(optionsWith('  - { do: rollout, over: 50ms }\n', { platform, setUpMs: 400 }));
  expect(exitCode(result)).toBe(2);
  expect(result.incomplete_reasons).toEqual([
    expect.stringMatching(/^the phase rollout could not begin: HTTP 429: .*; sent .* within 0\.4 s/),
  ]);
  expect(result.metrics['start.ms']?.count).toBe(2);
  expect(written()).toMatchObject({ outcome: 'INCOMPLETE', complete: false });
  expect(existsSync(folder('out', 'report.html'))).toBe(true);
});

it('a roll-out behind a throttle is late when its POST is answered after its event was read', async () => {
  const platform = await inFrontOf(
    () => undefined,
    0,
    async (posted, port) => {
      const { object, id, device_id } = JSON.parse(posted) as Record<string, string>;
      if (object !== 'deployment' || id === undefined || device_id === undefined) return;
      // The robot reports that it is deployed after its event was sent.
      await eventually(() => expect(port.deployment(device_id, id, []).activity_status).toBe('deployed'));
    },
  );
  const phases = '  - { do: rollout, over: 50ms, within: 1ms }\n';
  const { counters, metrics, missed } = await runFleet(optionsWith(phases, { platform }));
  expect(missed).toHaveLength(2);
  expect(counters).toMatchObject({ 'rollout.attempts': 2, 'rollout.missed': 2, 'rollout.errors': 0 });
  expect(metrics['rollout.late.ms']?.count).toBe(2);
  expect(metrics['rollout.ms']).toBeUndefined();
});

it.each([
  ['the token of its canary', '/provisioning_tokens'],
  ['what a roll-out needs', '/config_types'],
])('a platform that throttles for %s does not delay an interrupt', async (_what, wanted) => {
  const refused = Promise.withResolvers<void>();
  const waitS = 50;
  let asked = 0;
  const answer = (path: string): number | undefined => {
    if (!path.includes(wanted)) return undefined;
    asked += 1;
    // Waits for the second request, because preflight sends the first and ignores `Retry-After`.
    if (asked > 1) refused.resolve();
    return 429;
  };
  const platform = await inFrontOf(answer, waitS);
  const interrupt = new AbortController();
  const phases = '  - { do: rollout, over: 50ms }\n';
  const run = runFleet(optionsWith(phases, { platform, workers: 1, signal: interrupt.signal }));
  await refused.promise;
  const began = performance.now();
  interrupt.abort(new Error('interrupted'));
  const result = await run;
  expect(performance.now() - began).toBeLessThan((waitS * 1000) / 2);
  expect(result).toMatchObject({ complete: false });
  expect(result.incomplete_reasons).toContain('the run was interrupted');
  expect(written()).toMatchObject({ outcome: 'INCOMPLETE' });
});
