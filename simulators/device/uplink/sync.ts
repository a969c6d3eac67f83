/** One sync: brings the device to the state that the platform wants, and reports the result. */

import type { AgentConfigInstance, AgentDeployment, DeploymentReport } from '../../../harness/contract/agent.ts';
import { timestamp } from '../../common/clock.ts';
import { ApiError, NetworkError, PlatformHttp, type PlatformHttpOptions } from '../../common/platform-http.ts';
import { type Random, random } from '../../common/random.ts';
import type { Logger } from '../options.ts';
import { DeployError, type DeploymentPort } from '../ports.ts';
import { failureDelay, pause, systemTime, type Time, transientDelay } from './time.ts';

/** Agent API, or public Platform API. */
export interface DeploymentSource {
  /** Queued and deployed deployments of this device, with release and config instances. */
  list(signal: AbortSignal): Promise<AgentDeployment[]>;
  contents(instances: AgentConfigInstance[], signal: AbortSignal): Promise<Uint8Array[]>;
  /** Reports a deployment's new state; undefined for a platform without reports. */
  report?(id: string, report: DeploymentReport, signal: AbortSignal): Promise<void>;
}

interface BackOff {
  failures: number;
  /** Time of the next attempt on the steady clock. */
  notBefore: number;
  contents?: Uint8Array[];
}

/** Syncs of one robot, with failed deployments and unsent reports kept between them. */
export class Syncer {
  readonly #port: DeploymentPort;
  readonly #source: DeploymentSource;
  readonly #time: Time;
  readonly #retriesForEver: boolean;
  #backOffs: Map<string, BackOff> | undefined;
  #unreported: Map<string, DeploymentReport> | undefined;

  /** `retriesForEver`: takes no error as fatal. */
  constructor(port: DeploymentPort, source: DeploymentSource, time: Time, retriesForEver = false) {
    this.#port = port;
    this.#source = source;
    this.#time = time;
    this.#retriesForEver = retriesForEver;
  }

  /** Time of the next attempt at a failed deployment, on the steady clock. */
  get nextAttemptAt(): number | undefined {
    if (!this.#backOffs?.size) return undefined;
    return Math.min(...[...this.#backOffs.values()].map(({ notBefore }) => notBefore));
  }

  /**
   * Rejects if the platform is out of reach or refuses (NetworkError, ApiError, ProtocolError), or on an abort. Reports
   * a deployment that cannot be applied, and retries it later.
   */
  async run(signal: AbortSignal): Promise<void> {
    const listed = await this.#source.list(signal);
    for (const { release } of listed) if (release) this.#port.remember(release);
    const wanted = listed.filter((deployment) => deployment.target_status === 'deployed');
    this.#forgetAllBut(wanted);
    // Takes the last of equally old ones.
    const age = ({ created_at }: AgentDeployment): number => Date.parse(created_at);
    const current = wanted.toSorted((one, other) => age(one) - age(other)).at(-1);
    const settled = current === undefined || (await this.#reach(current, signal));
    // Keeps a replaced deployment in service during retries of its replacement.
    if (settled) await this.#removeUnwanted(listed, wanted);
    await this.#flush(signal);
  }

  async #reach(wanted: AgentDeployment, signal: AbortSignal): Promise<boolean> {
    const known = this.#port.get(wanted.id);
    if (known?.error_status === 'failed' || known?.activity_status === 'archived') {
      this.#restate(wanted.id, this.#archived(known.error_status));
      return true;
    }
    if (this.#port.active().some(({ id }) => id === wanted.id)) {
      const isReported = wanted.activity_status === 'deployed' && wanted.error_status === 'none';
      if (!isReported) this.#restate(wanted.id, this.#deployed());
      return true;
    }
    if (this.#time.elapsed() < (this.#backOffs?.get(wanted.id)?.notBefore ?? 0)) return false;
    return await this.#deploy(wanted, signal);
  }

  async #deploy(wanted: AgentDeployment, signal: AbortSignal): Promise<boolean> {
    let contents = this.#backOffs?.get(wanted.id)?.contents;
    try {
      const instances = wanted.config_instances ?? [];
      contents ??= await this.#source.contents(instances, signal);
      const contentAt = (index: number): Uint8Array => contents?.[index] ?? new Uint8Array();
      const files = instances.map(({ filepath }, index) => ({ filepath, content: contentAt(index) }));
      const { replaced } = await this.#port.deploy(wanted, files);
      this.#backOffs?.delete(wanted.id);
      this.#report(wanted.id, this.#deployed());
      for (const old of replaced) this.#report(old.id, this.#archived(old.error_status));
      return true;
    } catch (error) {
      const isOfThePlatform = error instanceof NetworkError || (error instanceof ApiError && error.unauthorized);
      if (isOfThePlatform || signal.aborted) throw error;
      return await this.#failed(wanted, error, contents);
    }
  }

  async #failed(wanted: AgentDeployment, error: unknown, contents: Uint8Array[] | undefined): Promise<boolean> {
    if (error instanceof DeployError && !error.retryable && !this.#retriesForEver) {
      this.#backOffs?.delete(wanted.id);
      await this.#port.fail(wanted, 'failed');
      this.#report(wanted.id, this.#archived('failed'));
      return true;
    }
    const failures = this.#backOffs?.get(wanted.id)?.failures ?? 0;
    this.#backOffs ??= new Map();
    this.#backOffs.set(wanted.id, {
      failures: failures + 1,
      notBefore: this.#time.elapsed() + failureDelay(failures),
      ...(contents && { contents }),
    });
    await this.#port.fail(wanted, 'retrying');
    if (wanted.error_status !== 'retrying') this.#report(wanted.id, { error_status: 'retrying' });
    return false;
  }

