import http from 'node:http';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { simulateDevice } from '../../simulators/device/index.ts';
import { serve } from '../targets/testing/places.ts';
import { card, describeConsole, expectReadable, LOOKS, soon } from './testing/console.ts';
import { ask, typed, useHome } from './testing/muster.ts';
import { WatchPage } from './watching/page.ts';

const home = useHome();
const CURRENT = '/v0.2/deployments/current';
const HOSTILE = '<img src=x onerror=window.pwned=1>';

async function watched(...more: string[]) {
  const [far, near] = [join(home.path, 'a.sock'), join(home.path, 'w.sock')];
  const run = home.start([...typed`watch device --socket ${far} --listen ${near} --ui`, ...more]);
  const { ui } = await run.ready();
  return {
    run,
    near,
    url: String(ui),
    start: () => simulateDevice({ dir: join(home.path, 'robot'), socket: far, heartbeatMs: 200, seed: '1' }),
    answer: (body: string) =>
      serve((_, response) => response.setHeader('content-type', 'application/json').end(body), far),
  };
}

function follow(socketPath: string, path: string, agent: string): http.ClientRequest {
  const request = http.get({ socketPath, path, agent: false, headers: { 'user-agent': agent } });
  request.on('error', () => {}).on('response', (response) => response.on('error', () => {}).resume());
  return request;
}

describeConsole('the page of a watch', (open) => {
  it('counts live events, and shows when the server is unreachable and back', async () => {
    const watch = await watched();
    await using page = await open(watch.url);
    await card(page, 'Findings').getByText('Nothing was found so far.').waitFor();
    await ask(watch.near, CURRENT).catch(() => {});
    await page.locator('[data-unreachable]').waitFor();
    await using device = await watch.start();
    const stream = follow(watch.near, '/v0.2/events?token=geheim', 'robot/1');
    await expect.poll(() => page.locator('[data-unreachable]').count(), soon).toBe(0);
    await device.publish(3);
    await expect.poll(() => page.locator('[data-events="3"]').count(), soon).toBe(1);
    await card(page, 'Not judged').getByText('1 connection: no connection to the server').waitFor();
    stream.destroy();
    expect(await page.locator('main').textContent()).not.toContain('geheim');
    await page.locator('[data-verdict=good]').waitFor();
    watch.run.child.kill('SIGTERM');
    await page.locator('.connection.ended').waitFor();
  });

  it('shows a finding without a reload, and hostile traffic as text', async () => {
    const watch = await watched('--only', 'device.deployment.shape.everywhere');
    await watch.answer(JSON.stringify({ object: 'deployment', id: HOSTILE }));
    await using page = await open(watch.url);
    follow(watch.near, `${CURRENT}?q=${encodeURIComponent(HOSTILE)}`, HOSTILE);
    await page.locator('[data-verdict=bad]').waitFor();
    const finding = page.locator('[data-finding="device.deployment.shape.everywhere"]');
    expect(await finding.getAttribute('data-side')).toBe('server');
    await card(page, 'Verdict so far').getByText('1 of 1 decided').waitFor();
    await finding.getByRole('button').click();
    await finding.locator('pre').first().getByText(HOSTILE).waitFor();
    expect(await page.evaluate('window.pwned')).toBeUndefined();
  });

  it('replaces its good verdict by a warning when judging ends', async () => {
    const rules = { decided: 0, all: 1 };
    await using watch = new WatchPage({ api: 'device', server: 'a.sock', began: Date.now(), rules });
    await using page = await open(await watch.serve(0));
    await page.locator('[data-verdict=good]').waitFor();
    watch.ended('nothing is judged from here on: planted');
    await page.locator('[data-verdict=warn]').getByText('nothing found, no longer judged').waitFor();
    await card(page, 'Not judged').getByText('from here on: planted').waitFor();
  });

  it('is accessible in the dark and on a phone', async () => {
    const watch = await watched();
    await ask(watch.near, CURRENT).catch(() => {});
    await watch.answer('{"id":"x"}');
    for (const look of LOOKS.slice(1)) {
      await using page = await open(watch.url, look);
      for (const agent of ['one', 'two']) follow(watch.near, CURRENT, agent);
      await page.locator('[data-finding] button').first().click();
      await expectReadable(page);
    }
  });
});
