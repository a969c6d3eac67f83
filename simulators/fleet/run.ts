/** One run of a scenario from preflight to result: what `muster fleet` does. */
import { closeSync, mkdirSync, openSync, rmSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { expose } from '../../harness/load/exposition.ts';
import { LiveView, type Screen } from '../../harness/load/live.ts';
import { machineLimits, preflight, sensibleWorkers } from '../../harness/load/preflight.ts';
import { reportHtml } from '../../harness/load/report.ts';
import type { FleetResult, Tick } from '../../harness/load/result.ts';
import type { Scenario } from '../../harness/load/scenario.ts';
import { RESULT_FILE, writeAlive, writeResult, writeWhole } from '../../harness/load/shards.ts';
import { robotCost } from './cost.ts';
import { startEmbeddedPlatform } from './embedded-platform.ts';
import { Fleet, type Measured } from './fleet.ts';
import type { PlatformAddress, RolloutRow } from './host.ts';
import { resultOf } from './outcome.ts';
import { roomFor } from './place.ts';
import { membersOf, scheduleMs } from './plan.ts';
import { PlatformClient, PlatformFailure } from './platform-client.ts';

export interface RunOptions {
  scenario: Scenario;
  robots: number;
  platform: PlatformAddress | 'embedded' | undefined;
  /** Default: what the machine has cores for. */
  workers?: number;
  shard?: { index: number; count: number };
  seed: number;
  keyBits: number;
  stateDir: string;
  /** Where robots keep their files while the fleet runs. Default: in memory when there is room. */
  dir?: string;
  /** `result.json`, `report.html` and `rollouts.jsonl` are written here. */
  out: string;
  /** Added to those of the scenario. */
  thresholds: readonly string[];
  namePrefix?: string;
  /** See `FleetOptions`. */
  defects?: Record<number, string>;
  metrics?: { port: number; host: string };
  /** Goes on although preflight says that the machine is too small. */
  force?: boolean;
  screen: Screen;
  version: string;
  signal: AbortSignal;
}

/** The machine can't hold the fleet, or the platform can't be used; the message says what to change. */
export class PreflightError extends Error {
  override name = 'PreflightError';
}

/** Robots for which one core is enough, with pings and roll-outs at everyday rates. */
const ROBOTS_A_CORE = 2000;
const LAST_WORDS_MS = 1000;
const SIGN_MS = 2000;
const REPORT_FILE = 'report.html';

/** Resolves with the result, which is then on disk as well; an interrupted run is incomplete. Rejects when it could not begin. */
export async function runFleet(options: RunOptions): Promise<FleetResult> {
  const { scenario, robots, shard, signal, screen, out } = options;
  const view = new LiveView(screen);
  const members = membersOf(robots, shard ?? { index: 1, count: 1 }).length;
  const cost = robotCost(scenario);
  const base = roomFor(members * cost.diskBytes, options.dir);
  const limits = machineLimits(base);
  // One without a robot would have nothing to do.
  const workers = Math.min(options.workers ?? sensibleWorkers(members, cost, limits, ROBOTS_A_CORE), members);
  const { capacity, problems } = preflight(members, workers, cost, limits);
  screen.write(
    `preflight: ${workers} workers here hold ${list(capacity)} robots; ${members.toLocaleString('en')} are wanted\n`,
  );
  if (problems.length > 0 && options.force !== true)
    throw new PreflightError([...problems, '--force goes on all the same'].join('\n'));

  const startedAt = new Date().toISOString();
  await using stack = new AsyncDisposableStack();
  mkdirSync(out, { recursive: true });
  // What an earlier run left must not be taken for the result of this one.
  for (const name of [RESULT_FILE, REPORT_FILE]) rmSync(join(out, name), { force: true });
  const rollouts = openSync(join(out, 'rollouts.jsonl'), 'w');
  stack.defer(() => closeSync(rollouts));
  let address: PlatformAddress | undefined;
  let died: Promise<string> | undefined;
  if (options.platform === 'embedded') {
    const embedded = await startEmbeddedPlatform(options.seed);
    stack.defer(() => embedded.stop());
    signal.addEventListener('abort', () => void embedded.stop(), { once: true });
    died = embedded.died;
    address = embedded.address;
  } else {
    address = options.platform;
  }
  signal.throwIfAborted();
  if (address !== undefined) await reach(address);

  let lastTick: Tick | undefined;
  const fleet = new Fleet({
    robots,
    platform: address,
    scenario,
    workers,
    seed: options.seed,
    keyBits: options.keyBits,
    stateDir: options.stateDir,
    dir: base,
    ...(shard === undefined ? {} : { shard }),
    ...(options.namePrefix === undefined ? {} : { namePrefix: options.namePrefix }),
    ...(options.defects === undefined ? {} : { defects: options.defects }),
    onKeys: (done, of) => view.progress(`${options.keyBits}-bit keys`, done, of),
    onSecond: (tick) => {
      lastTick = tick;
      const number = Math.min(fleet.phases.length, scenario.phases.length - 1);
      const left = scenario.phases.slice(number).reduce((sum, phase) => sum + scheduleMs(phase), 0);
      const { counters } = fleet.progress;
      view.show({
        title: scenario.name,
        tick,
        phase: { number: number + 1, of: scenario.phases.length, name: scenario.phases[number]?.do ?? '' },
        elapsedMs: fleet.elapsedMs,
        remainingMs: Math.max(0, left - fleet.phaseElapsedMs),
        errors: Object.entries(counters).reduce(
          (sum, [name, count]) => sum + (name.endsWith('.errors') ? count : 0),
          0,
        ),
        violations: fleet.violations.length,
      });
    },
  });
  void died?.then((how) => fleet.incomplete.push(how));
  const stop = (): Promise<void> => fleet.stop(signal.aborted ? 'abandon' : 'orderly');
  stack.defer(stop);
  if (shard !== undefined) stack.defer(signOfLife(out, shard, fleet));
  if (options.metrics !== undefined) {
    const exposition = await expose({
      ...options.metrics,
      labels: { scenario: scenario.name, ...(shard === undefined ? {} : { shard: `${shard.index}/${shard.count}` }) },
      read: () => ({ tick: lastTick, metrics: fleet.progress.summaries(), counters: fleet.progress.counters }),
    });
    stack.use(exposition);
    screen.write(`metrics: http://${options.metrics.host}:${exposition.port}/metrics\n`);
  }

  const interrupted = await interruptible(signal, fleet, async () => {
    await fleet.prepare();
    view.end();
    for (const phase of scenario.phases) {
      const report = await fleet.run(phase);
      writeRows(rollouts, report.rollouts);
      // Nobody is left to carry out the rest.
      if (signal.aborted || fleet.notStarted === fleet.robots) return;
    }
    await fleet.finish();
  });
  view.end();
  const measured = interrupted ?? (await fleet.measured());
  const result = resultOf(options, fleet, measured, { startedAt, workers, interrupted: interrupted !== undefined });
  await stop();
  writeResult(out, result);
  writeWhole(out, REPORT_FILE, reportHtml(result));
  return result;
}

/** Before minutes of making keys: does anyone answer, and take the key? A lack of scopes shows when they are needed. */
async function reach(address: PlatformAddress): Promise<void> {
  const client = new PlatformClient({ ...address, connections: 1 });
  try {
    await client.listDevices(1, 0);
  } catch (error) {
    if (!(error instanceof PlatformFailure)) throw error;
    if (error.status === 0) throw new PreflightError(`the platform cannot be reached: ${error.message}`);
    if (error.status === 401) throw new PreflightError(`the platform does not take the API key: ${error.message}`);
  } finally {
    await client.close();
  }
}

/** Runs `work`; on an interrupt asks for what was measured so far, ends everything at once, and resolves with it. */
async function interruptible(
  signal: AbortSignal,
  fleet: Fleet,
  work: () => Promise<void>,
): Promise<Measured | undefined> {
  const { promise, resolve, reject } = Promise.withResolvers<Measured | undefined>();
  const onAbort = (): void => {
    const late = Promise.withResolvers<never>();
    const timer = setTimeout(late.reject, LAST_WORDS_MS, new Error('no answer in time'));
    Promise.race([fleet.measured(), late.promise])
      .catch(() => fleet.measuredNothing())
      .finally(() => clearTimeout(timer))
      .then(async (measured) => {
        await fleet.stop('abandon');
        resolve(measured);
      })
      .catch(reject);
  };
  signal.addEventListener('abort', onAbort, { once: true });
  work().then(
    () => (signal.aborted ? undefined : resolve(undefined)),
    (error: unknown) => (signal.aborted ? undefined : reject(error)),
  );
  try {
    return await promise;
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
}

/** For whoever collects the shards: renewed while this process lives. Returns how to end it. */
function signOfLife(out: string, shard: { index: number; count: number }, fleet: Fleet): () => void {
  let beat = 0;
  const sign = (): void => {
    beat += 1;
    writeAlive(out, { shard, beat, phase: fleet.phase });
  };
  sign();
  const timer = setInterval(sign, SIGN_MS);
  return () => clearInterval(timer);
}

function writeRows(file: number, rows: readonly RolloutRow[]): void {
  if (rows.length > 0) writeSync(file, `${rows.map((row) => JSON.stringify(row)).join('\n')}\n`);
}

const list = (capacity: Record<string, number>): string =>
  Object.entries(capacity)
    .map(([name, robots]) => `${Number.isFinite(robots) ? robots.toLocaleString('en') : 'any number of'} (${name})`)
    .join(', ');
