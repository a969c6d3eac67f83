/** Pages of commands in a real browser. For tests of a console. */
import type { Browser, Locator, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect } from 'vitest';
import { barriers, CHROMIUM, fits, openBrowser, openConsole, SKIPPED } from '../../common/testing/browser.ts';
import { ask } from './muster.ts';

/** For `expect.poll`. Only ends what hangs, as the time of a test does: on a busy machine a start takes a minute. */
export const soon = { timeout: 200_000, interval: 20 };
const LONGEST = { timeout: 600_000 };

export const LOOKS = [
  { name: 'light', dark: false, width: 1400 },
  { name: 'dark', dark: true, width: 1400 },
  { name: 'on a phone', dark: false, width: 400 },
];

interface Look extends Partial<(typeof LOOKS)[number]> {
  /** Errors that are no fault of the page. */
  except?: RegExp;
}

/** Tests that need a browser. A page that `open` has opened must not have had an error when its test is over. */
export function describeConsole(
  name: string,
  tests: (open: (url: string, look?: Look) => Promise<Page>, browser: () => Browser) => void,
): void {
  describe.skipIf(CHROMIUM === undefined)(`${name}${SKIPPED}`, LONGEST, () => {
    let browser: Browser;
    const errors: (() => string[])[] = [];
    beforeAll(async () => {
      browser = await openBrowser();
    });
    afterAll(() => browser.close());
    afterEach(() => expect(errors.splice(0).flatMap((found) => found())).toEqual([]));
    const open = async (url: string, { except, ...look }: Look = {}): Promise<Page> => {
      const { page, wrong } = await openConsole(browser, url, look);
      errors.push(() => wrong.filter((text) => except?.test(text) !== true));
      return page;
    };
    tests(open, () => browser);
  });
}

export const press = (page: Page, action: string): Promise<void> =>
  page.locator(`button[data-action=${action}]`).click();

export const card = (page: Page, title: string): Locator => page.getByRole('region', { name: title, exact: true });

/** How many robots are online, reached and so on, as the page of a fleet shows them. */
export const counts = async (page: Page): Promise<Record<string, number>> =>
  JSON.parse((await page.locator('[data-counts]').getAttribute('data-counts')) ?? '{}') as Record<string, number>;

export async function expectReadable(page: Page): Promise<void> {
  expect(await barriers(page)).toEqual([]);
  expect(await fits(page)).toBe(true);
}

/** An answer on a unix socket; undefined while nothing serves there. */
export const answerOf = async (socket: string, path: string) => {
  const answer = await ask(socket, path).catch(() => undefined);
  if (answer === undefined) return undefined;
  return { status: answer.status, body: JSON.parse(answer.text || '{}') as Record<string, unknown> };
};

/** The first message of an event stream, which has the whole document. */
export async function firstMessage(url: string): Promise<string> {
  const stop = new AbortController();
  const response = await fetch(url, { signal: stop.signal });
  let text = '';
  for await (const part of response.body?.pipeThrough(new TextDecoderStream()) ?? []) {
    text += part;
    if (/^data: .*\n\n/m.test(text)) break;
  }
  stop.abort();
  return text;
}
