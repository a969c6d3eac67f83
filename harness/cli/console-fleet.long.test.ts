/**
 * `muster fleet --ui` in a real browser: each button's effect is read from the robots and from the result, not from the
 * page.
 */
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import http from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { FleetResult } from '../../simulators/fleet/result/result.ts';
import { barriers, CHROMIUM, fits, openBrowser, openConsole } from '../common/testing/browser.ts';
import { poll } from '../common/waiting.ts';
import { Running, unlessSaturated } from './testing/muster.ts';

const soon = { timeoutMs: 200_000 };
/** A fleet, its platform and a browser start in seconds, and in a minute on a busy machine. */
const slow = { timeout: 600_000 };
const ROBOTS = 12;

const SCENARIO = `
name: looked at
thresholds: ['rollout.missed.count==0']
phases:
  - { do: ramp, over: 200ms }
  - { do: hold, for: 300ms }
`;

/** A fleet with a console, in a folder that is removed with it. */
async function fleet() {
  const home = mkdtempSync(join(tmpdir(), 'muster-ui-'));
  writeFileSync(join(home, 's.yaml'), SCENARIO);
  const run = new Running(
    [
      ...['fleet', '--robots', String(ROBOTS), '--platform', 'embedded', '--scenario', 's.yaml', '--workers', '1'],
      ...['--out', 'out', '--state', 'state', '--dir', home, '--ui'],
    ],
    { cwd: home },
  );
  const [, url = ''] = await run.said(/^ui: (\S+)$/m);
  const sockets = (): string =>
    join(home, readdirSync(home).find((name) => name.startsWith('muster-fleet-')) ?? '', 's/0');
  return {
    run,
    url,
    /** An answer of a robot's Device API; undefined while it does not serve. */
    robot: (index: number, path: string) => ask(join(sockets(), String(index)), `/v0.2${path}`),
    result: () => JSON.parse(readFileSync(join(home, 'out/result.json'), 'utf8')) as FleetResult,
    [Symbol.asyncDispose]: async () => {
      await run[Symbol.asyncDispose]();
      rmSync(home, { recursive: true, force: true });
    },
  };
}

function ask(socketPath: string, path: string): Promise<{ status: number; body: Record<string, unknown> } | undefined> {
  return new Promise((resolve) => {
    const request = http.get({ socketPath, path, agent: false }, (response) => {
      let text = '';
      response.on('data', (part) => (text += part));
      response.once('error', () => resolve(undefined));
      response.once('end', () => resolve({ status: response.statusCode ?? 0, body: JSON.parse(text) }));
    });
    request.once('error', () => resolve(undefined));
  });
}

const press = (page: Page, action: string): Promise<void> => page.locator(`button[data-action=${action}]`).click();
const counts = async (page: Page): Promise<Record<string, number>> =>
  JSON.parse((await page.locator('[data-counts]').getAttribute('data-counts')) ?? '{}') as Record<string, number>;
const all = <T>(pick: (index: number) => Promise<T>): Promise<T[]> =>
  Promise.all(Array.from({ length: ROBOTS }, (_, index) => pick(index)));

/** Whether the chart of rates says under the pointer, somewhere, that requests were sent. */
async function requestsShown(page: Page): Promise<boolean> {
  const chart = page.getByRole('img', { name: 'Events and requests a second' });
  const over = chart.locator('.u-over');
  await over.scrollIntoViewIfNeeded();
  const { width = 0 } = (await over.boundingBox()) ?? {};
  for (let x = 2; x < width; x += 12) {
    await over.hover({ position: { x, y: 20 } });
    const [, value = '0'] = /requests:?\s*([\d.]+)/.exec((await chart.textContent()) ?? '') ?? [];
    if (Number(value) > 0) return true;
  }
  return false;
}

