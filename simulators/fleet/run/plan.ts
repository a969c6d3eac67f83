/** Options of a fleet, and of a run of a scenario by one. */

import type { Send } from '../../../harness/common/otlp.ts';
import type { Output } from '../../../harness/common/terminal.ts';
import type { HostConfig, StateChanges } from '../host/host.ts';
import type { AnswersTold } from '../platform/answers.ts';
import type { PlatformAddress } from '../platform/client.ts';
import type { OwnDevice } from '../platform/survey.ts';
import type { Judged } from '../result/judged.ts';
import type { FleetResult, Tick, Violation } from '../result/result.ts';
import type { Shard } from '../schedule/schedule.ts';

type OfHosts = Pick<
  HostConfig,
  'robots' | 'scenario' | 'seed' | 'connections' | 'source' | 'traced' | 'keyBits' | 'stateDir' | 'keep' | 'defects'
>;

/** Judges answers of a platform. Whoever starts a run brings one: a fleet knows no requirement. */
export interface AnswerJudge extends AsyncDisposable {
  /** Resolves when it can judge, or never will. */
  readonly ready: Promise<void>;
  take(told: AnswersTold): void;
  /** What it can take, bytes a second, by what it took of a processor so far. */
  bytesPerSecond(): number;
  /** What came of the answers so far. */
  readonly judged: Judged;
  /** Why it has not judged as it should, a sentence each: the run is incomplete. */
  readonly faults: readonly string[];
  /** Resolves when all that it took is judged. */
  settle(): Promise<void>;
}

/** What a fleet and a run of it have in common. */
interface CommonOptions extends OfHosts {
  /** The part of the fleet on this machine. Default: all of it. */
  shard?: Shard;
  /**
   * Folder for the robots' files while the fleet runs. Default: in memory (`/dev/shm`) when it has room, else
   * `tmpdir()`.
   */
  dir?: string;
  /** Default: `robot`. */
  namePrefix?: string;
  /** A worker that gives no sign of life for so many milliseconds is lost. Default 60 000. */
  silentMs?: number;
  /** Milliseconds for a call that prepares a phase, with all its attempts. Default: a minute. */
  setUpMs?: number;
}

export interface FleetOptions extends CommonOptions, Pick<HostConfig, 'platform' | 'offer' | 'trace'> {
  /** Worker processes; 0: everything in this process. */
  workers: number;
  onKeys?(done: number, of: number): void;
  onSecond?(tick: Tick): void;
  onViolation?(violation: Violation): void;
  /** Is told the states of single robots. */
  onStates?(changes: StateChanges): void;
  /** Judges a sample of the platform's answers. */
  judge?: AnswerJudge;
}

/** Of which run a shard is a part. */
export interface RunIdentity {
  /** The same for all shards of a run, and for no other run. */
  runId: string;
  /** What started this shard, e.g. the uid of a Kubernetes Job: with the same one, a shard may be started again. */
  jobId?: string;
  /** Milliseconds to wait for the other shards before the first phase. */
  startWithinMs: number;
}

/** Of a run that repeats its scenario. */
export interface SoakOptions {
  /** Milliseconds from the first phase until no further phase begins. */
  forMs: number;
  /** Milliseconds between two interim reports. */
  everyMs: number;
}

export interface RunOptions extends CommonOptions {
  /** Shards of one run on a shared disk. Default: this process knows of no others. */
  identity?: RunIdentity;
  platform: PlatformAddress | 'embedded' | undefined;
  /** Ids of devices that robots of `polling` or `calls` are. Default: those that the platform lists. */
  devices?: readonly string[];
  /** Tokens or keys of robots with the uplink `agent`, of robot 0 first. Default: the platform issues a token. */
  own?: readonly OwnDevice[];
  /** A line of a shell that prints the token of the robot in `MUSTER_ROBOT`, in place of them. */
  tokenCommand?: string;
  /** Default: a number that suits this machine. */
  workers?: number;
  /** Folder for `result.json`, `report.html` and `rollouts.jsonl`. */
  out: string;
  /** Thresholds beside those of the scenario. */
  thresholds: readonly string[];
  /** Conditions that end the run early, beside those of the scenario. */
  abortOn?: readonly string[];
  /** Where to serve Prometheus metrics. Default: nowhere. */
  metrics?: { port: number; host: string };
  /** Takes the figures every ten seconds, and traces of the roll-outs of `traced`. Default: nobody. */
  otlp?: Send;
  /** Where to serve the console; port 0: any free one. Default: nowhere. */
  ui?: { port: number };
  /** Makes the judge of what this platform answers under load. Default: nobody judges it. */
  judging?: (platform: PlatformAddress) => AnswerJudge;
  /** Starts although preflight says that the machine is too small. */
  force?: boolean;
  /** Repeats the scenario for so long. Default: it is carried out once. */
  soak?: SoakOptions;
  screen: Output;
  /** Version of Muster, for the result. */
  version: string;
  /** Called with the result before anything is written, since a full disk must not cost it. */
  onResult?(result: FleetResult): void;
  /** Interrupts the run. */
  signal: AbortSignal;
}
