import { closeSync, ftruncateSync, openSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { defined } from '../../../harness/common/defined.ts';
import { whyNot } from '../../../harness/common/user-files.ts';
import { type RunCosts, thousands } from '../measure/costs.ts';
import { REPORT_FILE, reportHtml } from '../report/report.ts';
import { type FleetResult, type Judged, outcomeOf } from '../result/result.ts';
import {
  ALIVE_FILE,
  FAILED_FILE,
  ifWritable,
  OutputError,
  RESULT_FILE,
  writeAlive,
  writeFileIn,
  writeResult,
} from '../result/shards.ts';
import { evaluatedThresholds, measuredIn } from '../result/thresholds.ts';
import { uplinksIn } from '../scenario/scenario.ts';
import type { Shard } from '../schedule/schedule.ts';
import { type FailedAction, failureText, type RolloutRow } from '../worker/worker.ts';
import { UPLINK_CONNECTIONS } from './capacity.ts';
import { PreflightError } from './errors.ts';
import type { Fleet, RunOptions } from './fleet.ts';
import type { Measured } from './record.ts';

type FleetFacts = Pick<Fleet, 'robots' | 'record' | 'robotName'>;

export interface RunFacts {
  /** ISO 8601. */
  startedAt: string;
  workers: number;
  interrupted?: boolean;
  notes: readonly string[];
  costs?: RunCosts | undefined;
  judged?: Judged | undefined;
  soak?: FleetResult['soak'];
  goesOn?: boolean;
}

type ToldOptions = Pick<
  RunOptions,
  'scenario' | 'platform' | 'version' | 'robots' | 'seed' | 'shard' | 'identity' | 'keyBits' | 'thresholds' | 'defects'
>;

export function resultOf(options: ToldOptions, fleet: FleetFacts, measured: Measured, run: RunFacts): FleetResult {
  const { scenario, platform } = options;
  const { robots, record } = fleet;
  const whyNotStarted = record.notStarted > 0 ? record.failures.find(({ kind }) => kind === 'start') : undefined;
  const incomplete = incompleteReasons(fleet, run, whyNotStarted);
  const decisive = {
    shard: options.shard ?? null,
    complete: incomplete.length === 0,
    verdict: measured.verdict,
    violations: record.violations,
    answers: run.judged,
    ended_by: record.endedBy,
    thresholds: evaluatedThresholds(options, measuredIn(measured)),
  };
  const uplink = uplinksIn(scenario).join(' and ');
  return defined({
    outcome: outcomeOf({ ...measured, ...decisive, uplink }),
    muster: options.version,
    scenario: scenario.name,
    started_at: run.startedAt,
    run_id: options.identity?.runId,
    job_id: options.identity?.jobId,
    phases_at: record.phasesAt,
    phases_begin_ms: record.phasesBeginMs === undefined ? undefined : Math.round(record.phasesBeginMs),
    duration_ms: Math.round(record.elapsedMs),
    robots,
    fleet_robots: Math.max(options.robots, robots),
    workers: run.workers,
    seed: options.seed,
    uplink,
    key_bits: options.keyBits,
    platform: typeof platform === 'object' ? platform.url : (platform ?? 'none'),
    incomplete_reasons: incomplete,
    start_ms: record.startMs,
    rss_bytes_per_robot: Math.round(record.rssBytesPerRobot),
    costs: run.costs,
    ...measured,
    ...decisive,
    missed: record.missed,
    rollouts: record.rollouts,
    series: record.progress.series,
    soak: run.soak,
    notes: [
      ...record.failures.filter((each) => each !== whyNotStarted).map((each) => `failed: ${failureText(each)}`),
      ...notesOn(options, fleet, measured.counters),
      ...run.notes,
    ],
  });
}

function incompleteReasons({ robots, record }: FleetFacts, run: RunFacts, notStarted?: FailedAction): string[] {
  const reasons = [...record.incomplete];
  if (run.goesOn === true) reasons.push('the run goes on');
  if (run.interrupted === true) {
    const { trouble, latest } = record.progress;
    const online = latest?.robots['online'] ?? 0;
    reasons.push('the run was interrupted');
    if (trouble !== undefined)
      reasons.push(`${thousands(robots - online)} of ${thousands(robots)} robots were not online: ${trouble}`);
  }
  if (record.notStarted > 0) {
    const example = notStarted === undefined ? '' : `: ${notStarted.robot}: ${notStarted.message}`;
    reasons.push(`${thousands(record.notStarted)} of ${thousands(robots)} robots did not come online${example}`);
  }
  return reasons;
}

function notesOn(options: ToldOptions, fleet: FleetFacts, counters: Measured['counters']): string[] {
  const { platform, scenario, keyBits, defects = {} } = options;
  const { byHand, pauses, elapsedMs } = fleet.record;
  const seconds = (ms: number): string => `${(ms / 1000).toFixed(1)} s`;
  const crowded = (counters['uplink.crowded'] ?? 0) > 0;
  const shortKeys = uplinksIn(scenario).includes('agent') && keyBits < 2048;
  return [
    ...byHand.map(({ startedMs, note = '' }) => `By hand, after ${seconds(startedMs)}: ${note}.`),
    ...pauses.map(({ fromMs, untilMs = elapsedMs }) => {
      return `By hand, after ${seconds(fromMs)}: the scenario was paused until ${seconds(untilMs)}.`;
    }),
    crowded &&
      `Requests of robots waited for one of the ${UPLINK_CONNECTIONS} connections that the robots of a worker ` +
        'share (counter uplink.crowded), and the sync times include that.',
    platform === 'embedded' &&
      "The platform is Muster's own and runs on the same machine, with a lower priority than the robots: " +
        'latencies include its waits for a processor.',
    shortKeys &&
      `Robots used ${keyBits}-bit keys: signing cost less than with the 2048 bits that platforms usually ask for.`,
    ...Object.entries(defects).map(
      ([robot, defect]) => `${fleet.robotName(Number(robot))} has a planted defect: ${defect}.`,
    ),
  ].filter((note) => note !== false);
}

/** Writes all files that it can, then throws OutputError with the failures, if any. */
export function writeOutputs(out: string, result: FleetResult): void {
  const problems: string[] = [];
  const files = [() => writeResult(out, result), () => writeFileIn(out, REPORT_FILE, reportHtml(result))];
  for (const write of files) {
    try {
      write();
    } catch (error) {
      if (!(error instanceof OutputError)) throw error;
      problems.push(error.message);
    }
  }
  if (problems.length > 0) throw new OutputError(problems.join('; '));
}

const ROLLOUTS_FILE = 'rollouts.jsonl';
const OLDER_ROLLOUTS_FILE = 'rollouts.1.jsonl';

export class Outputs implements Disposable {
  readonly #out: string;
  #rollouts: number;
  #written = 0;
  #rowsProblem: string | undefined;
  #signing: NodeJS.Timeout | undefined;
  sign: () => void = () => {};

  /** Removes the result of an earlier run. Throws PreflightError for a folder that is not writable. */
  constructor(out: string) {
    this.#out = out;
    try {
      for (const name of [RESULT_FILE, REPORT_FILE, FAILED_FILE, OLDER_ROLLOUTS_FILE])
        rmSync(join(out, name), { force: true });
      this.#rollouts = openSync(join(out, ROLLOUTS_FILE), 'w');
    } catch (error) {
      throw new PreflightError(`--out: cannot write to ${out} (${whyNot(error)}); accepted: a writable folder`);
    }
  }

  signOfLife(shard: Shard, phase: () => string): void {
    let beat = 0;
    this.sign = () => {
      beat += 1;
      ifWritable(() => writeAlive(this.#out, { shard, beat, phase: phase() }));
    };
    this.sign();
    this.#signing = setInterval(this.sign, 2000);
  }

  /** After a failed write, drops all later rows, so that the run goes on. */
  addRollouts(rows: readonly RolloutRow[]): void {
    if (rows.length === 0 || this.#rowsProblem !== undefined) return;
    const text = Buffer.from(`${rows.map((row) => JSON.stringify(row)).join('\n')}\n`);
    try {
      // Bytes after which a new file begins: 64 MiB, some 200,000 rows.
      if (this.#written > 2 ** 26) {
        const file = join(this.#out, ROLLOUTS_FILE);
        renameSync(file, join(this.#out, OLDER_ROLLOUTS_FILE));
        const next = openSync(file, 'w');
        closeSync(this.#rollouts);
        this.#rollouts = next;
        this.#written = 0;
      }
      writeFileSync(this.#rollouts, text);
      this.#written += text.length;
    } catch (error) {
      this.#rowsProblem = whyNot(error);
      ftruncateSync(this.#rollouts, this.#written);
    }
  }

  get notes(): string[] {
    if (this.#rowsProblem === undefined) return [];
    return [`${join(this.#out, ROLLOUTS_FILE)} lacks rows: it could not be written (${this.#rowsProblem}).`];
  }

  finish(result: FleetResult): void {
    clearInterval(this.#signing);
    writeOutputs(this.#out, result);
  }

  [Symbol.dispose](): void {
    clearInterval(this.#signing);
    if (this.#signing !== undefined) rmSync(join(this.#out, ALIVE_FILE), { force: true });
    closeSync(this.#rollouts);
  }
}
