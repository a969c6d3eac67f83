/** The HTML report in a real browser: complete in one file, no script error, no network. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { CHROMIUM, openBrowser, SKIPPED } from '../common/testing/browser.ts';
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

  it.each([
    { name: 'a desk', width: 1200, height: 900 },
    { name: 'a phone', width: 360, height: 740 },
  ])('fits $name, asks nothing of the network and shows every check', async ({ width, height }) => {
    const file = join(folder, 'report.html');
    const report = sampleReport();
    writeFileSync(file, htmlFormat.document(report));
    const page = await browser.newPage({ viewport: { width, height } });
    const asked: string[] = [];
    const errors: string[] = [];
    page.on('request', (request) => asked.push(request.url()));
    page.on('pageerror', (error) => errors.push(error.message));
    await page.goto(pathToFileURL(file).href);
    const text = await page.evaluate('document.body.textContent');
    for (const check of report.checks) expect(text).toContain(check.id);
    expect(await page.evaluate('document.documentElement.scrollWidth <= window.innerWidth')).toBe(true);
    expect(asked.filter((url) => !url.startsWith('file:'))).toEqual([]);
    expect(errors).toEqual([]);
    await page.close();
  });

  it('opens every failure at once, and the one that a check leads to', async () => {
    const file = join(folder, 'many.html');
    const failing = Array.from({ length: 100 }, (_, index) => sampleFailure({ id: `device.f${index}` }));
    writeFileSync(file, htmlFormat.document(sampleReport(failing)));
    const page = await browser.newPage();
    await page.goto(pathToFileURL(file).href);
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
