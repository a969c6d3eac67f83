import process from 'node:process';
import { setTimeout as sleep } from 'node:timers/promises';
import { defined } from '../../../harness/common/defined.ts';
import type { FleetConsole } from '../console/fleet-console.ts';
import { CostSampler, type RunProcess } from '../measure/costs.ts';
import { PlatformFailure } from '../platform/client.ts';
import { startEmbeddedPlatform } from '../processes/embedded-platform.ts';
import { NoWorkerLeft } from '../processes/workers.ts';
import { type LiveState, LiveView } from '../report/live.ts';
import type { FleetResult, Tick } from '../result/result.ts';
import { READY } from '../result/shards.ts';
import { evaluatedThresholds } from '../result/thresholds.ts';
import { membersOf, scheduleMs } from '../schedule/schedule.ts';
import { ByHand } from './by-hand.ts';
import {
  baseDirFor,
  capacityLine,
  isInMemory,
  machineLimits,
  memoryLine,
  preflight,
  robotCost,
  sensibleWorkers,
} from './capacity.ts';
import { closedGate, EarlyEnd, judgedAlone } from './early-end.ts';
import { PreflightError } from './errors.ts';
import { type AnswerJudge, Fleet, type RunOptions } from './fleet.ts';
import { Outputs, type RunFacts, resultOf } from './outputs.ts';
import { createFolders, lockFolders, publishFigures, surveyed } from './ready.ts';
import { FleetRecord, type Measured } from './record.ts';
import { claimShard, othersReady, StartTimeout } from './shards.ts';
import { Soak } from './soak.ts';

function liveState({ record, options: { judge } }: Fleet, options: RunOptions, tick: Tick, soak?: Soak): LiveState {
  const { scenario } = options;
  const number = Math.min(record.place, scenario.phases.length - 1);
  const left = scenario.phases.slice(record.place).reduce((sum, phase) => sum + scheduleMs(phase), 0);
  return {
    title: scenario.name,
    tick,
    phase: { number: number + 1, of: scenario.phases.length, name: scenario.phases[number]?.do ?? '' },
    elapsedMs: record.elapsedMs,
    remainingMs: soak?.leftMs ?? Math.max(0, left - record.phaseElapsedMs),
    errors: record.progress.errors,
    violations: record.violations.length,
    judged: judge?.judged,
    thresholds: evaluatedThresholds(options, record.standing),
    trouble: record.progress.trouble,
  };
}

export { PreflightError, UnreachableError } from './errors.ts';
export type { RunOptions } from './fleet.ts';

interface Run extends Pick<RunFacts, 'startedAt' | 'workers' | 'notes'> {
  options: RunOptions;
  fleet: Fleet;
  outputs: Outputs;
  view: LiveView;
  byHand: ByHand;
  costs: CostSampler;
  soak: Soak | undefined;
  judge: AnswerJudge | undefined;
}

function resultSoFar(run: Run, measured: Measured, how: Pick<RunFacts, 'goesOn' | 'interrupted'>): FleetResult {
  const { options, fleet, outputs, costs, soak, judge, notes, ...facts } = run;
  const all = [...notes, ...outputs.notes, ...(soak?.notes ?? [])];
  const told = { notes: all, costs: costs.costs, soak: soak?.told, judged: judge?.judged };
  return resultOf(options, fleet, measured, { ...facts, ...how, ...told });
}

/**
 * Runs a scenario and writes the result to `out`; an interrupt makes the result incomplete. Rejects with
 * PreflightError, UnreachableError, OutputError, or the signal's reason.
 */
