/** The reference platform and device pass the suite in older versions, and an agent with a defect fails what it breaks. */
import { describe, expect, it } from 'vitest';
import { NEWEST_VERSION, SUPPORTED_VERSIONS } from '../../harness/contract/versions.ts';
import { agentDefects } from '../../simulators/defects/agents.ts';
import { simulatePair } from '../../simulators/platform/testing/pair.ts';
import { lines } from '../platform/testing/run.ts';
import { runSystemSuite } from './testing/run.ts';
import { startSystem } from './testing/system.ts';

const OLDER = SUPPORTED_VERSIONS.filter((version) => version !== NEWEST_VERSION);

describe('the reference platform with the reference device', () => {
  it.for(OLDER)('passes everything in %s', async (apiVersion) => {
    await using pair = await simulatePair();
    const report = await runSystemSuite({ ...pair, apiVersion });
    expect(lines(report, ['fail', 'warn', 'blocked', 'not_applicable'])).toEqual([]);
    expect(report.exit_code).toBe(0);
  });
});

describe('an agent that', () => {
  it.for(agentDefects)('$name fails what it breaks, and the report says why', async ({ behaviour, breaks }) => {
    await using system = await startSystem({ habits: behaviour({}) });
    const { checks } = await runSystemSuite(system, { only: breaks, patienceMs: 1500 });
    const red = checks.filter(({ outcome }) => outcome === 'fail' || outcome === 'warn');
    const held = checks.filter(({ blocked_by: by }) => red.some(({ id }) => id === by));
    expect([...red, ...held].map((check) => check.requirement_id)).toEqual(expect.arrayContaining([...breaks]));
    expect(red.map(({ actual }) => actual).join()).toMatch(/no such event; on the platform: status queued/);
  });
});
