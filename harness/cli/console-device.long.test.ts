/**
 * `muster simulate device --ui` in a real browser: each button's effect is read from the device, through its own APIs.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import http from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { barriers, CHROMIUM, fits, openBrowser, openConsole } from '../common/testing/browser.ts';
import { poll } from '../common/waiting.ts';
import { Running } from './testing/muster.ts';

/** Starts in a second, and in half a minute on a busy machine. */
const slow = { timeout: 600_000 };
const soon = { timeoutMs: 200_000 };

/** A device with a console, in a folder that is removed with it. */
async function device(...options: string[]) {
  const home = mkdtempSync(join(tmpdir(), 'muster-ui-'));
  const at = (name: string): string => join(home, name);
  const run = new Running(
    [
      'simulate',
      'device',
      '--socket',
      at('a.sock'),
      '--dir',
      at('robot'),
      '--control',
      at('c.sock'),
      '--ui',
      ...options,
    ],
    { cwd: home },
  );
  const { ui } = await run.ready();
  return {
    run,
    url: String(ui),
    /** An answer of the Device API; undefined while nothing serves. */
    api: (path: string, headers = {}) => ask(at('a.sock'), `/v0.2${path}`, headers),
    log: async () => (await ask(at('c.sock'), '/log'))?.body as { earliest_id: number; latest_id: number },
    listen: (path: string) => listen(at('a.sock'), `/v0.2${path}`),
    [Symbol.asyncDispose]: async () => {
      await run[Symbol.asyncDispose]();
      rmSync(home, { recursive: true, force: true });
    },
  };
}

function ask(socketPath: string, path: string, headers = {}): Promise<{ status: number; body: unknown } | undefined> {
  return new Promise((resolve) => {
    const request = http.get({ socketPath, path, headers, agent: false }, (response) => {
      let text = '';
      response.on('data', (part) => (text += part));
      response.once('error', () => resolve(undefined));
      response.once('end', () => resolve({ status: response.statusCode ?? 0, body: JSON.parse(text || 'null') }));
    });
    request.once('error', () => resolve(undefined));
  });
}

/** An open event stream; `text` grows, `ended` resolves when it is over. */
async function listen(socketPath: string, path: string) {
  const stream = { text: '', ended: Promise.resolve(), close: () => {} };
  const request = http.get({ socketPath, path, agent: false, headers: { 'user-agent': 'listener' } });
  const response = await new Promise<http.IncomingMessage>((resolve, reject) => {
    request.once('response', resolve).once('error', reject);
  });
  response.setEncoding('utf8').on('data', (part: string) => (stream.text += part));
  stream.ended = new Promise((resolve) => response.once('close', () => resolve()).on('error', () => {}));
  stream.close = () => void request.destroy();
  return stream;
}

const press = (page: Page, action: string): Promise<void> => page.locator(`button[data-action=${action}]`).click();
const card = (page: Page, title: string) => page.getByRole('region', { name: title, exact: true });

