/** The page in a real browser. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { scratch } from '../../../simulators/common/testing/scratch.ts';
import { barriers, CHROMIUM, FORMS, openBrowser, openIn, SKIPPED } from '../../common/testing/browser.ts';
import { mutationPage } from './page.ts';
import { sampleMutation, sampleSubject } from './testing/samples.ts';

describe.skipIf(CHROMIUM === undefined)(`the page${SKIPPED}`, () => {
  let browser: Browser;
  const folder = scratch();
  const file = join(folder.path, 'mutate.html');
  beforeAll(async () => {
    browser = await openBrowser();
    const long = sampleSubject({
      name: 'brittle-and-long',
      kind: 'variant',
      state: 'brittle',
      wrote: 'x'.repeat(4000),
    });
    writeFileSync(file, mutationPage(sampleMutation([...sampleMutation().subjects, long])));
  });
  afterAll(async () => {
    await browser.close();
    folder[Symbol.dispose]();
  });

  it.each(FORMS)('shows what survived and keeps nobody out, in $name', async (form) => {
    await using page = await openIn(browser, form, file);
    expect(await page.locator('#replay-inclusive').isVisible()).toBe(true);
    expect(await page.locator('#replay-skips-first').isVisible()).toBe(form.media === 'print');
    if (form.script) expect(await barriers(page)).toEqual([]);
  });
});
