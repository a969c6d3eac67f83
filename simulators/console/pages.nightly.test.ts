import type { Page } from 'playwright-core';
import { expect, it, onTestFinished } from 'vitest';
import { describeConsole } from '../../harness/cli/testing/console.ts';
import { barriers } from '../../harness/common/testing/browser.ts';
import { serveConsole } from './console.ts';
import { Feed } from './feed.ts';
import type { FleetDocument } from './page/fleet/document.ts';

const COUNTS = { attempts: 1, reached: 1, missed: 0, stallMs: 9 };

const FLEET: FleetDocument = {
  title: 'looked at',
  prefix: 'robot',
  states: 'uopmc.xdrs',
  phase: 'hold',
  beginMs: 46_000,
  elapsedMs: 50_000,
  remainingMs: 9000,
  paused: false,
  seconds: [{ at: 49_000, rates: {}, p50: {}, p99: { 'schedule.lateness.ms': 370 }, ...COUNTS }],
  latenessLimitMs: 50,
  soFar: { verdict: 'valid', atBest: 'valid', reasons: [] },
  bands: [],
  thresholds: [{ expr: 'rollout.ms.p99<5s', value: 12, tone: 'good' }],
  trouble: [],
  ending: null,
  links: [],
};

/** The tests compile without the types of the DOM. */
interface Canvas {
  width: number;
  height: number;
  getContext(
    kind: '2d',
  ): { getImageData(x: number, y: number, w: number, h: number): { data: Iterable<number> } } | null;
}

describeConsole('the page of a fleet', (open) => {
  async function shown(change: Partial<FleetDocument>, width = 1400): Promise<Page> {
    const feed = new Feed<FleetDocument>({ ...FLEET, ...change });
    const served = await serveConsole({ page: 'fleet', title: 'Fleet', feed, actions: {}, port: 0 });
    onTestFinished(() => served[Symbol.asyncDispose]());
    return await open(served.url, { width });
  }

  it('counts time from the first phase, and shows no warning for a valid run', async () => {
    await using page = await shown({});
    const text = await page.locator('main').textContent();
    expect(text).not.toMatch(/judged/);
    expect(text).toMatch(/elapsed\s*0:04/);
    expect(text).toContain('Nothing went wrong.');
    expect(await page.locator('[data-so-far]').count()).toBe(0);
    expect(text).toMatch(/limit\s*50 ms/);
    expect(await page.locator('.standings .good').count()).toBe(1);
    await using early = await shown({ beginMs: null, phase: 'making keys, 3 of 10', judged: '1 of 9 answers' });
    expect(await early.locator('main').textContent()).toMatch(/preparing\s*0:50(.|\n)*judged\s*1 of 9 answers/);
  });

  it('shows at once that the result is invalid, and whether a threshold decides', async () => {
    const reasons = ['actions started late: p99 370.0 ms (limit 50 ms)', 'this machine carries about 67 robots'];
    const thresholds = FLEET.thresholds.map((one) => ({ ...one, tone: 'open' as const }));
    const soFar = { verdict: 'invalid', atBest: 'valid', reasons };
    await using page = await shown({ thresholds, soFar, endable: true });
    const banner = page.locator('[data-so-far=invalid]');
    expect(await banner.textContent()).toMatch(/As it stands, .* invalid.*decide nothing.*67 robots.*End the run now/s);
    expect(await page.locator('main').textContent()).not.toContain('Nothing went wrong');
    expect(await page.locator('.standings .good').count()).toBe(0);
    expect(await barriers(page)).toEqual([]);
    const settled = { verdict: 'invalid', atBest: 'suspect', reasons };
    await using late = await shown({ soFar: settled }, 400);
    expect(await late.locator('[data-so-far]').textContent()).toContain(
      'can no longer be valid: at best it will be suspect',
    );
    expect(await barriers(late)).toEqual([]);
  });

  it('draws each state in a shape of its own', async () => {
    await using page = await shown({});
    const shapes = await page
      .locator('.legend path')
      .evaluateAll((paths) => paths.map((path) => path.getAttribute('d')));
    expect(new Set(shapes).size).toBe(FLEET.states.length);
    // Filled pixels of each cell, regardless of their colour.
    const masks = await page
      .locator('canvas')
      .first()
      .evaluate((element, states) => {
        const canvas = element as unknown as Canvas;
        const context = canvas.getContext('2d');
        const side = canvas.width / Math.min(states.length, Math.floor(canvas.width / canvas.height));
        return [...states].map((_, at) =>
          [...(context?.getImageData(at * side, 0, side - 1, side - 1).data ?? [])]
            .filter((_byte, index) => index % 4 === 3)
            .map((alpha) => (alpha > 128 ? '#' : '.'))
            .join(''),
        );
      }, FLEET.states);
    expect(masks.every((mask) => mask.includes('#'))).toBe(true);
    expect(new Set(masks).size).toBe(FLEET.states.length);
  });
});
