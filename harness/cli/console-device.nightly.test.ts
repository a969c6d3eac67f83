import { join } from 'node:path';
import { expect, it } from 'vitest';
import { EventStream } from '../../simulators/device/testing/robot.ts';
import { answerOf, card, describeConsole, expectReadable, LOOKS, press, soon } from './testing/console.ts';
import { typed, useHome } from './testing/muster.ts';

const home = useHome();

async function device(...options: string[]) {
  const [socket, control] = [join(home.path, 'a.sock'), join(home.path, 'c.sock')];
  const run = home.start(typed`simulate device --socket ${socket} --dir robot --control ${control} --ui ${options}`);
  const { ui } = await run.ready();
  return {
    run,
    url: String(ui),
    api: (path: string) => answerOf(socket, `/v0.2${path}`),
    log: async () => (await answerOf(control, '/log'))?.body as { earliest_id: number; latest_id: number },
    listen: (query: string) => EventStream.open(socket, query, { 'user-agent': 'listener' }),
  };
}

describeConsole('the console of a device', (open, browser) => {
  it('deploys, removes, publishes, compacts the log, cuts streams and shows the end of the device', async () => {
    const robot = await device('--retain', '30');
    await using page = await open(robot.url, { except: /ERR_/ });
    await page.getByRole('textbox', { name: 'Content', exact: true }).fill('{"max_speed":7}');
    await press(page, 'deploy');
    const current = () => robot.api('/deployments/current');
    await expect.poll(async () => (await current())?.status, soon).toBe(200);
    const id = (await current())?.body['id'];
    await page.locator(`[data-current=${String(id)}]`).waitFor();

    const stream = await robot.listen('?after=0');
    await card(page, 'Listeners').getByText('listener', { exact: true }).waitFor();
    await card(page, 'Stream').getByText('deployment.deployed').first().waitFor();
    await page.getByRole('spinbutton', { name: 'Events' }).fill('12');
    await press(page, 'publish');
    await expect.poll(async () => (await robot.log()).latest_id, soon).toBe(13);
    await card(page, 'Event log').getByText('13', { exact: true }).waitFor();
    const shown = await card(page, 'Event log').locator('li b').allTextContents();
    expect(shown).toEqual(Array.from({ length: 13 }, (_, index) => String(13 - index)));
    await card(page, 'What happened').getByText('publish: 2 to 13').waitFor();
    await expect.poll(() => stream.ids, soon).toContain(13);

    await press(page, 'compact');
    await expect.poll(async () => (await robot.log()).earliest_id, soon).toBeGreaterThan(1);
    const { earliest_id: first } = await robot.log();
    await page.locator(`[data-earliest="${first}"]`).waitFor();
    expect(await card(page, 'Event log').locator('.compacted').count()).toBe(first - 1);

    await press(page, 'cut');
    await stream.ended;
    await card(page, 'Listeners').getByText('0 open').waitFor();
    await press(page, 'remove');
    await expect.poll(async () => (await current())?.status, soon).toBe(404);
    await card(page, 'Current deployment').getByText('None').waitFor();
    robot.run.child.kill('SIGTERM');
    await page.locator('.connection.ended').waitFor();
  });

  it('renders without animation frames, and after failed loads of one of its scripts', async () => {
    const robot = await device();
    await using still = await browser().newPage();
    await still.addInitScript('globalThis.requestAnimationFrame = () => 0');
    await still.goto(robot.url);
    // Counts elements, because Playwright waits for elements by animation frames, which are off here.
    await expect.poll(() => still.locator('[data-agent=up]').count(), soon).toBeGreaterThan(0);
    await using page = await browser().newPage();
    let lost = 0;
    await page.route('**/page/shell.*', (route) => (++lost > 2 ? route.continue() : route.abort('failed')));
    await page.goto(robot.url);
    await page.locator('.card').first().waitFor({ timeout: soon.timeout });
    expect(lost).toBeGreaterThan(2);
  });

  it('restarts, kills and starts the agent, and switches a defect on', async () => {
    const robot = await device();
    await using page = await open(robot.url);
    const pid = async (): Promise<string> => (await card(page, 'Agent').locator('[data-agent]').textContent()) ?? '';
    const before = await pid();
    await press(page, 'restart');
    const other = async () => (await pid()) !== before && (await pid()).startsWith('up');
    await expect.poll(other, soon).toBe(true);
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
    // The defect moves the API from /v0.2 to /v0.2.2.
    expect((await robot.api('.2/health'))?.status).toBe(200);
  });

  it('is accessible in light and dark, also on a phone', async () => {
    const robot = await device('--heartbeat', '200ms');
    const stream = await robot.listen('?types=deployment.deployed');
    for (const look of LOOKS) {
      await using page = await open(robot.url, look);
      await press(page, 'deploy');
      await page.locator('[data-current]').waitFor();
      await card(page, 'Stream').getByText('heartbeat').first().waitFor();
      await expectReadable(page);
    }
    stream.close();
  });
});
