import type { AgentConfigInstance, AgentDeployment, DeploymentReport } from '../../../harness/contract/agent.ts';
import { instantOf } from '../../../harness/contract/shape.ts';
import type { Dialect } from '../../../harness/contract/versions.ts';
import { timestamp } from '../../common/clock.ts';
import { ApiError, NetworkError, PlatformHttp, type PlatformHttpOptions } from '../../common/platform-http.ts';
import { type Random, random } from '../../common/random.ts';
import type { Logger } from '../options.ts';
import { DeployError, type DeploymentPort } from '../ports.ts';
import { failureDelay, pause, systemTime, type Time, transientDelay } from './time.ts';

export interface DeploymentSource {
  list(signal: AbortSignal): Promise<AgentDeployment[]>;
  contents(instances: AgentConfigInstance[], signal: AbortSignal): Promise<Uint8Array[]>;
  report?(id: string, report: DeploymentReport, signal: AbortSignal): Promise<void>;
}

interface BackOff {
  failures: number;
  /** Milliseconds of the steady clock. */
  notBefore: number;
  contents?: Uint8Array[];
}

export class Syncer {
  readonly #port: DeploymentPort;
  readonly #source: DeploymentSource;
  readonly #time: Time;
  readonly #retriesForEver: boolean;
  #backOffs: Map<string, BackOff> | undefined;
  #unreported: Map<string, DeploymentReport> | undefined;

  /** `retriesForEver`: retries a deployment even after a fatal error. */
  constructor(port: DeploymentPort, source: DeploymentSource, time: Time, retriesForEver = false) {
    this.#port = port;
    this.#source = source;
    this.#time = time;
    this.#retriesForEver = retriesForEver;
  }

  /** Milliseconds of the steady clock; undefined unless a deployment waits for a retry. */
  get nextAttemptAt(): number | undefined {
    if (!this.#backOffs?.size) return undefined;
    return Math.min(...[...this.#backOffs.values()].map(({ notBefore }) => notBefore));
  }

  /** Rejects with NetworkError, ApiError or ProtocolError, or after an abort. */
  async run(signal: AbortSignal): Promise<void> {
    const listed = await this.#source.list(signal);
    for (const { release } of listed) if (release) this.#port.remember(release);
    const wanted = listed.filter((deployment) => deployment.target_status === 'deployed');
    const keep = new Set(wanted.map(({ id }) => id));
    const age = ({ created_at }: AgentDeployment): number => instantOf(created_at);
    const current = wanted.toSorted((one, other) => age(one) - age(other)).at(-1);
    for (const id of this.#backOffs?.keys() ?? []) if (id !== current?.id) this.#backOffs?.delete(id);
    if (this.#backOffs?.size === 0) this.#backOffs = undefined;
    const settled = current === undefined || (await this.#reach(current, signal));
    // Other deployments stay until the newest deployment is applied or has finally failed.
    if (settled) await this.#removeUnwanted(listed, keep);
    await this.#flush(signal);
    // Publishes the event of an earlier removal that could not be stored, because no sync repeats a removal.
    if (settled) await this.#port.publish();
  }

  async #reach(wanted: AgentDeployment, signal: AbortSignal): Promise<boolean> {
    const known = this.#port.get(wanted.id);
    if (known?.error_status === 'failed' || known?.activity_status === 'archived') {
      this.#backOffs?.delete(wanted.id);
      this.#restate(wanted.id, this.#archived(known.error_status));
      return true;
    }
    // Deploys an active but retrying deployment again, because it has not published its event.
    if (known?.error_status !== 'retrying' && this.#port.active().some(({ id }) => id === wanted.id)) {
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

  async #removeUnwanted(listed: AgentDeployment[], keep: ReadonlySet<string>): Promise<void> {
    for (const { id } of this.#port.active()) {
      if (keep.has(id)) continue;
      const removed = await this.#port.remove(id);
      this.#report(id, this.#archived(removed.error_status));
    }
    for (const { id, target_status } of listed)
      if (target_status === 'archived') this.#restate(id, this.#archived(this.#port.get(id)?.error_status ?? 'none'));
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

  /** Reports a known result again, unless an unsent report already has the original time. */
  #restate(id: string, report: DeploymentReport): void {
    if (!this.#unreported?.has(id)) this.#report(id, report);
  }

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
}

type UplinkLogger = Pick<Logger, 'debug' | 'warn'>;

export interface CommonOptions {
  /** Certificate authority of platform and broker, PEM. */
  ca?: string | Buffer;
  /** Maximum HTTP connections to the platform, shared by all robots, default 32. */
  connections?: number;
  headers?: Readonly<Record<string, string>>;
  dialect?: Dialect;
  time?: Time;
  random?: Random;
  onRetry?: (error: NetworkError) => void;
  onCrowded?: () => void;
  onAnswer?: PlatformHttpOptions['onAnswer'];
  log?: UplinkLogger;
}

export interface Shared {
  readonly time: Time;
  readonly random: Random;
  readonly log: UplinkLogger | undefined;
  readonly http: PlatformHttp;
  /** Called at each robot's start; the connections close after the last call of `release`. */
  acquire(): void;
  release(): Promise<void>;
}

export function createShared(options: CommonOptions, baseUrl: URL): Shared {
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
    acquire: () => void users++,
    release: async () => {
      users--;
      if (users > 0) return;
      const unused = http;
      http = undefined;
      await unused?.close();
    },
  };
}

export function parseUrl(option: string, text: string, schemes: readonly string[]): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url && schemes.includes(url.protocol)) return url;
  const accepted = schemes.map((scheme) => `${scheme}//host:port`).join(' or ');
  throw new Error(`${option} is no address: ${accepted} is accepted`);
}

export async function allPages<T extends { id: string }>(
  read: (offset: number) => Promise<{ data: T[]; has_more: boolean }>,
): Promise<T[]> {
  const items = new Map<string, T>();
  for (let offset = 0; ; ) {
    const known = items.size;
    const { data, has_more } = await read(offset);
    for (const item of data) items.set(item.id, item);
    offset += data.length;
    // Ends at a page without new items too, because a platform could repeat its pages for ever.
    if (!has_more || items.size === known) return [...items.values()];
  }
}
