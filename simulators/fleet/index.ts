/**
 * A fleet of simulated robots, as a library:
 *
 *     const fleet = await startFleet({
 *       robots: 200,
 *       platform: { url, agentUrl, mqttUrl, apiKey },   // of simulatePlatform(), or a real one; left out: no uplink
 *       workers: 0,                                     // 0: in this process; else that many worker processes
 *       seed: 1,
 *       keyBits: 1024,                                  // default 2048; 1024 only where the platform takes it
 *       onProgress: ({ stage, done, of }) => {},        // stage: 'keys' | 'online'
 *     });
 *     const { latencies, missed, summary } = await fleet.rollout({ content: '{"max_speed":2}' });
 *     fleet.robotSocket(0);                             // Device API of robot 0
 *     await fleet.stop();
 *
 * `startFleet` resolves when every robot is online, and rejects (everything stopped and removed) when one is not after two
 * minutes. `latencies` are milliseconds from the POST on the platform to the event read by a client on the robot, ascending;
 * `missed` names robots that read none within `within` (default 60s). Nothing of a fleet is left after `stop`.
 */
import { mkdtempSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { PlatformAddress, RolloutRow } from './host/host.ts';
import type { Summary } from './measure/histograms.ts';
import { histogram, recordMs, summary } from './measure/histograms.ts';
import type { Rollable } from './platform/client.ts';
import type { Violation } from './result/result.ts';
import { Fleet } from './run/fleet.ts';
import type { UplinkKind } from './scenario/scenario.ts';

export interface StartFleetOptions {
  robots: number;
  platform?: PlatformAddress;
  /** Default `agent`. */
  uplink?: UplinkKind;
  workers?: number;
  seed?: number;
  keyBits?: number;
  /** Keys are kept here and used again; default: a folder that goes with the fleet. */
  stateDir?: string;
  /** Robots are called `<prefix>-000042`; default `robot`. */
  namePrefix?: string;
  /** Clients on each robot that read its event stream. Default 1. */
  subscribers?: number;
  /** The robots start spread over this time, e.g. `2s`. Default: all at once. */
  over?: string;
  /** Gives up starting: everything is stopped at once and `startFleet` rejects with the signal's reason. */
  signal?: AbortSignal;
  onProgress?(progress: FleetProgress): void;
  onViolation?(violation: Violation): void;
}

export interface FleetProgress {
  stage: 'keys' | 'online';
  done: number;
  of: number;
}

export interface RolloutOptions {
  /** What to roll out; default: a new release, with `content` as its only config file. */
  release?: Rollable;
  content?: string;
  /** Default `100%`. */
  share?: string;
  /** Spreads the POSTs; default: all at once. */
  over?: string;
  within?: string;
}

export interface RolloutResult {
  /** Milliseconds, ascending. */
  latencies: number[];
  summary: Summary;
  missed: string[];
  rows: RolloutRow[];
}

export interface RunningFleet extends AsyncDisposable {
  readonly robots: number;
  robotSocket(index: number): string;
  robotName(index: number): string;
  rollout(options?: RolloutOptions): Promise<RolloutResult>;
  /** Waits for subscribers to read what is left; resolves with every violation seen since the start. */
  verify(): Promise<Violation[]>;
  /** Durations and counters so far. */
  measured: Fleet['measured'];
  /** `abandon`: at once, as for an interrupt. Idempotent. */
  stop(how?: 'orderly' | 'abandon'): Promise<void>;
}

/** See the head of this file. */
export async function startFleet(options: StartFleetOptions): Promise<RunningFleet> {
  const { robots, platform, onProgress, onViolation, seed = 1, signal } = options;
  const own = options.stateDir === undefined ? mkdtempSync(join(tmpdir(), 'muster-keys-')) : undefined;
  const over = options.over ?? '0s';
  const fleet = new Fleet({
    robots,
    platform,
    seed,
    workers: options.workers ?? 0,
    keyBits: options.keyBits ?? 2048,
    stateDir: options.stateDir ?? own ?? '',
    scenario: {
      name: 'fleet',
      uplink: platform === undefined ? 'none' : (options.uplink ?? 'agent'),
      subscribers: options.subscribers ?? 1,
      phases: [{ do: 'ramp', over }],
    },
    ...(onViolation === undefined ? {} : { onViolation }),
    ...(options.namePrefix === undefined ? {} : { namePrefix: options.namePrefix }),
    onKeys: (done, of) => onProgress?.({ stage: 'keys', done, of }),
    onSecond: ({ robots: states }) => onProgress?.({ stage: 'online', done: states['online'] ?? 0, of: robots }),
  });
  const stop = async (how?: 'orderly' | 'abandon'): Promise<void> => {
    await fleet.stop(how);
    if (own !== undefined) await rm(own, { recursive: true, force: true });
  };
  const giveUp = (): void => void fleet.stop('abandon').catch(() => {});
  signal?.addEventListener('abort', giveUp, { once: true });
  try {
    signal?.throwIfAborted();
    await fleet.prepare();
    signal?.throwIfAborted();
    await fleet.run({ do: 'ramp', over });
    signal?.throwIfAborted();
    const { counters } = await fleet.snapshot();
    const failed = counters['start.errors'] ?? 0;
    if (failed > 0) throw new Error(`${failed} of ${robots} robots did not come online: ${fleet.errors[0] ?? ''}`);
    onProgress?.({ stage: 'online', done: robots, of: robots });
  } catch (error) {
    await stop('abandon');
    signal?.throwIfAborted();
    throw error;
  } finally {
    signal?.removeEventListener('abort', giveUp);
  }
  return {
    robots,
    robotSocket: (index) => fleet.robotSocket(index),
    robotName: (index) => fleet.robotName(index),
    measured: () => fleet.measured(),
    rollout: async ({ release, content, share, over: spread = '0s', within } = {}) => {
      const rollable = release ?? (await fleet.makeRollable('roll-out', content));
      const phase = {
        do: 'rollout' as const,
        over: spread,
        ...(share === undefined ? {} : { share }),
        ...(within === undefined ? {} : { within }),
      };
      const { rollouts, missed } = await fleet.run(phase, rollable);
      const latencies = rollouts.flatMap(({ total_ms }) => (total_ms === null ? [] : [total_ms])).sort((a, b) => a - b);
      const all = histogram();
      for (const ms of latencies) recordMs(all, ms);
      return { latencies, summary: summary(all), missed, rows: rollouts };
    },
    verify: async () => {
      await fleet.finish();
      return fleet.violations;
    },
    stop,
    [Symbol.asyncDispose]: () => stop(),
  };
}

export type { PlatformAddress, RolloutRow } from './host/host.ts';
export type { Rollable } from './platform/client.ts';
export { startEmbeddedPlatform } from './processes/embedded-platform.ts';
export { Fleet, type FleetOptions, type PhaseReport } from './run/fleet.ts';
