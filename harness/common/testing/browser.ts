import { existsSync } from 'node:fs';
import { pathToFileURL } from 'node:url';
import axe from 'axe-core';
import { type Browser, chromium, type Page } from 'playwright-core';
import { afterAll, beforeAll, expect } from 'vitest';

const PLACES = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'];
export const CHROMIUM = PLACES.find((path) => existsSync(path));
export const SKIPPED = CHROMIUM === undefined ? ' (skipped: no chromium here)' : '';

export const openBrowser = (): Promise<Browser> =>
  chromium.launch({ executablePath: CHROMIUM ?? '', args: ['--no-sandbox', '--disable-background-networking'] });

export function useBrowser(): () => Browser {
  let browser: Browser;
  beforeAll(async () => {
    browser = await openBrowser();
  });
  afterAll(() => browser.close());
  return () => browser;
}

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

export async function openIn(browser: Browser, form: Form, file: string): Promise<Page> {
  const { width, scheme: colorScheme, media, script: javaScriptEnabled } = form;
  const page = await browser.newPage({ viewport: { width, height: 900 }, colorScheme, javaScriptEnabled });
  await page.emulateMedia({ media, colorScheme });
  const asked: string[] = [];
  const errors: string[] = [];
  page.on('request', (request) => asked.push(request.url()));
  page.on('pageerror', (error) => errors.push(error.message));
  page.on('console', (message) => (message.type() === 'error' ? errors.push(message.text()) : undefined));
  await page.goto(pathToFileURL(file).href);
  expect(asked.filter((url) => !url.startsWith('file:'))).toEqual([]);
  expect(errors).toEqual([]);
  expect(await fits(page)).toBe(true);
  return page;
}

const PATIENCE_MS = 200_000;

export async function openConsole(
  browser: Browser,
  url: string,
  { width = 1400, dark = false }: { width?: number; dark?: boolean } = {},
) {
  const page = await browser.newPage({ viewport: { width, height: 1000 }, colorScheme: dark ? 'dark' : 'light' });
  page.setDefaultTimeout(PATIENCE_MS);
  const wrong: string[] = [];
  page.on('pageerror', (error) => wrong.push(error.message));
  page.on('console', (message) => {
    // A container of a concurrent test changes the network; the page reloads by itself.
    if (message.text().includes('net::ERR_NETWORK_CHANGED')) return;
    if (message.type() === 'error') wrong.push(message.text());
  });
  page.on('request', (request) => {
    if (!request.url().startsWith(url) && !request.url().startsWith('data:')) wrong.push(`asked ${request.url()}`);
  });
  await page.goto(url);
  try {
    await page.locator('.card').first().waitFor();
  } catch (error) {
    // The text of the page tells a failed script from a browser that draws nothing.
    throw new Error(`the page shows no card; ${wrong.join('; ') || 'nothing went wrong'}; ${await stateOf(page)}`, {
      cause: error,
    });
  }
  return { page, wrong };
}

const stateOf = (page: Page): Promise<string> =>
  page.evaluate(`new Promise((resolve) => {
    const shown = () => document.readyState + ': ' + document.body.innerText.slice(0, 300);
    const tell = (frames) => resolve([document.visibilityState, frames, shown()].join(', '));
    requestAnimationFrame(() => tell('frames come'));
    setTimeout(tell, 5000, 'no frames');
  })`);

export async function barriers(page: Page, least: 'minor' | 'serious' = 'serious'): Promise<string[]> {
  // Runs axe through the debugger, because the page's policy blocks foreign scripts.
  await page.evaluate(axe.source);
  const { violations } = (await page.evaluate('axe.run(document)')) as axe.AxeResults;
  return violations
    .filter(({ impact }) => least === 'minor' || impact === 'serious' || impact === 'critical')
    .flatMap(({ id, nodes }) => nodes.map(({ html, failureSummary }) => `${id}: ${html} ${failureSummary}`));
}

export const fits = (page: Page): Promise<boolean> =>
  page.evaluate('document.documentElement.scrollWidth <= window.innerWidth');
