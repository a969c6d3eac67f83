import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { expect, it } from 'vitest';
import { listenAt } from '../../simulators/defects/null.ts';
import type { FleetResult } from '../../simulators/fleet/result/result.ts';
import { counts, describeConsole, expectReadable, press, soon } from './testing/console.ts';
import { muster, Running, typed, useFolder } from './testing/muster.ts';

const ROBOTS = 8;
const at = useFolder();

describeConsole('the pages of the demo', (open) => {
  it('pause the demo, show its fleet and its platform, and stay up until Ctrl+C', async () => {
    await using run = new Running(typed`demo --robots ${ROBOTS} --seed 3 --out ${at('report')} --ui`);
    const [url = '', other = ''] = [
      await run.line((line) => line.includes('ui: ')),
      await run.line((line) => line.includes('(the platform)')),
    ].map((line) => /http:\S+/.exec(line)?.[0] ?? '');
    await using page = await open(url, { except: /ERR_/ });
    await press(page, 'pause');
    await run.line((line) => line.includes('✓ robots'));
    await page.getByRole('region', { name: 'Run' }).getByText('paused', { exact: true }).waitFor();

    await using platform = await open(other, { except: /ERR_/ });
    expect(await page.getByRole('link', { name: 'the platform' }).getAttribute('href')).toBe(other);
    await expect.poll(() => platform.locator('[data-device][data-is=online]').count(), soon).toBe(ROBOTS);

    await press(page, 'resume');
    await run.line((line) => line.includes('✓ roll-out'));
    await run.line((line) => line.includes('until Ctrl+C'));
    await expect.poll(async () => (await counts(page))['reached'], soon).toBe(ROBOTS);
    for (const look of [page, platform]) await expectReadable(look);

    process.kill(-(run.child.pid ?? 0), 'SIGINT');
    const { code, stdout, stderr } = await run.ended;
    expect(code, stderr).toBe(0);
    expect(stdout).toContain('Nothing failed');
    const result = JSON.parse(readFileSync(at('report/fleet.json'), 'utf8')) as FleetResult;
    // Takes the expected outcome, which depends on the machine, from the written result.
    await page.locator(`[data-outcome=${result.outcome}]`).waitFor();
    expect(result.notes.join('\n')).toContain('the scenario was paused until');
  });

  it('are refused on a port in use, and the demo ends', async () => {
    await using server = await listenAt(createServer(), { port: 0 });
    const port = server.port ?? 0;
    const { code, stderr } = await muster(...typed`demo --robots 2 --out ${at('none')} --ui-port ${port}`);
    expect(stderr).toContain(`--ui-port: cannot serve on port ${port}`);
    expect(code).toBe(64);
  });
});
