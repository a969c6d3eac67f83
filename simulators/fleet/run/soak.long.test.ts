import { copyFileSync, existsSync, readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { eventually } from '../../common/testing/scratch.ts';
import { useFolder } from '../testing/scratch.ts';
import { PreflightError, runFleet } from './run.ts';
import { runOptionsIn } from './testing/fleets.ts';

const folder = useFolder();

const SCENARIO =
  'uplink: none\nphases: [{ do: ramp, over: 0s }, { do: hold, for: 500ms }, { do: kill, over: 500ms }]\n';
const options = (soak = { forMs: 6000, everyMs: 300 }) => ({ ...runOptionsIn(folder(), SCENARIO), soak });

it('repeats its scenario, and goes on after an end of its process', async () => {
  const written: string[] = [];
  const stop = new AbortController();
  const first = runFleet({ ...options(), signal: stop.signal, screen: { write: (text) => written.push(text) } });
  await eventually(() => expect(written.join('')).toMatch(/interim: 1 round, /));
  // What a process leaves that is killed.
  copyFileSync(folder('out', 'interim.json'), folder('killed.json'));
  stop.abort(new Error('interrupted'));
  expect(await first).toMatchObject({ outcome: 'INCOMPLETE', soak: { gaps: [] } });
  copyFileSync(folder('killed.json'), folder('out', 'interim.json'));

  const result = await runFleet(options());
  expect(result).toMatchObject({
    complete: true,
    phases: [{ do: 'ramp', rounds: 2, actions: 4 }, { do: 'hold' }, { do: 'kill' }],
    soak: {
      for_ms: 6000,
      gaps: [{ from: expect.any(String), to: expect.any(String) }],
    },
    notes: [
      expect.stringMatching(/^Nothing was measured for .* from 20.*: the fleet had ended, and was started again\.$/),
    ],
  });
  const { soak, counters, metrics, phases } = result;
  expect(soak?.rounds).toBeGreaterThanOrEqual(1);
  expect(soak?.ran_ms).toBeGreaterThanOrEqual(6000);
  expect(metrics['start.ms']?.count).toBe(4 + (phases[2]?.actions ?? 0));
  expect(counters['start.errors']).toBeUndefined();
  expect(existsSync(folder('out', 'interim.json'))).toBe(false);
  const lines = readFileSync(folder('out', 'interim.jsonl'), 'utf8').trim().split('\n');
  const last = JSON.parse(lines.at(-1) ?? '') as { rounds: number; metrics: Record<string, { count: number }> };
  expect(last.rounds).toBe(soak?.rounds);
  expect(last.metrics['start.ms']?.count).toBeLessThan(metrics['start.ms']?.count ?? 0);
});

it.each([{ robots: 3 }, { soak: { forMs: 9, everyMs: 1000 } }, { seed: 2 }])(
  'leaves the state of another soak alone: %j',
  async (other) => {
    const stop = new AbortController();
    const first = runFleet({ ...options(), signal: stop.signal });
    await eventually(() => expect(existsSync(folder('out', 'interim.json'))).toBe(true));
    stop.abort(new Error('interrupted'));
    await first;
    const refused = runFleet({ ...options(), ...other });
    await expect(refused).rejects.toThrow(
      /interim\.json is of another soak, which has not ended: .* a folder of its own$/,
    );
    expect(existsSync(folder('out', 'interim.json'))).toBe(true);
  },
);

it('refuses a scenario that has nothing to repeat', async () => {
  const nothing = 'uplink: none\nphases: [{ do: ramp, over: 5s }, { do: hold, for: 0s }]\n';
  const run = runFleet({ ...options(), scenario: runOptionsIn(folder(), nothing).scenario });
  await expect(run).rejects.toThrow(PreflightError);
});
