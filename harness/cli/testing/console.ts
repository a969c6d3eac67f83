import type { Browser, Locator, Page } from 'playwright-core';
import { afterEach, describe, expect } from 'vitest';
import { barriers, CHROMIUM, fits, openConsole, SKIPPED, useBrowser } from '../../common/testing/browser.ts';
import { ask } from './muster.ts';

/** Milliseconds for `expect.poll`; a start takes up to a minute on a busy machine. */
export const soon = { timeout: 200_000, interval: 20 };
const LONGEST = { timeout: 600_000 };

export const LOOKS = [
  { name: 'light', dark: false, width: 1400 },
  { name: 'dark', dark: true, width: 1400 },
  { name: 'on a phone', dark: false, width: 400 },
];

interface Look extends Partial<(typeof LOOKS)[number]> {
  except?: RegExp;
}

export function describeConsole(
  name: string,
  tests: (open: (url: string, look?: Look) => Promise<Page>, browser: () => Browser) => void,
): void {
  describe.skipIf(CHROMIUM === undefined)(`${name}${SKIPPED}`, LONGEST, () => {
    const browser = useBrowser();
    const errors: (() => string[])[] = [];
    afterEach(() => expect(errors.splice(0).flatMap((found) => found())).toEqual([]));
    const open = async (url: string, { except, ...look }: Look = {}): Promise<Page> => {
      const { page, wrong } = await openConsole(browser(), url, look);
      errors.push(() => wrong.filter((text) => except?.test(text) !== true));
      return page;
    };
    tests(open, browser);
  });
}

export const press = (page: Page, action: string): Promise<void> =>
  page.locator(`button[data-action=${action}]`).click();

export const card = (page: Page, title: string): Locator => page.getByRole('region', { name: title, exact: true });

export const counts = async (page: Page): Promise<Record<string, number>> =>
  JSON.parse((await page.locator('[data-counts]').getAttribute('data-counts')) ?? '{}') as Record<string, number>;

export async function expectReadable(page: Page): Promise<void> {
  expect(await barriers(page)).toEqual([]);
  expect(await fits(page)).toBe(true);
}

export const answerOf = async (socket: string, path: string) => {
  const answer = await ask(socket, path).catch(() => undefined);
  if (answer === undefined) return undefined;
  return { status: answer.status, body: (answer.json ?? {}) as Record<string, unknown> };
};
