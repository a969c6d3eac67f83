import { readdirSync } from 'node:fs';
import { createServer } from 'node:http';
import { setImmediate } from 'node:timers/promises';
import { expect, it, onTestFinished, vi } from 'vitest';
import { served } from '../../../harness/common/testing/servers.ts';
import { useFolder } from '../../common/testing/scratch.ts';
import type { FleetResult } from '../result/result.ts';
import { parseScenario } from '../scenario/read.ts';
import { Fleet, type RunOptions } from './fleet.ts';
import { PreflightError, runFleet } from './run.ts';
import { runOptionsIn } from './testing/fleets.ts';

const folder = useFolder();

/** Failed outcome; on a busy machine, the load generator may be invalid, and then figures do not count. */
const failed = ({ verdict }: FleetResult): string => (verdict === 'invalid' ? 'INCOMPLETE' : 'FAILED');

const optionsWith = (change: Partial<RunOptions>): RunOptions =>
  runOptionsIn(folder(), 'uplink: none\nphases: [{ do: ramp, over: 0s }]\n', change);

it('a run ends early, with the reason, once a condition has held', async () => {
  const scenario = 'uplink: none\nabort_after: 1s\nphases: [{ do: ramp, over: 0s }, { do: hold, for: 10m }]\n';
  const result = await runFleet({ ...runOptionsIn(folder(), scenario), abortOn: ['start.ms.count>=1'] });
  expect(result).toMatchObject({
    outcome: failed(result),
    ended_by: 'start.ms.count>=1',
    incomplete_reasons: [expect.stringMatching(/^ended early: start\.ms\.count>=1 held in the last 1 s: it was [12]$/)],
  });
  // On a busy machine, the condition may hold before the second phase begins.
  const [ramp, hold = { do: 'hold', interrupted: true }] = result.phases;
  expect([ramp, hold]).toMatchObject([{ do: 'ramp' }, { do: 'hold', interrupted: true }]);
  expect(readdirSync(folder('robots'))).toEqual([]);
});

it('a run passes an open gate, and ends at a closed one', async () => {
  const gates =
    "{ do: ramp, over: 0s, gate: ['start.ms.count==2'] }, { do: hold, for: 0s, gate: ['start.ms.count==3'] }";
  const scenario = `uplink: none\nphases: [${gates}, { do: hold, for: 10m }]\n`;
  const result = await runFleet(runOptionsIn(folder(), scenario));
  expect(result).toMatchObject({ outcome: failed(result), ended_by: 'start.ms.count==3' });
  expect(result.incomplete_reasons).toEqual([
    'ended early: the gate after phase 2-hold asks for start.ms.count==3, and it is 2',
  ]);
  expect(result.phases.map(({ do: name }) => name)).toEqual(['ramp', 'hold']);
});

it('a run is incomplete, not failed, when a threshold or gate is unmeasured', async () => {
  const unmeasured = await runFleet(optionsWith({ thresholds: ['start.ms.count==2', 'ping.ms.p99<1s'] }));
  expect(unmeasured).toMatchObject({ outcome: 'INCOMPLETE', complete: true });
  const both = await runFleet(optionsWith({ thresholds: ['start.ms.count==3', 'ping.ms.p99<1s'] }));
  expect(both).toMatchObject({ outcome: failed(both) });
  const gated = "uplink: none\nphases: [{ do: ramp, over: 0s, gate: ['sync.ms.p99<5s'] }]\n";
  expect(await runFleet(runOptionsIn(folder(), gated))).toMatchObject({ outcome: 'INCOMPLETE', complete: false });
});

it('a perfect run meets thresholds on failures, and leaves what it did not try unmeasured', async () => {
  const standing = async (measure: boolean) => {
    const phases = `[{ do: ramp, over: 0s, measure: ${measure} }, { do: hold, for: 0s }]`;
    const names = ['start.errors', 'subscriber.violations', 'uplink.lost', 'ping.errors'];
    const thresholds = names.map((name) => `${name}.count==0`);
    const result = await runFleet(runOptionsIn(folder(), `uplink: none\nphases: ${phases}\n`, { thresholds }));
    return result.thresholds.map(({ ok, value }) => (value === null ? 'not measured' : ok));
  };
  expect(await standing(true)).toEqual([true, true, 'not measured', 'not measured']);
  expect(await standing(false)).toEqual(['not measured', true, 'not measured', 'not measured']);
});

it('a run rejects, and leaves no files of robots, when the port of its page is in use', async () => {
  const { port } = await served(createServer());
  await expect(runFleet(optionsWith({ ui: { port } }))).rejects.toThrow(PreflightError);
  expect(readdirSync(folder('robots'))).toEqual([]);
});

it('a run rejects when interrupted while it reaches the platform', async () => {
  const stop = new AbortController();
  const server = createServer((_request, response) => {
    stop.abort(new Error('interrupted'));
    response.end('{"data":[]}');
  });
  const { url } = await served(server);
  const platform = { url, agentUrl: url, apiKey: 'key' };
  await expect(runFleet(optionsWith({ platform, signal: stop.signal }))).rejects.toThrow('interrupted');
  expect(readdirSync(folder('robots'))).toEqual([]);
});

it('a run rejects when interrupted while its page is being served', async () => {
  const stop = new AbortController();
  const write = (text: string): void => {
    if (text.startsWith('ui: ')) stop.abort(new Error('interrupted'));
  };
  const options = optionsWith({ ui: { port: 0 }, screen: { write }, signal: stop.signal });
  await expect(runFleet(options)).rejects.toThrow('interrupted');
  expect(readdirSync(folder('robots'))).toEqual([]);
});

it('a fleet stopped during its preparation leaves no timer', async () => {
  const [set, clear] = [vi.spyOn(globalThis, 'setInterval'), vi.spyOn(globalThis, 'clearInterval')];
  onTestFinished(() => void vi.restoreAllMocks());
  // Stops the fleet at a different moment of `prepare` in each pass.
  for (let turns = 0; turns < 12; turns += 1) {
    const fleet = new Fleet({ ...optionsWith({ dir: folder() }), platform: undefined, workers: 0 });
    const preparing = fleet.prepare();
    for (let turn = 0; turn < turns; turn += 1) await setImmediate();
    await fleet.stop('abandon');
    await preparing.catch(() => {});
  }
  const cleared = clear.mock.calls.map(([clock]) => clock);
  expect(set.mock.results.filter(({ value }) => !cleared.includes(value))).toEqual([]);
});

it('a run rejects, and creates no folder, when the machine is too small', async () => {
  const text = 'name: test\nuplink: none\nsubscribers: 100\nphases: [{ do: ramp, over: 0s }]\n';
  const scenario = parseScenario(text, 'test.yaml');
  await expect(runFleet(optionsWith({ scenario, robots: 1_000_000 }))).rejects.toThrow(PreflightError);
  expect(readdirSync(folder())).toEqual([]);
});
