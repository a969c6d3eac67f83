import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { useFolder } from '../../simulators/common/testing/scratch.ts';
import { platformDefect } from '../../simulators/defects/platform/index.ts';
import type { Exchange } from '../../simulators/fleet/platform/answers.ts';
import type { Judged } from '../../simulators/fleet/result/result.ts';
import { runFleet } from '../../simulators/fleet/run/run.ts';
import { runOptionsIn } from '../../simulators/fleet/run/testing/fleets.ts';
import { parseFaults } from '../../simulators/platform/faults.ts';
import { type PlatformOptions, simulatePlatform } from '../../simulators/platform/index.ts';
import { referenceBehaviour } from '../../simulators/platform/reference.ts';
import { FleetJudge } from './fleet-judge.ts';
import { useFleetRuns } from './testing/muster.ts';

const fleets = useFleetRuns();
const folder = useFolder();
const KEY = 'mk_judged_k7Q2xW9zBf4vN8';

const LOAD = `
uplink: polling
poll_every: 500ms
phases:
  - { do: ramp, over: 500ms }
  - { do: rollout, over: 500ms, within: 5s, lists: 20/s, reads: 20/s }
  - { do: hold, for: 2s, lists: 20/s, reads: 20/s }
`;

const platformWith = (options: Partial<PlatformOptions>) =>
  simulatePlatform({ devices: 130, seed: 7, mqtt: false, keys: [{ key: KEY, scopes: 'all' }], ...options });

it.each([
  ['is busy', '5xx=503@0.15,429@0.1'],
  ['breaks off', 'reset@0.1,latency=200@0.2,slow-body=20@0.2'],
])('a judge finds nothing when a loaded platform %s', { timeout: 120_000 }, async (_, faults) => {
  await using platform = await platformWith({ faults: parseFaults(faults) });
  const options = runOptionsIn(folder(), LOAD, { platform, robots: 10 });
  const result = await runFleet({ ...options, judging: (address) => new FleetJudge(address) });
  expect(result.answers?.findings.map(({ id }) => id)).toEqual([]);
  expect(result.answers?.judged).toBeGreaterThan(20);
  expect(result.incomplete_reasons).toEqual([]);
});

it('fleet --judge exits with 1 and names the broken rule in output and report', { timeout: 60_000 }, async () => {
  const behaviour = platformDefect('total-count-unasked').behaviour(referenceBehaviour);
  await using platform = await platformWith({ behaviour });
  const words = '  - { do: hold, for: 1s, lists: 30/s }\n';
  const run = fleets.words(words, { platform: platform.url, uplink: 'calls' });
  const { code, stdout } = await fleets.run([...run, '--judge'], { MUSTER_API_KEY: KEY });
  expect(stdout).toMatch(/✗ MUST platform\.list\.total-count\.everywhere: \d+ answers, first in 2-hold: expected no/);
  expect(stdout).toMatch(/judged +\d+ of \d+ answers/);
  expect(stdout).toContain('exit 1: ');
  expect(code).toBe(1);
  expect(readFileSync(fleets.path('out', 'report.html'), 'utf8')).toContain('platform.list.total-count.everywhere');
  expect(fleets.result().answers?.findings[0]?.curl).toContain('$MUSTER_API_KEY');
  for (const name of ['result.json', 'report.html'])
    expect(readFileSync(fleets.path('out', name), 'utf8')).not.toContain(KEY);
});

function page(object: string, phase: string): Exchange {
  const item = { object: 'device', id: 'dvc_1', name: 'robot', created_at: '2026-01-01T00:00:00Z' };
  const data = Array.from({ length: 100 }, (_, at) => ({ ...item, id: `dvc_${at}` }));
  const asked = { at: Date.now(), ms: 1, method: 'GET', path: '/devices?limit=100&offset=0', phase };
  const body = JSON.stringify({ object, limit: 100, offset: 0, has_more: false, data });
  const answered = { 'content-type': 'application/json' };
  return { ...asked, headers: { 'x-api-key': '***' }, status: 200, answered, body };
}

const judgeOf = (): FleetJudge => new FleetJudge({ url: 'http://localhost/beta' });
const untilJudged = async (judge: FleetJudge, holds: (judged: Judged) => boolean): Promise<void> => {
  while (!holds(judge.judged)) await new Promise((resolve) => void setTimeout(resolve, 5));
};

it('a judge counts every answer that breaks a rule and keeps the first', { timeout: 60_000 }, async () => {
  await using judge = judgeOf();
  for (const [at, object] of ['list', 'page', 'list', 'page'].entries())
    judge.take({ answers: 2, exchange: page(object, `${at}-hold`) });
  await untilJudged(judge, ({ judged }) => judged === 4);
  expect(judge.judged).toMatchObject({
    ...{ seen: 8, judged: 4, dropped: 0 },
    findings: [{ id: 'platform.list.envelope.everywhere', count: 2, phase: '1-hold' }],
  });
});

it('a judge takes less than a tenth of a processor and drops further answers', { timeout: 60_000 }, async () => {
  await using judge = judgeOf();
  judge.take({ answers: 1, exchange: page('list', '') });
  await untilJudged(judge, ({ judged }) => judged === 1);
  const offer = async (ms: number): Promise<void> => {
    for (const end = performance.now() + ms; performance.now() < end; ) {
      for (let count = 0; count < 10; count += 1) judge.take({ answers: 1, exchange: page('list', '') });
      await new Promise((resolve) => void setTimeout(resolve, 1));
    }
  };
  while (judge.judged.dropped <= judge.judged.judged) await offer(1000);
  await offer(3000);
  expect(judge.judged.cpu_share).toBeLessThan(0.1);
});
