/** A real browser for tests of pages, and what makes a page good in any of its forms. */
import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';
import { type Browser, chromium, type Page } from 'playwright-core';
import { expect } from 'vitest';

const PLACES = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'];
export const CHROMIUM = PLACES.find((path) => existsSync(path));
/** Completes the name of a group of tests. */
export const SKIPPED = CHROMIUM === undefined ? ' (skipped: no chromium here)' : '';

export const openBrowser = (): Promise<Browser> =>
  chromium.launch({ executablePath: CHROMIUM ?? '', args: ['--no-sandbox', '--disable-background-networking'] });

/** How somebody reads a page. */
export interface Form {
  name: string;
  width: number;
  scheme: 'light' | 'dark';
  media: 'screen' | 'print';
  script: boolean;
}

export const DESK: Form = { name: 'light', width: 1280, scheme: 'light', media: 'screen', script: true };
export const PAPER: Form = { name: 'paper', width: 800, scheme: 'light', media: 'print', script: true };
export const FORMS: readonly Form[] = [
  DESK,
  { name: 'dark', width: 1280, scheme: 'dark', media: 'screen', script: true },
  { name: 'a phone', width: 400, scheme: 'dark', media: 'screen', script: true },
  PAPER,
  { name: 'no script', width: 1280, scheme: 'light', media: 'screen', script: false },
];

/** Opens a file in a form; expects it to fit, to ask nothing of the network and to have no error. */
export async function openIn(browser: Browser, form: Form, file: string): Promise<Page> {
  const { width, scheme, media, script } = form;
  const page = await browser.newPage({
    viewport: { width, height: 900 },
    colorScheme: scheme,
    javaScriptEnabled: script,
  });
  await page.emulateMedia({ media, colorScheme: scheme });
  const asked: string[] = [];
  const errors: string[] = [];
  page.on('request', (request) => asked.push(request.url()));
  page.on('pageerror', (error) => errors.push(error.message));
  page.on('console', (message) => (message.type() === 'error' ? errors.push(message.text()) : undefined));
  await page.goto(pathToFileURL(file).href);
  expect(asked.filter((url) => !url.startsWith('file:'))).toEqual([]);
  expect(errors).toEqual([]);
  expect(await page.evaluate('document.documentElement.scrollWidth <= window.innerWidth')).toBe(true);
  return page;
}

interface Finding {
  id: string;
  impact: string;
  nodes: { html: string; failureSummary: string }[];
}

/** What axe finds to be serious or worse, a line each. */
export async function seriousFindings(page: Page): Promise<string[]> {
  const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
  // By the debugger, because the page's own policy allows no script from elsewhere.
  await page.evaluate(axe);
  const { violations } = (await page.evaluate('axe.run(document)')) as { violations: Finding[] };
  return violations
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .flatMap(({ id, nodes }) => nodes.map(({ html, failureSummary }) => `${id}: ${html}\n${failureSummary}`));
}
