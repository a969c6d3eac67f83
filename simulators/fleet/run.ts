/** One run of a scenario from preflight to result: what `muster fleet` does. */
import { closeSync, mkdirSync, openSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { expose } from '../../harness/load/exposition.ts';
import { LiveView, type Screen } from '../../harness/load/live.ts';
import { machineLimits, preflight, sensibleWorkers } from '../../harness/load/preflight.ts';
import { reportHtml } from '../../harness/load/report.ts';
import type { FleetResult, Tick } from '../../harness/load/result.ts';
import type { Scenario } from '../../harness/load/scenario.ts';
import { writeAlive, writeResult, writeWhole } from '../../harness/load/shards.ts';
import { evaluate, parseThreshold } from '../../harness/load/thresholds.ts';
import { robotCost } from './cost.ts';
import { startEmbeddedPlatform } from './embedded-platform.ts';
import { Fleet } from './fleet.ts';
import type { PlatformAddress, RolloutRow } from './host.ts';
import { roomFor } from './place.ts';
import { membersOf, scheduleMs } from './plan.ts';

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
  metrics?: { port: number; host: string };
  /** Goes on although preflight says that the machine is too small. */
  force?: boolean;
  screen: Screen;
  version: string;
  signal: AbortSignal;
}

/** The machine can't hold the fleet; the message says what to change. */
export class PreflightError extends Error {
  override name = 'PreflightError';
}

/** Robots for which one core is enough, with pings and roll-outs at everyday rates. */
const ROBOTS_A_CORE = 2000;
const LAST_WORDS_MS = 1000;

/** Resolves with the result, which is then on disk as well; an interrupted run is incomplete. Rejects when it could not begin. */
export async function runFleet(options: RunOptions): Promise<FleetResult> {
  const { scenario, robots, shard, signal, screen, out } = options;
  const view = new LiveView(screen);
  const members = membersOf(robots, shard ?? { index: 1, count: 1 }).length;
  const cost = robotCost(scenario);
  const base = roomFor(members * cost.diskBytes, options.dir);
  const limits = machineLimits(base);
  const workers = options.workers ?? sensibleWorkers(members, cost, limits, ROBOTS_A_CORE);
  const { capacity, problems } = preflight(members, workers, cost, limits);
  screen.write(
    `preflight: ${workers} workers here hold ${list(capacity)} robots; ${members.toLocaleString('en')} are wanted\n`,
  );
  if (problems.length > 0 && options.force !== true) throw new PreflightError(problems.join('\n'));

  const startedAt = new Date().toISOString();
  await using stack = new AsyncDisposableStack();
  mkdirSync(out, { recursive: true });
  const rollouts = openSync(join(out, 'rollouts.jsonl'), 'w');
  stack.defer(() => closeSync(rollouts));
  let address: PlatformAddress | undefined;
  if (options.platform === 'embedded') {
    const embedded = await startEmbeddedPlatform(options.seed);
    stack.defer(() => embedded.stop());
    signal.addEventListener('abort', () => void embedded.stop(), { once: true });
    void embedded.died.then((how) => fleet.incomplete.push(how));
    address = embedded.address;
  } else {
    address = options.platform;
  }
  signal.throwIfAborted();

  let beat = 0;
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
    onKeys: (done, of) => view.progress(`${options.keyBits}-bit keys`, done, of),
    onSecond: (tick) => {
      lastTick = tick;
      beat += 1;
      if (shard !== undefined) writeAlive(out, { shard, beat, phase: tick.phase });
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
  const stop = (how: 'orderly' | 'abandon'): Promise<void> => fleet.stop(how);
  stack.defer(() => stop(signal.aborted ? 'abandon' : 'orderly'));
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
      if (signal.aborted) return;
    }
    await fleet.finish();
  });
  view.end();
  const measured = interrupted ?? (await fleet.measured());
  const result = resultOf(options, fleet, measured, { startedAt, workers, interrupted: interrupted !== undefined });
  await stop(signal.aborted ? 'abandon' : 'orderly');
  writeResult(out, result);
  writeWhole(out, 'report.html', reportHtml(result));
  return result;
}

