import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import {
  barriers,
  CHROMIUM,
  DESK,
  FORMS,
  openIn,
  SKIPPED,
  useBrowser,
} from '../../../harness/common/testing/browser.ts';
import { temporaryFolder } from '../../../harness/targets/testing/places.ts';
import type { FleetResult } from '../result/result.ts';
import { judgedWith } from '../result/testing/result.ts';
import { resultOf } from '../run/outputs.ts';
import { useFleets } from '../run/testing/fleets.ts';
import { reportHtml } from './report.ts';

const fleets = useFleets();
const folder = temporaryFolder();

/** The first roll-out reaches half of the robots in time; the second reaches all of them too late. */
const SCENARIO = `
  - { do: hold, for: 1200ms, ping: 20/s }
  - { do: rollout, share: 50%, over: 500ms }
  - { do: rollout, over: 1s, within: 1ms, ping: 20/s }
  - { do: hold, for: 1s }
`;

describe.skipIf(CHROMIUM === undefined)(`the report of a fleet in a browser${SKIPPED}`, () => {
  const file = join(folder, 'report.html');
  const browser = useBrowser();
  let result: FleetResult;
  beforeAll(async () => {
    await using fleet = fleets.create(SCENARIO);
    await fleet.prepare();
    for (const phase of fleet.options.scenario.phases) await fleet.run(phase);
    // Stops the robots, so that the last roll-out never arrives.
    await fleet.run({ do: 'stop', over: '0s' });
    await fleet.run({ do: 'rollout', over: '500ms', within: '500ms' });
    await fleet.finish();
    const startedAt = new Date().toISOString();
    const run = { startedAt, workers: 1, notes: [], judged: judgedWith([{ level: 'SHOULD' }]) };
    const options = { ...fleet.options, thresholds: ['ping.ms.p95<1m'], version: '0.0.0' };
    result = resultOf(options, fleet, await fleet.measured(), run);
    writeFileSync(file, reportHtml(result));
  });

  it('covers a run with robots in time, late and lost', () => {
    expect(result.counters).toMatchObject({ 'rollout.attempts': 30, 'rollout.missed': 24 });
    expect(result.metrics['rollout.late.ms']?.count).toBe(12);
    expect(result.rollouts.missed.filter(({ late_ms }) => late_ms !== null)).toHaveLength(12);
  });

  it.each(FORMS)('shows the outcome and its figures in $name', async (form) => {
    await using page = await openIn(browser(), form, file);
    // On a busy machine, the verdict may be `invalid`, and thresholds then do not count.
    expect(await page.locator('h1').textContent()).toBe(result.verdict === 'invalid' ? 'INCOMPLETE' : 'FAILED');
    const text = await page.locator('main').textContent();
    for (const words of ['6 of 30 arrived in time', '12 of 30 arrived late', '12 of 30 never', 'p95', 'got a map'])
      expect(text).toContain(words);
    expect(await page.locator('[data-chart] svg path:not(.grid)').count()).toBeGreaterThan(5);
  });

  it.each(FORMS.filter(({ script }) => script))('passes the serious checks of axe in $name', async (form) => {
    await using page = await openIn(browser(), form, file);
    await page.evaluate("for (const details of document.querySelectorAll('details')) details.open = true");
    expect(await barriers(page)).toEqual([]);
  });

  it('shows values under the pointer and under the keyboard cursor', async () => {
    await using page = await openIn(browser(), DESK, file);
    const area = page.locator('[data-chart=reach] .area');
    const tip = page.locator('.tip');
    await area.hover({ position: { x: 2, y: 50 } });
    expect(await tip.textContent()).toMatch(/arrived in time0 %/);
    await page.mouse.move(0, 0);
    expect(await tip.count()).toBe(0);
    await area.focus();
    await page.keyboard.press('End');
    expect(await tip.textContent()).toMatch(/arrived in time20 %with those that came late60 %/);
  });
});