  async #removeUnwanted(listed: AgentDeployment[], wanted: AgentDeployment[]): Promise<void> {
    const keep = new Set(wanted.map(({ id }) => id));
    for (const { id } of this.#port.active()) {
      if (keep.has(id)) continue;
      const removed = await this.#port.remove(id);
      this.#report(id, this.#archived(removed.error_status));
    }
    for (const { id, target_status } of listed) {
      if (target_status === 'archived') this.#restate(id, this.#archived(this.#port.get(id)?.error_status ?? 'none'));
    }
  }

  #deployed(): DeploymentReport {
    return { activity_status: 'deployed', error_status: 'none', deployed_at: timestamp(this.#time) };
  }

  #archived(error_status: NonNullable<DeploymentReport['error_status']>): DeploymentReport {
    return { activity_status: 'archived', error_status, archived_at: timestamp(this.#time) };
  }

  #report(id: string, report: DeploymentReport): void {
    if (!this.#source.report) return;
    this.#unreported ??= new Map();
    this.#unreported.set(id, { ...this.#unreported.get(id), ...report });
  }

  /** Reports an earlier outcome, unless a report with its original time still waits. */
  #restate(id: string, report: DeploymentReport): void {
    if (!this.#unreported?.has(id)) this.#report(id, report);
  }

  /** Sends reports; keeps each over any number of syncs until the platform accepts or refuses it. */
  async #flush(signal: AbortSignal): Promise<void> {
    let failure: unknown;
    for (const [id, report] of this.#unreported ?? []) {
      try {
        await this.#source.report?.(id, report, signal);
        this.#unreported?.delete(id);
      } catch (error) {
        if (!(error instanceof ApiError)) throw error;
        if (error.refused) this.#unreported?.delete(id);
        else failure ??= error;
      }
    }
    if (failure) throw failure;
    this.#unreported = undefined;
  }

  #forgetAllBut(wanted: AgentDeployment[]): void {
    if (!this.#backOffs) return;
    const keep = new Set(wanted.map(({ id }) => id));
    for (const id of this.#backOffs.keys()) if (!keep.has(id)) this.#backOffs.delete(id);
    if (this.#backOffs.size === 0) this.#backOffs = undefined;
  }
}

type UplinkLogger = Pick<Logger, 'debug' | 'warn'>;

export interface CommonOptions {
  /** Certificate authority of platform and broker, PEM. */
  ca?: string | Buffer;
  /** HTTP connections to the platform for all robots of this uplink. Default 32. */
  connections?: number;
  /** Headers of every request, beside those of the API. */
  headers?: Readonly<Record<string, string>>;
  time?: Time;
  random?: Random;
  /** Takes each network error before the retry of its request. */
  onRetry?: (error: NetworkError) => void;
  /** Reports a request that waits because all connections are in use. */
  onCrowded?: () => void;
  onAnswer?: PlatformHttpOptions['onAnswer'];
  log?: UplinkLogger;
}

export interface Shared {
  readonly time: Time;
  readonly random: Random;
  readonly log: UplinkLogger | undefined;
  readonly http: PlatformHttp;
  /** Call at each robot's start; the connections close after the last `release`. */
  acquire(): void;
  release(): Promise<void>;
}

/** Opens connections with the first request. */
export function share(options: CommonOptions, baseUrl: URL): Shared {
  const { ca, connections, log, onAnswer, onCrowded, onRetry, time = systemTime } = options;
  const randomness = options.random ?? random('uplink');
  const beforeRetry = (signal: AbortSignal | undefined, error: NetworkError) => {
    onRetry?.(error);
    return pause(time, transientDelay(randomness), signal);
  };
  let http: PlatformHttp | undefined;
  let users = 0;
  return {
    time,
    random: randomness,
    log,
    get http() {
      http ??= new PlatformHttp({ baseUrl, ca, connections, onAnswer, onCrowded, beforeRetry });
      return http;
    },
    acquire: () => {
      users++;
    },
    release: async () => {
      users--;
      if (users > 0) return;
      const unused = http;
      http = undefined;
      await unused?.close();
    },
  };
}

/** Throws an error that names the option for a URL with none of these schemes. */
export function parseUrl(option: string, text: string, schemes: readonly string[]): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url && schemes.includes(url.protocol)) return url;
  throw new Error(
    `${option} is no address: ${schemes.map((scheme) => `${scheme}//host:port`).join(' or ')} is accepted`,
  );
}

export async function allPages<T>(read: (offset: number) => Promise<{ data: T[]; has_more: boolean }>): Promise<T[]> {
  const items: T[] = [];
  for (;;) {
    const page = await read(items.length);
    items.push(...page.data);
    // Ends at an empty page, after which a platform could promise more for ever.
    if (!page.has_more || page.data.length === 0) return items;
  }
}
