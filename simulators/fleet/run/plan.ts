/** Options of a fleet, and of its run of a scenario. */

import type { Output } from '../../../harness/common/terminal.ts';
import type { HostConfig, StateChanges } from '../host/host.ts';
import type { AnswersTold } from '../platform/answers.ts';
import type { PlatformAddress } from '../platform/client.ts';
import type { Judged } from '../result/judged.ts';
import type { FleetResult, Tick } from '../result/result.ts';
import type { Shard } from '../schedule/schedule.ts';

type OfHosts = Pick<
  HostConfig,
  'robots' | 'scenario' | 'seed' | 'connections' | 'keyBits' | 'stateDir' | 'keep' | 'defects'
>;

/** Judges answers of a platform. The caller supplies it, because a fleet knows no requirement. */
export interface AnswerJudge extends AsyncDisposable {
  readonly ready: Promise<void>;
  take(told: AnswersTold): void;
  readonly judged: Judged;
  /** Reasons of incomplete judging, a sentence each, which make the run incomplete. */
  readonly faults: readonly string[];
  /** Resolves when all accepted answers are judged. */
  settle(): Promise<void>;
}

interface CommonOptions extends OfHosts {
  shard?: Shard;
  /** Folder for the robots' files during the run. Default: in memory (`/dev/shm`) if it has room, else `tmpdir()`. */
  dir?: string;
  namePrefix?: string;
  /** Silence after which a worker is lost, milliseconds. Default 60 000. */
  silentMs?: number;
  /** Milliseconds for a call that prepares a phase, with all its attempts. Default 60 000. */
  setUpMs?: number;
}

export interface FleetOptions extends CommonOptions, Pick<HostConfig, 'platform' | 'offer' | 'trace'> {
  /** Worker processes; 0: everything in this process. */
  workers: number;
  onKeys?(done: number, of: number): void;
  onSecond?(tick: Tick): void;
  onStates?(changes: StateChanges): void;
  judge?: AnswerJudge;
}

export interface RunIdentity {
  /** The same for all shards of a run, and for no other run. */
  runId: string;
  /** Starter of this shard, e.g. the uid of a Kubernetes Job: the same one may start a shard again. */
  jobId?: string;
  /** Milliseconds to wait for the other shards before the first phase. */
  startWithinMs: number;
}

export interface SoakOptions {
  /** Milliseconds from the first phase until no further phase begins. */
  forMs: number;
  everyMs: number;
}

export interface RunOptions extends CommonOptions {
  /** Set for shards that wait for each other on a shared disk. */
  identity?: RunIdentity;
  platform: PlatformAddress | 'embedded' | undefined;
  /** Device ids for robots of `polling` or `calls`. Default: devices listed by the platform. */
  devices?: readonly string[];
  workers?: number;
  out: string;
  thresholds: readonly string[];
  abortOn?: readonly string[];
  /** Address for Prometheus metrics. Default: none. */
  metrics?: { port: number; host: string };
  /** Port of the console; 0 picks a free one. Default: no console. */
  ui?: { port: number };
  /** Creates the judge of this platform's answers. Default: none. */
  judging?: (platform: PlatformAddress) => AnswerJudge;
  force?: boolean;
  soak?: SoakOptions;
  screen: Output;
  version: string;
  /** Called with the result before any file is written, so that a full disk cannot lose it. */
  onResult?(result: FleetResult): void;
  signal: AbortSignal;
}