export async function runFleet(given: RunOptions): Promise<FleetResult> {
  const end = new EarlyEnd(given);
  const options = { ...given, signal: end.signal };
  const { signal, screen } = options;
  const view = new LiveView(screen, process.env);
  const { workers, dir } = checkMachine(options);
  await using stack = new AsyncDisposableStack();
  stack.defer(() => view.end());
  let record = Object.assign(new FleetRecord(), { phase: 'starting' });
  const costs = stack.use(new CostSampler());
  const shown = options.ui && (await openConsole(options, () => end.now('by hand, on its page', record)));
  await publishFigures(options, stack, () => ({ record, costs: costs.costs }));
  createFolders(options);
  lockFolders(options, stack);
  const claimed = options.identity && options.shard ? claimShard(options.out, options.shard, options.identity) : [];
  const soak = options.soak && new Soak({ ...options, soak: options.soak });
  const startedAt = new Date().toISOString();
  const outputs = stack.use(new Outputs(options.out));
  const { address, pid: platformPid, died, survey } = await openPlatform(options, stack);
  signal.throwIfAborted();
  const judge = options.judging && address && stack.use(options.judging(address));
  const fleet = new Fleet({
    ...options,
    platform: address,
    workers,
    dir,
    onKeys: (done, of) => {
      view.progress(`${options.keyBits}-bit keys`, done, of);
      shown?.keys(done, of);
    },
    onSecond: (tick) => {
      const state = liveState(fleet, options, tick, soak);
      end.look(record);
      soak?.look(async () => resultSoFar(run, await fleet.measured(), { goesOn: true }));
      view.show(state);
      shown?.second(tick, state.remainingMs);
    },
    ...defined({ offer: survey?.offer, onStates: shown?.states, judge }),
  });
  record = fleet.record;
  end.look(record);
  if (soak !== undefined) record.progress.limit();
  const platform: RunProcess[] = platformPid === undefined ? [] : [{ pid: platformPid, role: 'platform' }];
  costs.start({ processes: () => [...fleet.processes, ...platform], online: () => fleet.online }, signal);
  const byHand = new ByHand(fleet, ({ rollouts }) => outputs.addRollouts(rollouts));
  const notes = [...claimed, ...(survey?.notes ?? [])];
  const run: Run = { options, fleet, outputs, view, byHand, costs, soak, judge, startedAt, workers, notes };
  const stop = (): Promise<void> => fleet.stop(signal.aborted ? 'abandon' : 'orderly');
  stack.defer(stop);
  await shown?.serve(fleet, byHand, stack);
  signal.throwIfAborted();
  void died?.then((how) => record.incomplete.push(how));
  const measured = await interruptible(run);
  const interrupted = given.signal.aborted && measured !== undefined;
  view.end();
  const result = await resultAtEnd(run, measured, interrupted);
  options.onResult?.(result);
  shown?.end(result);
  // Stops the robots before writing the result, because their files may fill the disk.
  await stop().finally(() => outputs.finish(result));
  await soak?.end();
  return result;
}

async function resultAtEnd(run: Run, measured: Measured | undefined, interrupted: boolean): Promise<FleetResult> {
  const { fleet, outputs, soak, judge } = run;
  const { record } = fleet;
  const cut = record.phases.filter((phase) => phase.interrupted === true);
  for (const { rollouts } of cut) outputs.addRollouts(rollouts.filter(({ total_ms }) => total_ms !== null));
  // Writes missed roll-outs last, because their events may still arrive until then; a soak has written earlier ones.
  outputs.addRollouts(record.missedRows(soak === undefined ? record.phases : cut));
  if (measured === undefined) await judge?.settle();
  record.incomplete.push(...(judge?.faults ?? []));
  return resultSoFar(run, measured ?? (await fleet.measured()), { interrupted });
}

async function openConsole(options: RunOptions, onEnd: () => void): Promise<FleetConsole> {
  const { FleetConsole } = await import('../console/fleet-console.ts');
  return new FleetConsole({ ...options, onEnd, onServed: (url) => void options.screen.write(`ui: ${url}\n`) });
}

function checkMachine(options: RunOptions) {
  const { scenario, robots, shard, dir, workers: wanted, platform, screen, force } = options;
  const members = membersOf(robots, shard).length;
  const cost = robotCost(scenario);
  const base = baseDirFor(members * cost.memoryDiskBytes, dir);
  const limits = machineLimits(base);
  const workers = Math.min(wanted ?? sensibleWorkers(members, cost, limits), members);
  const processes = { workers, platform: platform === 'embedded', filesInMemory: isInMemory(base) };
  const checked = preflight(members, processes, cost, limits);
  screen.write(`${capacityLine(checked, workers, members)}\n${memoryLine(members, cost, processes)}\n`);
  if (checked.problems.length > 0 && force !== true)
    throw new PreflightError([...checked.problems, '--force starts anyway'].join('\n'));
  return { workers, dir: base };
}

async function openPlatform(options: RunOptions, stack: AsyncDisposableStack) {
  const { platform, scenario, robots, seed, signal } = options;
  if (platform === undefined) return {};
  if (platform !== 'embedded') return { address: platform, survey: await surveyed(options, platform) };
  const embedded = await startEmbeddedPlatform(seed, scenario.uplink === 'calls' ? robots : 0);
  stack.defer(() => embedded.stop());
  signal.addEventListener('abort', () => void embedded.stop(), { once: true });
  signal.throwIfAborted();
  const { address, pid, died } = embedded;
  return { address, pid, died, survey: await surveyed(options, address) };
}

