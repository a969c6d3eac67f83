/** One run of a scenario from preflight to result: what `muster fleet` does. */
import { closeSync, openSync, rmSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import type { PlatformAddress, RolloutRow } from '../host/host.ts';
import { startEmbeddedPlatform } from '../processes/embedded-platform.ts';
import { type Exposition, expose, type Shown } from '../report/exposition.ts';
import { LiveView, type Screen } from '../report/live.ts';
import { reportHtml } from '../report/report.ts';
import type { FleetResult, Tick } from '../result/result.ts';
import { RESULT_FILE, writeAlive, writeResult, writeWhole } from '../result/shards.ts';
import type { Scenario } from '../scenario/scenario.ts';
import { membersOf, scheduleMs } from '../schedule/plan.ts';
import { Fleet, type Measured } from './fleet.ts';
import { resultOf } from './outcome.ts';
import { machineLimits, preflight, sensibleWorkers } from './preflight.ts';
import { claimFolders, PreflightError, reach } from './readiness.ts';
import { robotCost } from './robot-cost.ts';
import { roomFor } from './workdir.ts';

export { PreflightError, UnreachableError } from './readiness.ts';

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
  screen.write(`preflight: ${holders(workers)} ${list(capacity)} robots; ${members.toLocaleString('en')} are wanted\n`);
  if (problems.length > 0 && options.force !== true)
    throw new PreflightError([...problems, '--force goes on all the same'].join('\n'));

  const startedAt = new Date().toISOString();
  await using stack = new AsyncDisposableStack();
  let lastTick: Tick | undefined;
  let fleet: Fleet | undefined;
  if (options.metrics !== undefined) {
    const exposition = await exposed(options.metrics, options, () => ({
      tick: lastTick,
      metrics: fleet?.progress.summaries() ?? {},
      counters: fleet?.progress.counters ?? {},
    }));
    stack.use(exposition);
    screen.write(`metrics: http://${options.metrics.host}:${exposition.port}/metrics\n`);
  }
  claimFolders([
    ...(options.dir === undefined ? [] : [['dir', options.dir] as const]),
    ['state', options.stateDir],
    ['out', out],
  ]);
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

  const running = new Fleet({
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
      const number = Math.min(running.phases.length, scenario.phases.length - 1);
      const left = scenario.phases.slice(number).reduce((sum, phase) => sum + scheduleMs(phase), 0);
      const { counters } = running.progress;
      view.show({
        title: scenario.name,
        tick,
        phase: { number: number + 1, of: scenario.phases.length, name: scenario.phases[number]?.do ?? '' },
        elapsedMs: running.elapsedMs,
        remainingMs: Math.max(0, left - running.phaseElapsedMs),
        errors: Object.entries(counters).reduce(
          (sum, [name, count]) => sum + (name.endsWith('.errors') ? count : 0),
          0,
        ),
        violations: running.violations.length,
        trouble: running.progress.trouble,
      });
    },
  });
  fleet = running;
  void died?.then((how) => running.incomplete.push(how));
  const stop = (): Promise<void> => running.stop(signal.aborted ? 'abandon' : 'orderly');
  stack.defer(stop);
  if (shard !== undefined) stack.defer(signOfLife(out, shard, running));
  const interrupted = await interruptible(signal, running, async () => {
    const warnings: string[] = [];
    const hopeless = await running.tryOut(warnings);
    for (const warning of warnings) screen.write(`${warning}\n`);
    if (hopeless !== undefined) {
      running.incomplete.push(hopeless);
      return;
    }
    await running.prepare();
    view.end();
    for (const phase of scenario.phases) {
      const report = await running.run(phase);
      writeRows(rollouts, report.rollouts);
      // Nobody is left to carry out the rest.
      if (signal.aborted || running.notStarted === running.robots) return;
    }
    await running.finish();
  });
  view.end();
  const measured = interrupted ?? (await running.measured());
  const result = resultOf(options, running, measured, { startedAt, workers, interrupted: interrupted !== undefined });
  await stop();
  writeResult(out, result);
  writeWhole(out, REPORT_FILE, reportHtml(result));
  return result;
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

/** Rejects with PreflightError when the port can't be used. */
async function exposed(
  { port, host }: { port: number; host: string },
  { scenario, shard }: RunOptions,
  read: () => Shown,
): Promise<Exposition> {
  const labels = {
    scenario: scenario.name,
    ...(shard === undefined ? {} : { shard: `${shard.index}/${shard.count}` }),
  };
  try {
    return await expose({ port, host, labels, read });
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    const option = code === 'EADDRINUSE' || code === 'EACCES' ? '--metrics-port' : '--metrics-port, --metrics-host';
    throw new PreflightError(`${option}: cannot listen on ${host}:${port} (${code ?? message}); 0 takes any free port`);
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

const holders = (workers: number): string =>
  workers === 0 ? 'this process holds' : workers === 1 ? '1 worker here holds' : `${workers} workers here hold`;

const list = (capacity: Record<string, number>): string =>
  Object.entries(capacity)
    .map(([name, robots]) => `${Number.isFinite(robots) ? robots.toLocaleString('en') : 'any number of'} (${name})`)
    .join(', ');
