import { rm } from 'node:fs/promises';
import { defined } from '../../harness/common/defined.ts';
import { ownedFolder } from '../../harness/common/owner.ts';
import type { FleetConsole, FleetPage } from './console/fleet-console.ts';
import { histogram, recordMs, type Summary, summary } from './measure/metrics.ts';
import type { PlatformAddress, ReleaseFixture } from './platform/client.ts';
import type { FleetResult, Violation } from './result/result.ts';
import { ByHand } from './run/by-hand.ts';
import { Fleet } from './run/fleet.ts';
import { resultOf } from './run/outputs.ts';
import type { Scenario, UplinkKind } from './scenario/scenario.ts';
import { failureText, type RolloutRow, type StopMode } from './worker/worker.ts';

/** Durations are texts such as `500ms`, `30s` or `5m`. */
export interface StartFleetOptions {
  robots: number;
  /** Platform that the robots connect to. Default: none. */
  platform?: PlatformAddress;
  /** Connection from robots to the platform. Default `agent`. */
  uplink?: Exclude<UplinkKind, 'calls'>;
  /** Number of worker processes. Default 0: all robots run in this process. */
  workers?: number;
  /** Seed of the random numbers. Default 1. */
  seed?: number;
  /** Bits of each robot's RSA key. Default 2048, because many platforms reject shorter keys. */
  keyBits?: number;
  /** Folder of the robots' keys, which later fleets can reuse. Default: a folder that `stop` removes. */
  stateDir?: string;
  /** Prefix of the robots' names, e.g. of `robot-000042`. Default `robot`. */
  namePrefix?: string;
  /** Clients that read each robot's event stream. Default 1. */
  subscribers?: number;
  /** Duration over which the robots start. Default: all start together. */
  over?: string;
  /** Web page that shows and controls the fleet until `stop`. Default: none. */
  ui?: FleetPage & { onServed(url: string): void };
  /** Cancels the start: the fleet stops, and `startFleet` rejects with the reason of the signal. */
  signal?: AbortSignal;
  onProgress?(progress: FleetProgress): void;
}

/** Progress of a start: number of robots (`done`) that have keys or are online, out of all robots (`of`). */
export interface FleetProgress {
  stage: 'keys' | 'online';
  done: number;
  of: number;
}

export interface RolloutOptions {
  /** Release to deploy. Default: a new release whose only config file is `content`. */
  release?: ReleaseFixture;
  /** JSON text of the config file in a new release. Default: an object with the version of the release. */
  content?: string;
  /** Percentage of the robots that get the release. Default `100%`. */
  share?: string;
  /** Duration over which deployments are posted. Default: all together. */
  over?: string;
  /** Maximum duration from the POST until a client on the robot has read the deployment's event. Default `60s`. */
  within?: string;
}

export interface RolloutResult {
  /** Milliseconds from each POST until a client on the robot has read the deployment's event, in ascending order. */
  latencies: number[];
  summary: Summary;
  missed: string[];
  rows: RolloutRow[];
}

export interface RunningFleet extends AsyncDisposable {
  readonly robots: number;
  /** Path of a robot's Unix socket. Throws RangeError for an unknown robot. */
  robotSocket(index: number): string;
  robotName(index: number): string;
  /** Deploys a release to robots; waits while a user of the page has paused the fleet. */
  rollout(options?: RolloutOptions): Promise<RolloutResult>;
  /**
   * Waits until the robots' clients have read all events, for ten minutes at most, and for 5 s at most without a
   * further event; resolves with the first 100 stream faults.
   */
  verify(): Promise<Violation[]>;
  measured: Fleet['measured'];
  /** Returns the result so far, as in `result.json` of `muster fleet`. `version`: version of Muster. */
  result(version: string): Promise<FleetResult>;
  /** Ends the robots and removes their files. Idempotent. */
  stop(how?: StopMode): Promise<void>;
}

/**
 * Resolves when every robot is online. Rejects, and removes everything, if the platform refuses a robot or a robot
 * needs more than two minutes.
 *
 *     const fleet = await startFleet({ robots: 200, platform });
 *     const { latencies, missed } = await fleet.rollout({ content: '{"max_speed":2}' });
 *     await fleet.stop();
 */