async function carryOut({ options, fleet, outputs, view, byHand, costs, soak, judge }: Run): Promise<void> {
  const { screen, signal, shard } = options;
  if (options.keep === true) screen.write(`files of robots: ${fleet.dir}\n`);
  if (shard !== undefined) outputs.signOfLife(shard, () => fleet.record.phase);
  await judge?.ready;
  const warnings: string[] = [];
  const failure = await fleet.runCanary(warnings);
  for (const warning of warnings) screen.write(`${warning}\n`);
  if (failure !== undefined) return void fleet.record.incomplete.push(failure);
  await fleet.prepare();
  if (signal.aborted) return;
  view.end();
  await beginTogether(options, fleet, outputs);
  const once = options.scenario.phases.map((phase, index) => ({ phase, index, round: 0 }));
  for (const { phase, ...turn } of soak?.turns() ?? once) {
    // Ignores a pause until the robots run, so that the page has robots to show.
    if (phase.do !== 'ramp') await byHand.whenGoing(signal);
    const carried = () => (phase.do === 'ramp' ? costs.ramp(() => fleet.run(phase, turn)) : fleet.run(phase, turn));
    const report = await (soak?.patiently(carried) ?? carried());
    // Ends after an interrupt, which has put another report of the phase into the record.
    if (!fleet.record.phases.includes(report)) return;
    // Writes missed roll-outs of a soak now, because the record keeps only the last pass.
    outputs.addRollouts(
      soak === undefined ? report.rollouts.filter(({ total_ms }) => total_ms !== null) : report.rollouts,
    );
    const nobodyLeft = fleet.record.notStarted === fleet.robots;
    if (signal.aborted || nobodyLeft) return;
    const closed = phase.gate === undefined ? undefined : closedGate(phase, turn.index, await fleet.measured());
    if (closed !== undefined) {
      fleet.record.incomplete.push(closed.why);
      fleet.record.endedBy = closed.endedBy;
      return;
    }
  }
  await byHand.whenGoing(signal);
  await byHand.end();
  await fleet.finish();
  await costs.look();
  costs.end();
}

async function beginTogether(options: RunOptions, { record }: Fleet, outputs: Outputs): Promise<void> {
  const { shard, identity, out, screen, signal } = options;
  const alone = judgedAlone(options);
  if (alone !== undefined) screen.write(`${alone}\n`);
  if (shard !== undefined && identity !== undefined) {
    record.phase = READY;
    outputs.sign();
    screen.write(`ready: shard ${shard.index}/${shard.count} of run ${identity.runId} waits for the others\n`);
    await othersReady(out, shard, identity.startWithinMs, signal);
  }
  record.phasesAt ??= new Date().toISOString();
  record.phasesBeginMs ??= record.elapsedMs;
}

/**
 * Carries out the run; an interrupt resolves with the measurements so far. Failures of platform, workers or shards make
 * the run incomplete, and do not reject.
 */
async function interruptible(run: Run): Promise<Measured | undefined> {
  const { fleet, options } = run;
  const { signal } = options;
  const { promise, resolve, reject } = Promise.withResolvers<Measured | undefined>();
  const onAbort = (): void => {
    const soFar = fleet.interrupted().then(() => fleet.measured());
    const answered = soFar.catch(() => undefined);
    Promise.race([answered, sleep(1000, undefined, { ref: false })])
      .then(async (measured = fleet.record.measured()) => {
        await fleet.stop('abandon');
        resolve(measured);
      })
      .catch(reject);
  };
  signal.addEventListener('abort', onAbort, { once: true });
  const { record } = fleet;
  carryOut(run)
    .catch((error: unknown) => {
      if (error instanceof StartTimeout) record.incomplete.push(error.message);
      else if (error instanceof PlatformFailure)
        record.incomplete.push(`the phase ${record.phase} could not begin: ${error.message}`);
      else if (!(error instanceof NoWorkerLeft)) throw error;
    })
    .then(
      () => (signal.aborted ? undefined : resolve(undefined)),
      (error: unknown) => (signal.aborted ? undefined : reject(error)),
    );
  return await promise.finally(() => signal.removeEventListener('abort', onAbort));
}
