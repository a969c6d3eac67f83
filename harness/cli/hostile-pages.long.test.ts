import { writeFileSync } from 'node:fs';
import http from 'node:http';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { scratch } from '../../simulators/common/testing/scratch.ts';
import { reportHtml } from '../../simulators/fleet/report/report.ts';
import { resultWith, tickWith } from '../../simulators/fleet/result/testing/result.ts';
import { CHROMIUM, DESK, openIn, SKIPPED, useBrowser } from '../common/testing/browser.ts';
import { compare, verdictOf } from '../reports/compare/comparison.ts';
import { comparePage } from '../reports/compare/comparison-formats.ts';
import { entryOf } from '../reports/compare/entries.ts';
import { htmlFormat } from '../reports/html.ts';
import { fullReports, poisoned } from '../reports/testing/samples.ts';
import { describeConsole, soon } from './testing/console.ts';
import { ask, Running, typed, useFolder } from './testing/muster.ts';

const at = useFolder();

/** Closes every HTML element that may surround the text. */
const ENDS = `"'></title></style></script></textarea></template>-->`;
const RUNS = [
  '<script>window.pwned=1</script>',
  '<img src="http://192.0.2.1/a.png" onerror="window.pwned=1">',
  '<svg onload="window.pwned=1"><a href="javascript:window.pwned=1">x</a>',
  '<link rel=stylesheet href=http://192.0.2.1/a.css><iframe srcdoc="<script>parent.pwned=1</script>">',
];
const HOSTILE = `${ENDS}${RUNS.join('')}`;
const SHOWN = '<script>window.pwned=1</script>';

const ELEMENTS = [
  ...['iframe', '[onerror]', '[onload]', 'a[href^="javascript:"]'],
  ...['link[href*="192.0.2.1"]', 'img[src*="192.0.2.1"]'],
];

async function expectHarmless(page: Page, least = 1): Promise<void> {
  const seen = await page.evaluate<{ pwned: unknown; elements: string[]; shown: number }>(`({
    pwned: window.pwned,
    elements: [...document.querySelectorAll('${ELEMENTS.join()}')]
      .map((element) => element.outerHTML.slice(0, 100)),
    shown: document.documentElement.textContent.split(${JSON.stringify(SHOWN)}).length - 1,
  })`);
  expect(seen).toMatchObject({ pwned: undefined, elements: [] });
  expect(seen.shown).toBeGreaterThanOrEqual(least);
}

const hostile = <T>(value: T): T => poisoned(value, () => HOSTILE) as T;

const FLEET = {
  ...{ scenario: 'test', platform: 'http://127.0.0.1', verdict_reasons: ['slow'], incomplete_reasons: ['over'] },
  ...{ violations: ['a'], missed: ['b'], notes: ['c'], run_id: 'monday' },
};

function documents(): Record<string, string> {
  const reports = fullReports().map(hostile);
  const comparison = compare(reports.slice(0, 2).map((report, index) => entryOf(report, `${index}${HOSTILE}`)));
  return {
    ...Object.fromEntries(reports.map((report, index) => [`report-${index}`, htmlFormat.document(report)])),
    comparison: comparePage(comparison, verdictOf(comparison, 'regressions'), HOSTILE),
    fleet: reportHtml(resultWith({ ...hostile(FLEET), timeline: [tickWith({ phase: HOSTILE })] } as never)),
  };
}

describe.skipIf(CHROMIUM === undefined)(`documents of a hostile target${SKIPPED}`, () => {
  const browser = useBrowser();
  const NAMES = ['report-0', 'report-1', 'report-2', 'report-3', 'comparison', 'fleet'];

  it.each(NAMES)('escape hostile texts: %s', async (name) => {
    const file = at(`${name}.html`);
    writeFileSync(file, documents()[name] ?? '');
    await using page = await openIn(browser(), DESK, file);
    await page.evaluate("for (const details of document.querySelectorAll('details')) details.open = true");
    await expectHarmless(page, 3);
  });
});

describeConsole('pages of a hostile target', (open) => {
  it('show hostile deployments, requests and listeners of a device as text', async () => {
    using home = scratch();
    const [socket, control] = [join(home.path, 'a.sock'), join(home.path, 'c.sock')];
    const words = typed`simulate device --socket ${socket} --dir ${home.path}/robot --control ${control} --ui`;
    await using run = new Running(words, { cwd: home.path });
    const { ui } = await run.ready();
    await using page = await open(String(ui));
    const instances = [{ filepath: `/etc/${HOSTILE.replaceAll('/', '|')}.json`, content: HOSTILE }];
    const body = { description: HOSTILE, release_id: `rls_${HOSTILE}`, config_instances: instances };
    expect((await ask(control, '/deployments', 'POST', JSON.stringify(body))).status).toBe(200);
    await ask(socket, `/v0.2/${encodeURI(HOSTILE)}`);
    const headers = { 'user-agent': HOSTILE };
    const stream = http.get({ socketPath: socket, path: `/v0.2/events?types=${encodeURIComponent(HOSTILE)}`, headers });
    stream.on('error', () => {});
    await expect.poll(() => page.locator('body').textContent(), soon).toContain(SHOWN);
    await expectHarmless(page);
    await page.reload();
    await expect.poll(() => page.locator('body').textContent(), soon).toContain(SHOWN);
    await expectHarmless(page);
    stream.destroy();
  });
});
