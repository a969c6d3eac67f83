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

/** Judge of the platform's answers; the caller passes it in, because a fleet knows no requirements. */
export interface AnswerJudge extends AsyncDisposable {
  readonly ready: Promise<void>;
  take(told: AnswersTold): void;
  readonly judged: Judged;
  readonly faults: readonly string[];
  settle(): Promise<void>;
}

interface CommonOptions extends OfHosts {
  shard?: Shard;
  /** Folder for the robots' files. Default: `/dev/shm` if the files fit, else `tmpdir()`. */
  dir?: string;
  namePrefix?: string;
  /** Milliseconds of silence after which a worker is lost. Default 60 000. */
  silentMs?: number;
  /** Maximum milliseconds for a set-up call with all its attempts. Default 60 000. */
  setUpMs?: number;
}

export interface FleetOptions extends CommonOptions, Pick<HostConfig, 'platform' | 'offer' | 'trace'> {
  workers: number;
  onKeys?(done: number, of: number): void;
  onSecond?(tick: Tick): void;
  onStates?(changes: StateChanges): void;
  judge?: AnswerJudge;
}

export interface RunIdentity {
  /** Unique for each run; all shards of a run have the same id. */
  runId: string;
  /** Job of this shard, e.g. the uid of a Kubernetes Job; only the same job may repeat the shard. */
  jobId?: string;
  startWithinMs: number;
}

export interface SoakOptions {
  /** Milliseconds after the ramps in which repeated phases may start. */
  forMs: number;
  everyMs: number;
}

export interface RunOptions extends CommonOptions {
  identity?: RunIdentity;
  platform: PlatformAddress | 'embedded' | undefined;
  /** Device ids of robots with the uplinks `polling` and `calls`. Default: devices listed by the platform. */
  devices?: readonly string[];
  workers?: number;
  out: string;
  thresholds: readonly string[];
  abortOn?: readonly string[];
  metrics?: { port: number; host: string };
  ui?: { port: number };
  judging?: (platform: PlatformAddress) => AnswerJudge;
  force?: boolean;
  soak?: SoakOptions;
  screen: Output;
  version: string;
  /** Called before any file is written, so that a full disk cannot lose the result. */
  onResult?(result: FleetResult): void;
  signal: AbortSignal;
}
