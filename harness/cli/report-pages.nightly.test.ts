import { writeFileSync } from 'node:fs';
import { pathToFileURL } from 'node:url';
import { beforeAll, describe, expect, it } from 'vitest';
import { deviceDefect } from '../../simulators/defects/device/index.ts';
import { referenceBehaviour } from '../../simulators/device/behaviour.ts';
import { barriers, CHROMIUM, DESK, FORMS, openIn, PAPER, SKIPPED, useBrowser } from '../common/testing/browser.ts';
import { htmlFormat } from '../reports/html.ts';
import { jsonFormat } from '../reports/json.ts';
import { sampleFailure, sampleReport } from '../reports/testing/samples.ts';
import type { Report } from '../runner/types.ts';
import { runDeviceSuite } from '../tools/subjects/run.ts';
import { startRobot } from '../tools/subjects/simulators.ts';
import { runCommand, useFolder } from './testing/muster.ts';

const place = useFolder();

const REPLAY = 'device.events.replay.exclusive';
const RESTART = 'device.log.restart';
const only = [REPLAY, RESTART, 'device.deployment.shape', 'device.events.heartbeat', 'device.loopback.discovery'];

async function checked(...defects: string[]): Promise<Report> {
  const behaviour = defects.reduce((base, name) => deviceDefect(name).behaviour(base), referenceBehaviour);
  await using device = await startRobot({ fresh: true, behaviour });
  return await runDeviceSuite(device.place, { only, fast: true, alone: true });
}

describe.skipIf(CHROMIUM === undefined)(`pages in a browser${SKIPPED}`, () => {
  const browser = useBrowser();
  let report: Report;
  beforeAll(async () => {
    report = await checked('replay-inclusive', 'ids-reused-after-restart');
    const good = await checked();
    writeFileSync(place('report.html'), htmlFormat.document(report));
    for (const [name, run] of Object.entries({ bad: report, good }))
      writeFileSync(place(`${name}.json`), jsonFormat.document(run));
    await runCommand(['compare', place('good.json'), place('bad.json'), '--report', `html=${place('compare.html')}`]);
  });

  it.each(FORMS)('show each finding with its clause and timeline, in $name', async (form) => {
    await using page = await openIn(browser(), form, place('report.html'));
    for (const { id, clause = '' } of report.checks.filter(({ outcome }) => outcome === 'fail')) {
      const card = page.locator(`.finding[data-id="${id}"]`);
      expect(await card.locator('blockquote').first().textContent()).toContain(clause);
      // A finding that another finding explains has a collapsed card.
      const collapsed = await card.first().locator('xpath=ancestor-or-self::details[not(@open)]').count();
      expect(await card.locator('.lanes').first().isVisible()).toBe(collapsed === 0 || form.media === 'print');
    }
    const replay = page.locator(`.finding[data-id="${REPLAY}"]`);
    for (const kind of ['drive', 'stream', 'frame'])
      expect(await replay.locator(`.track .${kind}`).count()).toBeGreaterThan(0);
    expect(await page.locator(`.finding[data-id="${RESTART}"] .track .restart`).count()).toBeGreaterThan(0);
    expect(await page.locator('main').textContent()).toContain('Not decided, and how to decide it');
  });

  it.each([true, false])('open the section that a link points to (with a script: %s)', async (script) => {
    const file = pathToFileURL(place('report.html')).href;
    await using page = await browser().newPage({ javaScriptEnabled: script });
    for (const id of ['device.deployment.shape', RESTART, 'section-2.1']) {
      await page.goto('about:blank');
      await page.goto(`${file}#${id}`);
      const around = page.locator(`[id="${id}"]`).locator('xpath=ancestor::details[not(@open)]');
      await expect.poll(() => around.count(), { message: id }).toBe(0);
    }
  });

  it('print every check and timeline without a script', async () => {
    await using page = await openIn(browser(), { ...PAPER, script: false }, place('report.html'));
    for (const text of await page.locator('.check .what p:first-of-type').all())
      expect(await text.isVisible()).toBe(true);
    expect(await page.locator('.marks').first().isVisible()).toBe(true);
  });

  it('show only findings that match a search', async () => {
    await using page = await openIn(browser(), DESK, place('report.html'));
    const search = page.getByRole('searchbox');
    await search.fill('exclusive of the cursor');
    expect(await page.locator('.search output').textContent()).toMatch(/^\d+ match/);
    expect(await page.locator(`.finding[data-id="${REPLAY}"]`).isVisible()).toBe(true);
    expect(await page.locator(`.finding[data-id="${RESTART}"]`).isVisible()).toBe(false);
    await search.fill('no such words');
    expect(await page.locator('.search output').textContent()).toBe('0 matches');
    await search.fill('');
    expect(await page.locator(`.finding[data-id="${RESTART}"]`).isVisible()).toBe(true);
  });

  it('open all failures at once, or one by the link of its check', async () => {
    const failing = Array.from({ length: 100 }, (_, index) => sampleFailure({ id: `device.f${index}` }));
    writeFileSync(place('many.html'), htmlFormat.document(sampleReport(failing)));
    await using page = await openIn(browser(), DESK, place('many.html'));
    const open = () => page.locator('.finding[open]').count();
    expect(await open()).toBe(1);
    await page.locator('.section summary').click();
    await page.locator('.check a[href="#device.f42"]').click();
    expect(await open()).toBe(2);
    await page.getByText('open all').click();
    expect(await open()).toBe(100);
    await page.getByText('close all').click();
    expect(await open()).toBe(0);
  });

  const [light, dark, phone, paper] = FORMS;
  const pages = [
    { file: 'report.html', form: light },
    { file: 'report.html', form: phone },
    { file: 'compare.html', form: dark },
    { file: 'compare.html', form: paper },
  ].map(({ file, form = DESK }) => ({ file, form, as: form.name }));
  it.each(pages)('have no serious barriers by axe: $file in $as', async ({ file, form }) => {
    await using page = await openIn(browser(), form, place(file));
    await page.evaluate("for (const details of document.querySelectorAll('details')) details.open = true");
    expect(await barriers(page)).toEqual([]);
  });
});