describe.skipIf(CHROMIUM === undefined)(
  `the console of a fleet${CHROMIUM === undefined ? ' (skipped: no chromium here)' : ''}`,
  () => {
    let browser: Browser;
    beforeAll(async () => {
      browser = await openBrowser();
    });
    afterAll(() => browser.close());

    it('rolls out, partitions, kills, adds robots, pauses, and writes all of it into the result', slow, async () => {
      await using running = await fleet();
      const { page, wrong } = await openConsole(browser, running.url);
      // Held before its end, so that there is time for everything else.
      await press(page, 'pause');
      await page.getByText('paused', { exact: true }).first().waitFor();
      const online = async () => (await counts(page))['online'] === ROBOTS || undefined;
      await poll('all robots to be online', online, soon);
      const set = async (share: string, over: string): Promise<void> => {
        await page.getByLabel('Share of robots').fill(share);
        await page.getByLabel('Duration').fill(over);
      };

      await set('100%', '100ms');
      await press(page, 'rollout');
      const deployed = async () =>
        (await all((index) => running.robot(index, '/deployments/current'))).every((answer) => answer?.status === 200);
      await poll('a deployment on every robot', async () => (await deployed()) || undefined, soon);
      await poll('the page to show it', async () => (await counts(page))['reached'] === ROBOTS || undefined, soon);

      await poll('a rate of requests on its chart', async () => (await requestsShown(page)) || undefined, soon);

      await set('50%', '3s');
      await press(page, 'partition');
      const offline = async () =>
        (await all((index) => running.robot(index, '/device'))).filter((answer) => answer?.body['status'] === 'offline')
          .length;
      await poll('half of the robots to be offline', async () => (await offline()) === ROBOTS / 2 || undefined, soon);
      await poll('all of them to be back', async () => (await offline()) === 0 || undefined, soon);

      await press(page, 'kill');
      const dead = async () =>
        (await all((index) => running.robot(index, '/health'))).filter((answer) => answer === undefined).length;
      await poll('half of the robots to be down', async () => (await dead()) === ROBOTS / 2 || undefined, soon);
      await poll('all of them to be up', async () => (await dead()) === 0 || undefined, soon);

      await set('100%', '100ms');
      await press(page, 'storm');
      await page.getByRole('spinbutton', { name: 'Robots' }).fill('3');
      await press(page, 'scale');
      const added = async () => (await running.robot(ROBOTS + 2, '/device'))?.body['status'] === 'online';
      await poll('the last robot that was added', async () => (await added()) || undefined, soon);

      await page.getByRole('textbox', { name: 'Robot', exact: true }).fill('robot-000003');
      await page.getByRole('button', { name: 'Open' }).click();
      const current = (await running.robot(3, '/deployments/current'))?.body['id'];
      await page.locator(`[data-deployment=${String(current)}]`).waitFor();

      const phasesShown = (): Promise<string[]> =>
        page.getByRole('region', { name: 'Phases' }).locator('li span').allTextContents();
      await poll(
        'the page to show that all has ended',
        async () => {
          const now = await page.getByRole('region', { name: 'Phases' }).getByText('now').count();
          return now === 1 && (await counts(page))['connecting'] === undefined ? true : undefined;
        },
        soon,
      );
      const before = { counts: await counts(page), phases: await phasesShown() };
      await page.reload();
      await page.locator('.card').first().waitFor();
      expect({ counts: await counts(page), phases: await phasesShown() }).toEqual(before);
      await press(page, 'resume');
      await page.locator('[data-outcome]').waitFor();
      const { code, stderr } = await running.run.ended;
      const result = running.result();
      expect(code, stderr).toBe(unlessSaturated(0, result));
      const { notes, phases, robots } = result;
      expect(robots).toBe(ROBOTS + 3);
      const done = [
        'roll-out to 100% over 100ms',
        '50% cut off for 3s',
        '50% killed, down for 3s',
        '100% reconnect over 100ms',
        '3 robots added over 100ms',
      ];
      expect(phases.flatMap(({ by_hand }) => by_hand ?? []).toSorted()).toEqual(done.toSorted());
      for (const what of done) expect(notes.join('\n')).toContain(what);
      expect(notes.join('\n')).toContain('the scenario was paused until');
      await page.locator('.connection.ended').waitFor();
      expect(wrong).toEqual([]);
      await page.close();
    });

    it('says what it cannot do', slow, async () => {
      await using running = await fleet();
      const { page } = await openConsole(browser, running.url);
      await press(page, 'pause');
      await poll('all robots to be online', async () => (await counts(page))['online'] === ROBOTS || undefined, soon);
      const said = page.locator('.said.wrong');
      await page.getByLabel('Share of robots').fill('eleven');
      await press(page, 'kill');
      await said.getByText('a percentage of the fleet').waitFor();
      await page.getByRole('spinbutton', { name: 'Robots' }).fill('0');
      await press(page, 'scale');
      await said.getByText('add 1 to').waitFor();
      await page.getByRole('textbox', { name: 'Robot', exact: true }).fill('nobody');
      await page.getByRole('button', { name: 'Open' }).click();
      await said.getByText('No robot is called nobody').waitFor();
      expect((await all((index) => running.robot(index, '/health'))).every((answer) => answer?.status === 200)).toBe(
        true,
      );
      await page.close();
    });

    it('can be read by everybody, light and dark, also on a phone', slow, async () => {
      await using running = await fleet();
      const { page: first } = await openConsole(browser, running.url);
      await press(first, 'pause');
      await poll('all robots to be online', async () => (await counts(first))['online'] === ROBOTS || undefined, soon);
      await first.close();
      for (const look of [{ dark: false }, { dark: true }, { width: 400 }]) {
        const { page, wrong } = await openConsole(browser, running.url, look);
        await page.getByRole('textbox', { name: 'Robot', exact: true }).fill('1');
        await page.getByRole('button', { name: 'Open' }).click();
        await page.locator('[data-robot]').waitFor();
        expect(await barriers(page)).toEqual([]);
        expect(await fits(page)).toBe(true);
        expect(wrong).toEqual([]);
        await page.close();
      }
    });
  },
);
