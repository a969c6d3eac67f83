import { fileURLToPath } from 'node:url';
import type { Page } from 'playwright-core';
import { expect, it } from 'vitest';
import { firstMessage } from '../../simulators/common/testing/requests.ts';
import { NEWEST_VERSION } from '../contract/versions.ts';
import { card, describeConsole, expectReadable, LOOKS, press, soon } from './testing/console.ts';
import { Running, typed } from './testing/muster.ts';

const WAREHOUSE = fileURLToPath(new URL('../../fixtures/workspaces/warehouse.yaml', import.meta.url));
const KEY = 'k7Q2-xW9z_Bf4vN8';

type Item = Record<string, unknown> & { id: string };

async function platform(...workspace: string[]) {
  const words = typed`simulate platform --mqtt none --ui --log-level error --api-key ${KEY}`;
  const run = new Running([...words, ...(workspace.length > 0 ? workspace : ['--seed-file', WAREHOUSE])]);
  const { ui, url } = await run.ready();
  const call = async (method: string, path: string, body?: unknown, headers: Record<string, string> = {}) => {
    const response = await fetch(`${url}${path}`, {
      method,
      headers: {
        'x-api-key': KEY,
        'service-version': NEWEST_VERSION,
        ...(body !== undefined && { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    return { status: response.status, headers: response.headers, body: (await response.json()) as Item };
  };
  const device = async (name: string): Promise<Item> =>
    ((await call('GET', `/devices?name=${name}`)).body['data'] as Item[])[0] as Item;
  return { run, ui: String(ui), call, device, [Symbol.asyncDispose]: () => run[Symbol.asyncDispose]() };
}

const openDevice = (page: Page, id: string): Promise<void> => page.locator(`[data-device=${id}] > button`).click();
const request = (page: Page, text: string) =>
  card(page, 'Requests').locator('[data-request]').filter({ hasText: text });

describeConsole('the console of a platform', (open) => {
  it('drives devices, and restores a snapshot and the initial state', async () => {
    await using served = await platform();
    await using page = await open(served.ui);
    const { id } = await served.device('picker-2');
    const is = (status: string) =>
      expect.poll(async () => (await served.device('picker-2'))['status'], soon).toBe(status);
    await page.getByRole('textbox', { name: 'Snapshot' }).fill('mine');
    await press(page, 'snapshot');
    await page.locator('[data-snapshot=mine]').waitFor();
    await openDevice(page, id);
    await press(page, 'online');
    await is('online');
    const pinged = await served.call('POST', `/devices/${id}/ping`, { timeout_nanos: 5_000_000_000 });
    expect(pinged.body['code']).toBe('success');
    await page.locator(`[data-device=${id}][data-is=online]`).waitFor();
    await press(page, 'offline');
    await is('offline');
    await page.locator(`[data-device=${id}][data-is=offline]`).waitFor();
    const warehouse = (await served.device('picker-2'))['group_id'];
    await page.getByRole('combobox', { name: 'Group' }).selectOption({ label: 'Night shift' });
    await press(page, 'group');
    await expect.poll(async () => (await served.device('picker-2'))['group_id'], soon).not.toBe(warehouse);
    await press(page, 'archive');
    await is('archived');
    await page.locator(`[data-device=${id}][data-is=archived]`).waitFor();
    await press(page, 'restore');
    await is('offline');
    expect((await served.device('picker-2'))['group_id']).toBe(warehouse);
    await press(page, 'drop');
    await page.locator('[data-snapshot=mine]').waitFor({ state: 'detached' });

    const made = await served.call('POST', '/devices', { name: 'made-later' });
    await page.locator(`[data-device=${made.body.id}]`).waitFor();
    await press(page, 'reset');
    await page.locator(`[data-device=${made.body.id}]`).waitFor({ state: 'detached' });
    expect((await served.call('GET', `/devices/${made.body.id}`)).status).toBe(404);
  });

  it('finds and drives a device outside the list of recent changes', async () => {
    await using served = await platform('--devices', '260', '--seed', '7');
    await using page = await open(served.ui);
    const itemsFrom = async (offset: number) =>
      (await served.call('GET', `/devices?limit=100&offset=${offset}`)).body['data'];
    const all = await Promise.all([0, 100, 200].map(itemsFrom));
    const shown = await page
      .locator('[data-device]')
      .evaluateAll((rows) => rows.map((row) => row.getAttribute('data-device')));
    expect(shown.length).toBe(200);
    const hidden = (all.flat() as Item[]).find(({ id, status }) => !shown.includes(id) && status === 'offline') as Item;
    await page.getByRole('searchbox', { name: 'Filter devices' }).fill(String(hidden['name']));
    await press(page, 'show');
    await page.locator(`[data-device=${hidden.id}] .detail`).waitFor();
    await press(page, 'online');
    const status = async () => (await served.call('GET', `/devices/${hidden.id}`)).body['status'];
    await expect.poll(status, soon).toBe('online');
  });

  it('plans faults and answers, and drops them', async () => {
    await using served = await platform();
    await using page = await open(served.ui, { except: /422/ });
    const releases = async () => served.call('GET', '/releases');
    const status = (wanted: number) => expect.poll(async () => (await releases()).status, soon).toBe(wanted);
    const route = page.getByRole('combobox', { name: 'Route' });
    await route.fill('GET /releases');
    await page.getByRole('spinbutton', { name: 'Times' }).fill('1');
    await page.getByRole('combobox', { name: 'Fault' }).fill('429=7');
    await press(page, 'plan');
    await page.locator('[data-plan="1"]').getByText('used 0 of 1').waitFor();
    const throttled = await releases();
    expect([throttled.status, throttled.headers.get('retry-after')]).toEqual([429, '7']);
    await page.locator('[data-plan="1"]').getByText('used 1 of 1').waitFor();
    expect((await releases()).status).toBe(200);

    await request(page, '429').getByRole('button').first().click();
    await route.fill('');
    await page.locator('[data-plan-route]').click();
    expect(await route.inputValue()).toBe('GET /releases');
    await page.getByRole('combobox', { name: 'Gets' }).selectOption('answer');
    await page.getByRole('spinbutton', { name: 'Status' }).fill('202');
    await page.getByRole('textbox', { name: 'Body' }).fill('{"stubbed":true}');
    await page.getByRole('spinbutton', { name: 'Times' }).fill('');
    await press(page, 'plan');
    await status(202);
    expect((await releases()).body).toEqual({ stubbed: true });
    await page.locator('[data-plan="2"] button').click();
    await status(200);
    await press(page, 'plan');
    await status(202);
    await press(page, 'unplanAll');
    await status(200);
    await card(page, 'Plans').getByText('Nothing is planned.').waitFor();

    await route.fill('releases');
    await press(page, 'plan');
    await page.locator('.said.wrong').getByText('does not begin with /').waitFor();
  });

  it('shows requests and answers without secrets, and keeps them on reload', async () => {
    await using served = await platform();
    const bodies: string[] = [];
    await using page = await open(served.ui);
    page.on('response', async (response) => bodies.push(await response.text().catch(() => '')));
    await served.call('GET', `/devices?name=${encodeURIComponent(KEY)}&limit=3`);
    const wrongKey = 'wrong-9w1-Zz8';
    await served.call('GET', `/releases?search=${wrongKey}`, undefined, { 'x-api-key': wrongKey });
    const { body } = await served.call('POST', '/provisioning_tokens');
    const token = String(body['token']);
    await served.call('POST', '/devices', { name: `robot ${KEY}` });
    await served.call('PATCH', `/devices/${'x'.repeat(10)}`, { name: 'y', password: 'pa55word' });
    await request(page, 'PATCH').waitFor();
    await request(page, '/releases').getByText(`${NEWEST_VERSION} · unknown key`).waitFor();
    await request(page, 'limit=3').getByText(`${NEWEST_VERSION} · API key 1`).waitFor();
    for (const text of ['limit=3', '/releases', '/provisioning_tokens', 'PATCH', 'POST /beta/devices']) {
      const [method, path] = text.split(' ');
      const row = path === undefined ? request(page, text) : request(page, method ?? '').filter({ hasText: path });
      await row.getByRole('button').first().click();
      await row.locator('.exchange').waitFor();
      expect(await row.locator('.exchange').textContent(), text).toContain('x-api-key***');
    }
    const shown = await page.content();
    await page.reload();
    await request(page, 'PATCH').waitFor();
    const requests = () => card(page, 'Requests').locator('[data-request]').count();
    expect(await requests()).toBe(5);
    const whole = await firstMessage(`${served.ui}events`);
    for (const secret of [KEY, wrongKey, token, 'pa55word']) {
      for (const text of [shown, await page.content(), whole, ...bodies]) expect(text).not.toContain(secret);
    }
    expect(bodies.some((text) => text.includes('"responseBody"'))).toBe(true);

    await page.getByRole('searchbox', { name: 'Filter requests' }).fill('post devices');
    await expect.poll(requests, soon).toBe(1);
    await page.getByRole('searchbox', { name: 'Filter requests' }).fill('');
    await card(page, 'Requests').getByRole('checkbox', { name: 'failed' }).check();
    await expect.poll(requests, soon).toBeLessThan(5);
    await card(page, 'Requests').getByRole('checkbox', { name: 'failed' }).uncheck();
    await card(page, 'Requests').getByRole('button', { name: 'Hold' }).click();
    await served.call('GET', '/groups');
    await page.locator('[data-requests="6"]').waitFor();
    expect(await request(page, '/groups').count()).toBe(0);
    await card(page, 'Requests').getByRole('button', { name: 'Follow' }).click();
    await request(page, '/groups').waitFor();
    await press(page, 'clear');
    await card(page, 'Requests').getByText('No request yet.').waitFor();
  });

  it('is accessible in light and dark, also on a phone', async () => {
    await using served = await platform();
    const { id } = await served.device('picker-1');
    for (const look of LOOKS) {
      await using page = await open(served.ui, look);
      await press(page, 'plan');
      await press(page, 'snapshot');
      await openDevice(page, id);
      await request(page, '/devices').getByRole('button').first().click();
      await page.locator('.exchange').waitFor();
      await expectReadable(page);
    }
  });
});
