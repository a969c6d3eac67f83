/**
 * `muster demo --ui` in a real browser: each button's effect is read from the platform, from robots and from the
 * report.
 */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { FleetResult } from '../../simulators/fleet/result/result.ts';
import { barriers, CHROMIUM, fits, openBrowser, openConsole } from '../common/testing/browser.ts';
import { poll } from '../common/waiting.ts';
import { muster, Running } from './testing/muster.ts';

const soon = { timeoutMs: 200_000 };
/** A demo takes half a minute, and several on a busy machine. */
const slow = { timeout: 600_000 };
const ROBOTS = 8;

const press = (page: Page, action: string): Promise<void> => page.locator(`button[data-action=${action}]`).click();
const counts = async (page: Page): Promise<Record<string, number>> =>
  JSON.parse((await page.locator('[data-counts]').getAttribute('data-counts')) ?? '{}') as Record<string, number>;

describe.skipIf(CHROMIUM === undefined)(
  `the pages of the demo${CHROMIUM === undefined ? ' (skipped: no chromium here)' : ''}`,
  () => {
    const home = mkdtempSync(join(tmpdir(), 'muster-demo-ui-'));
    let browser: Browser;
    beforeAll(async () => {
      browser = await openBrowser();
    });
    afterAll(async () => {
      await browser.close();
      rmSync(home, { recursive: true, force: true });
    });

    it('hold the demo, drive its fleet and its platform, and stay up until Ctrl+C', slow, async () => {
      const out = join(home, 'report');
      await using run = new Running(['demo', '--robots', String(ROBOTS), '--seed', '3', '--out', out, '--ui']);
      const [url = '', other = ''] = [
        await run.line((line) => line.includes('ui: ')),
        await run.line((line) => line.includes('(the platform)')),
      ].map((line) => /http:\S+/.exec(line)?.[0] ?? '');
      const { page, wrong } = await openConsole(browser, url);
      await press(page, 'pause');
      await run.line((line) => line.includes('✓ robots'));
      await page.getByRole('region', { name: 'Run' }).getByText('paused', { exact: true }).waitFor();

      const { page: platform, wrong: wrongThere } = await openConsole(browser, other);
      expect(await page.getByRole('link', { name: 'the platform' }).getAttribute('href')).toBe(other);
      const shown = async () => platform.locator('[data-device][data-is=online]').count();
      await poll('the platform to show its robots', async () => (await shown()) === ROBOTS || undefined, soon);

      await page.getByLabel('Share of robots').fill('50%');
      await page.getByLabel('Duration').fill('100ms');
      await press(page, 'rollout');
      await poll(
        'half of the robots to be reached',
        async () => (await counts(page))['reached'] === ROBOTS / 2 || undefined,
        soon,
      );
      await press(page, 'resume');
      await run.line((line) => line.includes('✓ roll-out'));
      await run.line((line) => line.includes('until Ctrl+C'));
      await poll('all robots to be reached', async () => (await counts(page))['reached'] === ROBOTS || undefined, soon);
      const base = /http\S+/.exec(await run.line((line) => line.includes('✓ platform')))?.[0] ?? '';
      const releases = async () =>
        (await fetch(`${base}/releases`, { headers: { 'X-API-Key': 'a wrong one' } })).status;
      expect(await releases()).toBe(401);
      await platform.getByRole('combobox', { name: 'Route' }).fill('GET /releases');
      await platform.getByRole('combobox', { name: 'Fault' }).fill('429=7');
      await press(platform, 'plan');
      await poll('the planned answer', async () => (await releases()) === 429 || undefined, soon);
      for (const look of [page, platform]) {
        expect(await barriers(look)).toEqual([]);
        expect(await fits(look)).toBe(true);
      }

      process.kill(-(run.child.pid ?? 0), 'SIGINT');
      const { code, stdout, stderr } = await run.ended;
      expect(code, stderr).toBe(0);
      expect(stdout).toContain('Everything passed');
      await page.locator('[data-outcome=PASSED]').waitFor();
      const result = JSON.parse(readFileSync(join(out, 'fleet.json'), 'utf8')) as FleetResult;
      const { phases, counters, notes } = result;
      expect(phases.flatMap(({ by_hand }) => by_hand ?? [])).toEqual(['roll-out to 50% over 100ms']);
      expect(counters['rollout.attempts']).toBe(ROBOTS + ROBOTS / 2);
      expect(notes.join('\n')).toContain('the scenario was paused until');
      expect([...wrong, ...wrongThere].filter((text) => !text.includes('ERR_'))).toEqual([]);
      await page.close();
      await platform.close();
    });

    it('are refused on a port that is taken, and nothing is left running', slow, async () => {
      const server = createServer();
      await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
      const { port } = server.address() as AddressInfo;
      const { code, stderr } = await muster(
        'demo',
        '--robots',
        '2',
        '--out',
        join(home, 'none'),
        '--ui-port',
        String(port),
      );
      server.close();
      expect(stderr).toContain(`--ui-port: cannot serve on port ${port}`);
      expect(code).toBe(64);
    });
  },
);
