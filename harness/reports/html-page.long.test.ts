/** The HTML report of many findings in a real browser; `report-pages.nightly.test.ts` has those of a run. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { CHROMIUM, DESK, openBrowser, openIn, SKIPPED } from '../common/testing/browser.ts';
import { htmlFormat } from './html.ts';
import { sampleFailure, sampleReport } from './testing/samples.ts';

const folder = mkdtempSync(join(tmpdir(), 'muster-page-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe.skipIf(CHROMIUM === undefined)(`the HTML report in a browser${SKIPPED}`, () => {
  let browser: Browser;
  beforeAll(async () => {
    browser = await openBrowser();
  });
  afterAll(() => browser.close());

  it('opens every failure at once, and the one that a check leads to', async () => {
    const file = join(folder, 'many.html');
    const failing = Array.from({ length: 100 }, (_, index) => sampleFailure({ id: `device.f${index}` }));
    writeFileSync(file, htmlFormat.document(sampleReport(failing)));
    const page = await openIn(browser, DESK, file);
    const open = () => page.locator('.finding[open]').count();
    expect(await open()).toBe(1);
    await page.locator('.section summary').click();
    await page.locator('.check a[href="#device.f42"]').click();
    expect(await open()).toBe(2);
    await page.getByText('open all').click();
    expect(await open()).toBe(100);
    await page.getByText('close all').click();
    expect(await open()).toBe(0);
    await page.close();
  });
});
