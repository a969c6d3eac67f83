import { existsSync } from 'node:fs';
import { expect, it } from 'vitest';
import { eventually, useFolder } from '../../common/testing/scratch.ts';
import { PreflightError, runFleet } from './run.ts';
import { runOptionsIn } from './testing/fleets.ts';

const folder = useFolder();

const SCENARIO =
  'uplink: none\nphases: [{ do: ramp, over: 0s }, { do: hold, for: 500ms }, { do: kill, over: 500ms }]\n';
const options = () => ({ ...runOptionsIn(folder(), SCENARIO), soak: { forMs: 4000, everyMs: 300 } });

it('a soak repeats its scenario, and writes interim reports', async () => {
  const written: string[] = [];
  const running = runFleet({ ...options(), screen: { write: (text) => written.push(text) } });
  await eventually(() => expect(written.join('')).toMatch(/interim: 1 round, /));
  expect(existsSync(folder('out', 'interim.html'))).toBe(true);
  const result = await running;
  const { soak, metrics, phases } = result;
  expect(result).toMatchObject({ complete: true, soak: { for_ms: 4000 } });
  expect(phases).toMatchObject([{ do: 'ramp', actions: 2 }, { do: 'hold' }, { do: 'kill' }]);
  expect(soak?.rounds).toBeGreaterThanOrEqual(1);
  expect(soak?.ran_ms).toBeGreaterThanOrEqual(4000);
  expect(metrics['start.ms']?.count).toBe(2 + (phases[2]?.actions ?? 0));
  expect(existsSync(folder('out', 'interim.html'))).toBe(false);
});

it('a soak refuses a scenario without anything to repeat', async () => {
  const nothing = 'uplink: none\nphases: [{ do: ramp, over: 5s }, { do: hold, for: 0s }]\n';
  const run = runFleet({ ...options(), scenario: runOptionsIn(folder(), nothing).scenario });
  await expect(run).rejects.toThrow(PreflightError);
});