describe.skipIf(CHROMIUM === undefined)(
  `the console of a device${CHROMIUM === undefined ? ' (skipped: no chromium here)' : ''}`,
  () => {
    let browser: Browser;
    beforeAll(async () => {
      browser = await openBrowser();
    });
    afterAll(() => browser.close());

    it('deploys, removes, publishes, compacts and cuts', slow, async () => {
      await using robot = await device('--retain', '30');
      const { page, wrong } = await openConsole(browser, robot.url);
      await page.getByRole('textbox', { name: 'Content', exact: true }).fill('{"max_speed":7}');
      await press(page, 'deploy');
      const current = async () => (await robot.api('/deployments/current'))?.body as { id?: string } | undefined;
      const id = await poll('a deployment on the device', async () => (await current())?.id, soon);
      await page.locator(`[data-current=${id}]`).waitFor();

      const stream = await robot.listen('/events?after=0');
      await card(page, 'Listeners').getByText('listener', { exact: true }).waitFor();
      await card(page, 'Stream').getByText('deployment.deployed').first().waitFor();
      await page.getByRole('spinbutton', { name: 'Events' }).fill('12');
      await press(page, 'publish');
      await poll('12 more events', async () => (await robot.log()).latest_id === 13 || undefined, soon);
      await card(page, 'Event log').getByText('13', { exact: true }).waitFor();
      await poll('the last of them on the stream', () => stream.text.includes('id: 13\n') || undefined, soon);

      await press(page, 'compact');
      const first = await poll(
        'a compaction',
        async () => {
          const { earliest_id } = await robot.log();
          return earliest_id > 1 ? earliest_id : undefined;
        },
        soon,
      );
      await page.locator(`[data-earliest="${first}"]`).waitFor();
      expect(await card(page, 'Event log').locator('.compacted').count()).toBe(first - 1);

      await press(page, 'cut');
      await stream.ended;
      await card(page, 'Listeners').getByText('0 open').waitFor();
      await press(page, 'remove');
      await poll(
        'no deployment',
        async () => (await robot.api('/deployments/current'))?.status === 404 || undefined,
        soon,
      );
      await card(page, 'Current deployment').getByText('None').waitFor();
      expect(wrong).toEqual([]);
      await page.close();
    });

    it('loads itself again when the browser has lost one of its scripts', slow, async () => {
      await using robot = await device();
      const page = await browser.newPage();
      let lost = 0;
      await page.route('**/page/shell.*', (route) => (++lost > 2 ? route.continue() : route.abort('failed')));
      await page.goto(robot.url);
      await page.locator('.card').first().waitFor({ timeout: soon.timeoutMs });
      expect(lost).toBeGreaterThan(2);
      await page.close();
    });

    it('restarts, kills and starts the agent, and switches a defect on', slow, async () => {
      await using robot = await device();
      const { page, wrong } = await openConsole(browser, robot.url);
      const pid = async (): Promise<string> => (await card(page, 'Agent').locator('[data-agent]').textContent()) ?? '';
      const before = await pid();
      await press(page, 'restart');
      await poll(
        'another process',
        async () => {
          const now = await pid();
          return (now.startsWith('up') && now !== before) || undefined;
        },
        soon,
      );
      expect((await robot.api('/health'))?.status).toBe(200);
      await press(page, 'kill');
      await page.locator('[data-agent=down]').waitFor();
      expect(await robot.api('/health')).toBeUndefined();
      await press(page, 'start');
      await page.locator('[data-agent=up]').waitFor();
      expect((await robot.api('/health'))?.status).toBe(200);

      await page.getByRole('searchbox').fill('version-of-the');
      await page.getByRole('checkbox', { name: 'version-of-the-release' }).check();
      await press(page, 'switch');
      await card(page, 'Defects and variants').getByText('1 on').waitFor();
      expect((await robot.api('/health'))?.status).toBe(404);
      // The defect serves below /v0.2.2.
      expect((await robot.api('.2/health'))?.status).toBe(200);
      expect(wrong).toEqual([]);
      await page.close();
    });

    it('loses nothing when the page is opened again, and says when the device has ended', slow, async () => {
      await using robot = await device();
      const { page } = await openConsole(browser, robot.url);
      await page.getByRole('spinbutton', { name: 'Events' }).fill('20');
      await press(page, 'publish');
      const log = card(page, 'Event log').locator('li b');
      await card(page, 'Event log').getByText('20', { exact: true }).waitFor();
      const shown = await log.allTextContents();
      expect(shown).toEqual(Array.from({ length: 20 }, (_, index) => String(20 - index)));
      await page.reload();
      await card(page, 'Event log').getByText('20', { exact: true }).waitFor();
      expect(await log.allTextContents()).toEqual(shown);
      await card(page, 'What happened').getByText('publish: 1 to 20').waitFor();
      robot.run.child.kill('SIGTERM');
      await page.locator('.connection.ended').waitFor();
      await page.close();
    });

    it('is drawn in a browser that has no frames', slow, async () => {
      await using robot = await device();
      const page = await browser.newPage();
      await page.addInitScript('globalThis.requestAnimationFrame = () => 0');
      await page.goto(robot.url);
      const shown = page.locator('[data-agent=up]');
      // Playwright waits by frames; a count needs none.
      await poll('the agent on the page', async () => (await shown.count()) > 0 || undefined, soon);
      await page.close();
    });

    it.each([
      { name: 'light', dark: false, width: 1400 },
      { name: 'dark', dark: true, width: 1400 },
      { name: 'on a phone', dark: false, width: 400 },
    ])('can be read by everybody: $name', slow, async (look) => {
      await using robot = await device('--heartbeat', '200ms');
      const stream = await robot.listen('/events?types=deployment.deployed');
      const { page, wrong } = await openConsole(browser, robot.url, look);
      await press(page, 'deploy');
      await page.locator('[data-current]').waitFor();
      await card(page, 'Stream').getByText('heartbeat').first().waitFor();
      expect(await barriers(page)).toEqual([]);
      expect(await fits(page)).toBe(true);
      expect(wrong).toEqual([]);
      stream.close();
      await page.close();
    });
  },
);