/** Runs `work`; on an interrupt asks for what was measured so far, ends everything at once, and resolves with it. */
async function interruptible(
  signal: AbortSignal,
  fleet: Fleet,
  work: () => Promise<void>,
): Promise<Awaited<ReturnType<Fleet['measured']>> | undefined> {
  const { promise, resolve, reject } = Promise.withResolvers<Awaited<ReturnType<Fleet['measured']>> | undefined>();
  const onAbort = (): void => {
    const late = new Promise<never>((_, give) => setTimeout(give, LAST_WORDS_MS, new Error('no answer in time')));
    Promise.race([fleet.measured(), late])
      .catch(() => fleet.measuredNothing())
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

function resultOf(
  options: RunOptions,
  fleet: Fleet,
  measured: Awaited<ReturnType<Fleet['measured']>>,
  { startedAt, workers, interrupted }: { startedAt: string; workers: number; interrupted: boolean },
): FleetResult {
  const { scenario } = options;
  const incomplete = [...fleet.incomplete, ...(interrupted ? ['the run was interrupted'] : [])];
  const notes = fleet.errors.map((error) => `failed: ${error}`);
  const uplink = scenario.uplink ?? 'agent';
  if (options.platform === 'embedded') {
    notes.push(
      "The platform is Muster's own and shared this machine with the fleet: latencies include what that costs.",
    );
  }
  if (uplink === 'agent' && options.keyBits < 2048) {
    notes.push(
      `Robots used ${options.keyBits}-bit keys, which a real platform refuses: signing was cheaper than it is there.`,
    );
  }
  return {
    muster: options.version,
    scenario: scenario.name,
    started_at: startedAt,
    duration_ms: Math.round(fleet.elapsedMs),
    robots: fleet.robots,
    fleet_robots: options.robots,
    workers,
    seed: options.seed,
    shard: options.shard ?? null,
    uplink,
    key_bits: options.keyBits,
    platform: typeof options.platform === 'object' ? options.platform.url : (options.platform ?? 'none'),
    complete: incomplete.length === 0,
    incomplete_reasons: incomplete,
    start_ms: fleet.startMs,
    rss_bytes_per_robot: Math.round(fleet.rssBytesPerRobot),
    ...measured,
    thresholds: thresholdsOf(options).map((expr) =>
      evaluate(parseThreshold(expr), {
        metrics: measured.metrics,
        counters: measured.counters,
        measuredSeconds: measured.measured_seconds,
      }),
    ),
    violations: fleet.violations,
    missed: fleet.missed,
    phases: fleet.phases.map((phase) => ({
      do: phase.do,
      started_ms: Math.round(phase.startedMs),
      duration_ms: Math.round(phase.durationMs),
      measured: phase.measured,
      actions: phase.actions,
    })),
    series: fleet.progress.series,
    notes,
  };
}

/** A roll-out that does not arrive fails a run, unless the scenario says how many may be missed. */
function thresholdsOf({ scenario, thresholds }: RunOptions): string[] {
  const wanted = [...(scenario.thresholds ?? []), ...thresholds];
  const counts = scenario.phases.some((phase) => phase.do === 'rollout' && phase.measure !== false);
  if (counts && !wanted.some((expr) => parseThreshold(expr).metric === 'rollout.missed')) {
    wanted.push('rollout.missed.count==0');
  }
  return [...new Set(wanted.map((expr) => parseThreshold(expr).expr))];
}

function writeRows(file: number, rows: readonly RolloutRow[]): void {
  if (rows.length > 0) writeSync(file, `${rows.map((row) => JSON.stringify(row)).join('\n')}\n`);
}

const list = (capacity: Record<string, number>): string =>
  Object.entries(capacity)
    .map(([name, robots]) => `${Number.isFinite(robots) ? robots.toLocaleString('en') : 'any number of'} (${name})`)
    .join(', ');
