/** Opens a console in a real browser, and sees what it asks for and whether it is accessible. For tests. */
import { existsSync } from 'node:fs';
import axe from 'axe-core';
import { type Browser, chromium, type Page } from 'playwright-core';

export const CHROMIUM = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'].find((path) =>
  existsSync(path),
);

export const openBrowser = (): Promise<Browser> =>
  chromium.launch({ executablePath: CHROMIUM ?? '', args: ['--no-sandbox', '--disable-background-networking'] });

/** Only ends what hangs. */
const PATIENCE_MS = 200_000;

/** A page of the console; `wrong` gets every error, and every request that leaves the console. */
interface ConsolePage {
  page: Page;
  wrong: string[];
}

/** Opens a console and waits until it shows something. */
export async function openConsole(
  browser: Browser,
  url: string,
  look: { width?: number; height?: number; dark?: boolean } = {},
): Promise<ConsolePage> {
  const { width = 1400, height = 1000, dark = false } = look;
  const page = await browser.newPage({ viewport: { width, height }, colorScheme: dark ? 'dark' : 'light' });
  page.setDefaultTimeout(PATIENCE_MS);
  const wrong: string[] = [];
  page.on('pageerror', (error) => wrong.push(error.message));
  page.on('console', (message) => {
    // An interface of this machine got or lost an address, as by a container of another test: the page loads itself
    // again.
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
    // What the page holds tells a script that failed from a browser that draws nothing.
    throw new Error(`the page shows no card; ${wrong.join('; ') || 'nothing went wrong'}; ${await stateOf(page)}`, {
      cause: error,
    });
  }
  return { page, wrong };
}

/** Whether it is visible, its text, and whether it has frames; in words. */
const stateOf = (page: Page): Promise<string> =>
  page.evaluate(`new Promise((resolve) => {
    const tell = (frames) => resolve(document.visibilityState + ', ' + frames + ', ' + document.readyState + ': ' + document.body.innerText.slice(0, 300));
    requestAnimationFrame(() => tell('frames come'));
    setTimeout(tell, 5000, 'no frames');
  })`);

/** What axe finds serious or critical on a page, each with the elements. */
export async function barriers(page: Page): Promise<string[]> {
  await page.evaluate(axe.source);
  const { violations } = (await page.evaluate('axe.run(document)')) as axe.AxeResults;
  return violations
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .flatMap(({ id, nodes }) => nodes.map(({ html, failureSummary }) => `${id}: ${html} ${failureSummary}`));
}

/** Whether a page is no wider than its window. */
export const fits = (page: Page): Promise<boolean> =>
  page.evaluate('document.documentElement.scrollWidth <= window.innerWidth');
