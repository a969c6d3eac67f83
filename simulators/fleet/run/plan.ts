/** Options of a fleet, and options of a run. */

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

/** Judge of the platform's answers, which the caller provides, because a fleet does not know the requirements. */
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
  /** Milliseconds without a message after which a worker counts as lost. Default 60,000. */
  silentMs?: number;
  /** Maximum number of milliseconds for a set-up request and its retries. Default 60,000. */
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
  /** Id of the run: unique, and the same for all shards of a run. */
  runId: string;
  /** Id of the job that runs the shard, e.g. of a Kubernetes Job; only the same job may repeat the shard. */
  jobId?: string;
  startWithinMs: number;
}

export interface SoakOptions {
  /** Milliseconds after the start of the robots, within which phases repeat. */
  forMs: number;
  everyMs: number;
}

export interface RunOptions extends CommonOptions {
  identity?: RunIdentity;
  platform: PlatformAddress | 'embedded' | undefined;
  /** Ids of devices for robots with the uplinks `polling` and `calls`. Default: devices that the platform lists. */
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
  /** Called with the result before any file is written, so that a full disk cannot lose the result. */
  onResult?(result: FleetResult): void;
  signal: AbortSignal;
}
