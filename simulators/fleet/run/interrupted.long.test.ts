import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { poll } from '../../../harness/common/waiting.ts';
import { DIALECT_NAMES, NEWEST_VERSION } from '../../../harness/contract/versions.ts';
import { simulatePlatform } from '../../platform/index.ts';
import { reportHtml } from '../report/report.ts';
import { cellsOf } from '../result/rollout-map.ts';
import { runFleet } from './run.ts';
import { runOptionsIn } from './testing/options.ts';

it.each([0, 1])('an interrupt keeps the roll-out that it ends (%i workers)', { timeout: 200_000 }, async (workers) => {
  const root = mkdtempSync(join(tmpdir(), 'muster-interrupted-'));
  try {
    await using platform = await simulatePlatform({ seed: 1, minKeyBits: 1024 });
    const { url, apiKey } = platform;
    const headers = { 'X-API-Key': apiKey, [DIALECT_NAMES.spec.versionHeader]: NEWEST_VERSION };
    const interrupt = new AbortController();
    const robots = 4;
    // So slow that the first arrives before the last was sent.
    const scenario = 'phases:\n  - { do: ramp, over: 0s }\n  - { do: rollout, over: 20s }\n';
    const options = { platform, robots, workers, signal: interrupt.signal };
    const run = runFleet(runOptionsIn(root, scenario, options));
    await poll(
      'a robot that was reached',
      async () => {
        const answer = await fetch(`${url}/deployments?activity_status=deployed`, { headers });
        const { data = [] } = (await answer.json()) as { data?: { activity_status: string }[] };
        return data.some(({ activity_status }) => activity_status === 'deployed') || undefined;
      },
      { timeoutMs: 150_000 },
    );
    interrupt.abort(new Error('interrupted'));
    const result = await run;
    expect(result.phases.map(({ do: name, interrupted }) => [name, interrupted])).toEqual([
      ['ramp', undefined],
      ['rollout', true],
    ]);
    const cells = cellsOf(result.rollouts?.map ?? { bands: 1, column_ms: 1, cells: [] });
    const arrived = cells.filter(({ slowestMs }) => slowestMs > 0);
    expect(arrived.length).toBeGreaterThan(0);
    // One that is under way when it ends is neither late nor lost.
    expect(cells.filter(({ late, lost }) => late + lost > 0)).toEqual([]);
    expect(reportHtml(result)).toContain('roll-out, interrupted');
    const rows = readFileSync(join(root, 'out', 'rollouts.jsonl'), 'utf8')
      .trim()
      .split('\n');
    expect(rows).toHaveLength(arrived.reduce((sum, { attempts }) => sum + attempts, 0));
  } finally {
    rmSync(root, { recursive: true, force: true });
  }
});