export async function startFleet(options: StartFleetOptions): Promise<RunningFleet> {
  const { robots, onProgress, signal } = options;
  const startedAt = new Date().toISOString();
  await using all = new AsyncDisposableStack();
  const stateDir = options.stateDir ?? all.adopt(ownedFolder('keys'), (at) => rm(at, { recursive: true, force: true }));
  const { platform, uplink = 'agent', subscribers = 1, over = '0s' } = options;
  const own = platform === undefined ? 'none' : uplink;
  const scenario: Scenario = { name: 'fleet', uplink: own, subscribers, phases: [{ do: 'ramp', over }] };
  const shown = await openConsole(options, scenario);
  const fleet = newFleet(options, scenario, stateDir, shown);
  const byHand = new ByHand(fleet, () => {});
  const page = all.move();
  const stopping = new AbortController();
  let result: FleetResult | undefined;
  const stop = async (how?: StopMode): Promise<void> => {
    stopping.abort(new Error('the fleet was stopped'));
    await using _ = page;
    await fleet.stop(how);
    if (result !== undefined) shown?.end(result);
  };
  const onAbort = (): void => void fleet.stop('abandon').catch(() => {});
  signal?.addEventListener('abort', onAbort, { once: true });
  try {
    await shown?.serve(fleet, byHand, page);
    signal?.throwIfAborted();
    await bringUp(fleet, options);
    onProgress?.({ stage: 'online', done: robots, of: robots });
  } catch (error) {
    await stop('abandon');
    signal?.throwIfAborted();
    throw error;
  } finally {
    signal?.removeEventListener('abort', onAbort);
  }
  return {
    robots,
    robotSocket: (index) => fleet.robotSocket(index),
    robotName: (index) => fleet.robotName(index),
    measured: () => fleet.measured(),
    result: async (version) => {
      const thresholds = fleet.record.phases.some(({ do: name }) => name === 'rollout') ? [NONE_MISSED] : [];
      const facts = { startedAt, workers: Math.max(fleet.options.workers, 1), notes: [] };
      result = resultOf({ ...fleet.options, thresholds, version }, fleet, await fleet.measured(), facts);
      return result;
    },
    rollout: async (wanted) => {
      await byHand.whenGoing(stopping.signal);
      stopping.signal.throwIfAborted();
      return rollOut(fleet, wanted);
    },
    verify: async () => {
      await byHand.end();
      await fleet.finish();
      return fleet.record.violations;
    },
    stop,
    [Symbol.asyncDispose]: () => stop(),
  };
}

async function bringUp(fleet: Fleet, { robots, over = '0s', signal }: StartFleetOptions): Promise<void> {
  await fleet.prepare();
  signal?.throwIfAborted();
  await fleet.run({ do: 'ramp', over });
  signal?.throwIfAborted();
  const { notStarted, failures } = fleet.record;
  const [why] = failures.map((failure) => `: ${failureText(failure)}`);
  if (notStarted > 0) throw new Error(`${notStarted} of ${robots} robots did not come online${why ?? ''}`);
}

async function openConsole({ ui, robots, namePrefix }: StartFleetOptions, scenario: Scenario) {
  if (ui === undefined) return undefined;
  const { FleetConsole } = await import('./console/fleet-console.ts');
  const thresholds = scenario.uplink === 'none' ? [] : [NONE_MISSED];
  return new FleetConsole(defined({ scenario, robots, thresholds, ui, onServed: ui.onServed, namePrefix }));
}

function newFleet(options: StartFleetOptions, scenario: Scenario, stateDir: string, shown?: FleetConsole): Fleet {
  const { robots, platform, seed = 1, workers = 0, keyBits = 2048, onProgress, namePrefix } = options;
  return new Fleet({
    robots,
    platform,
    seed,
    workers,
    keyBits,
    stateDir,
    scenario,
    ...defined({ namePrefix, onStates: shown?.states }),
    onKeys: (done, total) => {
      onProgress?.({ stage: 'keys', done, of: total });
      shown?.keys(done, total);
    },
    onSecond: (tick) => {
      onProgress?.({ stage: 'online', done: tick.robots['online'] ?? 0, of: robots });
      shown?.second(tick, null);
    },
  });
}

const NONE_MISSED = 'rollout.missed.count==0';

async function rollOut(fleet: Fleet, options: RolloutOptions = {}): Promise<RolloutResult> {
  const { content, share, over = '0s', within } = options;
  const release = options.release ?? (await fleet.createRelease('roll-out', content));
  const { rollouts, missed } = await fleet.run(defined({ do: 'rollout' as const, over, share, within }), { release });
  const latencies = rollouts.flatMap(({ total_ms }) => (total_ms === null ? [] : [total_ms])).sort((a, b) => a - b);
  const all = histogram();
  for (const ms of latencies) recordMs(all, ms);
  return { latencies, summary: summary(all), missed, rows: rollouts };
}

export type { PlatformAddress } from './platform/client.ts';
