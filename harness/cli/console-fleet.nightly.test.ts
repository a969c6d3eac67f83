import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { expect, it } from 'vitest';
import type { FleetResult } from '../../simulators/fleet/result/result.ts';
import { answerOf, card, counts, describeConsole, expectReadable, LOOKS, press, soon } from './testing/console.ts';
import { typed, unlessSaturated, useHome } from './testing/muster.ts';

const home = useHome();
const ROBOTS = 12;

const SCENARIO = `
name: looked at
thresholds: ['start.errors.count==0']
phases:
  - { do: ramp, over: 200ms }
  # Until a page is open on a busy machine.
  - { do: hold, for: 20s }
`;

async function fleet() {
  writeFileSync(join(home.path, 's.yaml'), SCENARIO);
  const places = typed`--scenario s.yaml --out out --state state --dir ${home.path}`;
  const run = home.start(typed`fleet --robots ${ROBOTS} --platform embedded --workers 1 ${places} --ui`);
  const [, url = ''] = await run.said(/^ui: (\S+)$/m);
  const sockets = (): string =>
    join(home.path, readdirSync(home.path).find((name) => name.startsWith('muster-fleet-')) ?? '', 's/0');
  return {
    run,
    url,
    robot: (index: number, path: string) => answerOf(join(sockets(), String(index)), `/v0.2${path}`),
    result: () => JSON.parse(readFileSync(join(home.path, 'out/result.json'), 'utf8')) as FleetResult,
  };
}

const online = (page: Page) => expect.poll(async () => (await counts(page))['online'], soon).toBe(ROBOTS);
const all = <T>(pick: (index: number) => Promise<T>): Promise<T[]> =>
  Promise.all(Array.from({ length: ROBOTS }, (_, index) => pick(index)));

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

describeConsole('the console of a fleet', (open) => {
  it('rolls out, partitions, kills, adds robots and pauses, and the result lists each action', async () => {
    const running = await fleet();
    await using page = await open(running.url);
    const inRobots = (path: string, fits: (answer: Awaited<ReturnType<typeof running.robot>>) => boolean) =>
      expect.poll(async () => (await all((index) => running.robot(index, path))).filter(fits).length, soon);
    // Without the pause the scenario could end before the last step of this test.
    await press(page, 'pause');
    await page.getByText('paused', { exact: true }).first().waitFor();
    await online(page);
    const set = async (share: string, over: string): Promise<void> => {
      await page.getByLabel('Share of robots').fill(share);
      await page.getByLabel('Duration').fill(over);
    };

    await set('100%', '100ms');
    await press(page, 'rollout');
    await inRobots('/deployments/current', (answer) => answer?.status === 200).toBe(ROBOTS);
    await expect.poll(async () => (await counts(page))['reached'], soon).toBe(ROBOTS);
    await expect.poll(() => requestsShown(page), soon).toBe(true);

    await set('50%', '3s');
    await press(page, 'partition');
    const offline = () => inRobots('/device', (answer) => answer?.body['status'] === 'offline');
    await offline().toBe(ROBOTS / 2);
    await offline().toBe(0);

    await press(page, 'kill');
    const dead = () => inRobots('/health', (answer) => answer === undefined);
    await dead().toBe(ROBOTS / 2);
    await dead().toBe(0);

    await set('100%', '100ms');
    await press(page, 'storm');
    await page.getByRole('spinbutton', { name: 'Robots' }).fill('3');
    await press(page, 'scale');
    const added = async () => (await running.robot(ROBOTS + 2, '/device'))?.body['status'];
    await expect.poll(added, soon).toBe('online');

    await page.getByRole('textbox', { name: 'Robot', exact: true }).fill('robot-000003');
    await page.getByRole('button', { name: 'Open' }).click();
    const current = (await running.robot(3, '/deployments/current'))?.body['id'];
    await page.locator(`[data-deployment=${String(current)}]`).waitFor();

    await expect.poll(() => card(page, 'Phases').getByText('now').count(), soon).toBe(1);
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
  });

  it('explains invalid input, and ends the run by hand', async () => {
    const running = await fleet();
    await using page = await open(running.url, { except: /status of 4\d\d/ });
    await press(page, 'pause');
    await online(page);
    const said = page.locator('.said.wrong');
    await page.getByLabel('Share of robots').fill('eleven');
    await press(page, 'kill');
    await said.getByText('a percentage, 0% to 100%').waitFor();
    await page.getByRole('spinbutton', { name: 'Robots' }).fill('0');
    await press(page, 'scale');
    await said.getByText('add 1 to').waitFor();
    await page.getByRole('textbox', { name: 'Robot', exact: true }).fill('nobody');
    await page.getByRole('button', { name: 'Open' }).click();
    await said.getByText('No robot is called nobody').waitFor();
    await page.getByLabel('Share of robots').fill('50%');
    await press(page, 'storm');
    await page.locator('.said.done').getByText('begun: 50% reconnect').waitFor();
    expect(await said.getByText('No robot is called nobody').count()).toBe(1);
    const answers = await all((index) => running.robot(index, '/health'));
    expect(answers.map((answer) => answer?.status)).toEqual(Array(ROBOTS).fill(200));
    // The warning of a late load generator has the same button, before this one.
    await page.locator('button[data-action=end]').last().click();
    const { code, stderr } = await running.run.ended;
    expect(code, stderr).toBe(2);
    const { complete, incomplete_reasons: reasons } = running.result();
    expect([complete, reasons]).toEqual([false, ['ended early: by hand, on its page']]);
  });

  it('is accessible in light and dark, also on a phone', async () => {
    const running = await fleet();
    {
      await using first = await open(running.url);
      await press(first, 'pause');
      await online(first);
    }
    for (const look of LOOKS) {
      await using page = await open(running.url, look);
      await page.getByRole('textbox', { name: 'Robot', exact: true }).fill('1');
      await page.getByRole('button', { name: 'Open' }).click();
      await page.locator('[data-robot]').waitFor();
      await expectReadable(page);
    }
    await running.run.stop();
  });
});
