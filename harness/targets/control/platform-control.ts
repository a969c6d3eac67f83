/**
 * Control by deployments alone, over the agent's own uplink to a platform, so that an unmodified agent can be driven. Calls that
 * a platform cannot make an agent carry out (a pair of statuses, a compaction) throw ControlError.
 */
import { randomUUID } from 'node:crypto';
import { NoAnswer, Unreachable } from '../../client/errors.ts';
import type { HttpClient } from '../../client/http.ts';
import { cut } from '../../client/recorder.ts';
import { poll } from '../../common/waiting.ts';
import type { ControlCompacted, ControlDeployment, ControlInfo, ControlPublished } from '../../contract/control.ts';
import type { Deployment } from '../../contract/deployment.ts';
import { type Control, ControlError, ControlLate, ControlRefused, type Exact } from './control.ts';
import { EventWatch, type WatchedEvent } from './event-watch.ts';
import { type ConfigFile, PlatformClient, type ReleaseFixture } from './platform-client.ts';

/** The two sides that a deployment goes through. */
export interface PlatformControlOptions {
  /** Speaks to the Platform API, newest version, with a key that may do everything. */
  platform: HttpClient;
  /** Speaks to the agent's Device API. */
  device: HttpClient;
  /** The platform's id of the device. */
  deviceId: string;
  /** How long an agent may take for one deployment, milliseconds. Default 60 000. */
  timeoutMs?: number;
  /** Path of the Device API that makes the agent ask its platform at once: posted to while a deployment is awaited. */
  syncPath?: string | undefined;
}

const POLL_MS = 20;
/** An agent that takes a second is not asked fifty times: on a busy machine that would hold it up. */
const POLL_GROWTH = 1.3;
const LONGEST_POLL_MS = 150;
/** A path that no agent can write: file names have at most 255 bytes. */
const IMPOSSIBLE = `/muster/${'too-long-'.repeat(40)}.json`;

/** An agent that calls a deployment failed does so after its first attempts. */
const RETRIES_MS = 10_000;
const ONLY_RETRIES = 'control: the agent retries what it cannot apply, and does not call it failed';

/** What all controls of one device share, whatever signal they are bound to. */
interface Shared {
  platform: PlatformClient;
  watch: EventWatch;
  /** The end of the calls that were made so far. */
  last: Promise<unknown>;
  /** Whether the agent goes on retrying what it cannot apply. */
  onlyRetries: boolean;
  /** What is deployed again and again where only the event counts. */
  release: Promise<ReleaseFixture> | undefined;
  /** Whether it is being asked to sync. */
  asking: boolean;
}

/** Drives one device of a platform. */
export class PlatformControl implements Control {
  readonly kind = 'platform';
  readonly seesDevice = true;
  readonly #options: PlatformControlOptions;
  readonly #platform: PlatformClient;
  readonly #device: HttpClient;
  readonly #deviceId: string;
  readonly #timeoutMs: number;
  readonly #signal: AbortSignal | undefined;
  readonly #shared: Shared;

  constructor(options: PlatformControlOptions, shared?: Shared, signal?: AbortSignal) {
    const { platform, device, deviceId, timeoutMs = 60_000 } = options;
    this.#options = options;
    this.#shared = shared ?? {
      platform: new PlatformClient(platform),
      watch: new EventWatch(device),
      last: Promise.resolve(),
      onlyRetries: false,
      release: undefined,
      asking: false,
    };
    this.#platform = signal === undefined ? this.#shared.platform : this.#shared.platform.bound(signal);
    this.#device = signal === undefined ? device : device.with({ signal });
    this.#deviceId = deviceId;
    this.#timeoutMs = timeoutMs;
    this.#signal = signal;
  }

  info(): Promise<ControlInfo> {
    return Promise.resolve({ capabilities: ['drive'] });
  }

  deploy(request: ControlDeployment = {}): Promise<Deployment> {
    return this.#inTurn(() => this.#deploy(request));
  }

  /** A platform can only replace a deployment by another. */
  remove(deploymentId: string): Promise<Deployment> {
    return this.#inTurn(async () => {
      const { activity_status: activity } = await this.#platform.deployment(deploymentId);
      if (activity === 'archived') throw new ControlRefused(`control: ${deploymentId} is archived already`);
      await this.#deployed(await this.#platform.deploy(this.#deviceId, 'Replaces what is removed', filesOf({})));
      return this.#reported(deploymentId, ({ activity_status }) => activity_status === 'archived', 'archived');
    });
  }

  /** Creates deployments, one after the other, until that many events have come. */
  publish(count: number): Promise<Exact<ControlPublished>> {
    const { watch } = this.#shared;
    return this.#inTurn(async () => {
      await watch.start(this.#timeoutMs, this.#signal);
      const mark = watch.mark;
      let earliest: number | bigint | undefined;
      // A watch that has just come back after a restart also brings what happened meanwhile.
      const published = (): WatchedEvent[] =>
        watch.since(mark).filter(({ id }) => earliest !== undefined && id >= earliest);
      do {
        const id = await this.#deployAgain();
        const isOfIt = ({ deploymentId }: WatchedEvent): boolean => deploymentId === id;
        const event = await watch.until(isOfIt, mark, this.#timeoutMs, this.#signal);
        if (event === undefined) {
          throw new ControlLate(
            `control: the agent reported ${id} as deployed, but its event stream had no event of it within ${this.#timeoutMs / 1000} s`,
          );
        }
        earliest ??= event.id;
      } while (published().length < count);
      const [first = 0, ...more] = published()
        .map((event) => event.id)
        .sort((left, right) => (left < right ? -1 : 1));
      // For a single event take the last one: those before it are about the deployment that was replaced.
      const last = more.at(-1) ?? first;
      return { first_id: count === 1 ? last : first, last_id: last };
    });
  }

  compact(): Promise<ControlCompacted> {
    return Promise.reject(new ControlRefused('control: a platform cannot make an agent compact its log'));
  }
  stop(): Promise<void> {
    return Promise.reject(new ControlRefused('control: a platform cannot stop an agent; start it with --command'));
  }
  start(): Promise<void> {
    return Promise.reject(new ControlRefused('control: a platform cannot start an agent; start it with --command'));
  }
  /** A deployment takes many calls to the platform, with a key that the reader of a report may not have. */
  line(): undefined {
    return undefined;
  }
  bound(signal: AbortSignal): PlatformControl {
    return new PlatformControl(this.#options, this.#shared, signal);
  }
  async close(): Promise<void> {
    await this.#shared.watch[Symbol.asyncDispose]();
  }

  async #deploy(request: ControlDeployment): Promise<Deployment> {
    const { activity_status: activity = 'deployed', error_status: error = 'none', target_status: target } = request;
    if (error === 'failed') return this.#fail(request);
    if (activity !== 'deployed' || error !== 'none' || (target ?? 'deployed') !== 'deployed') {
      throw new ControlRefused(`control: a platform cannot drive an agent to ${activity} with error ${error}`);
    }
    if (request.release_id !== undefined) throw new ControlRefused('control: a platform chooses the id of a release');
    const id = await this.#platform.deploy(
      this.#deviceId,
      request.description ?? 'Deployed by a conformance check',
      filesOf(request),
    );
    return this.#deployed(id);
  }

  /** A release that is there already takes fewer calls on both sides. */
  async #deployAgain(): Promise<string> {
    const { platform } = this.#shared;
    this.#shared.release ??= platform.createReleaseFixture(filesOf({}));
    const release = await this.#shared.release.catch((error: unknown) => {
      this.#shared.release = undefined;
      throw error;
    });
    const id = await this.#platform.deployRelease(this.#deviceId, 'Makes an event', release);
    await this.#deployed(id);
    return id;
  }

  /** An agent may retry for ever (section 2.2), so one that has been seen to is not asked for a failure again. */
  async #fail(request: ControlDeployment): Promise<Deployment> {
    if (this.#shared.onlyRetries) throw new ControlRefused(ONLY_RETRIES);
    const files = [...filesOf(request), { filepath: IMPOSSIBLE, content: '{}' }];
    const id = await this.#platform.deploy(this.#deviceId, request.description ?? 'Cannot be applied', files);
    let retriesSince: number | undefined;
    const failed = ({ error_status: error }: Deployment): boolean => {
      if (error === 'retrying') retriesSince ??= performance.now();
      if (retriesSince !== undefined && performance.now() - retriesSince > RETRIES_MS) {
        this.#shared.onlyRetries = true;
        throw new ControlRefused(ONLY_RETRIES);
      }
      return error === 'failed';
    };
    return this.#reported(id, failed, 'failed');
  }

  /** The deployment as the device shows it, once platform and device both say that it is deployed. */
  async #deployed(id: string): Promise<Deployment> {
    await this.#reported(
      id,
      ({ activity_status, error_status }) => {
        if (error_status === 'failed') throw new ControlError(`control: the agent reported ${id} as failed`);
        return activity_status === 'deployed';
      },
      'deployed',
    );
    let shown = 'nothing';
    const look = async (): Promise<Deployment | undefined> => {
      const response = await this.#device.get('/deployments/current').catch((error: unknown) => {
        if (error instanceof NoAnswer || error instanceof Unreachable) return undefined;
        throw error;
      });
      shown = response === undefined ? 'nothing' : cut(response.text, 200);
      const current = response?.json as Deployment | undefined;
      return current?.id === id ? current : undefined;
    };
    return this.#until(
      `the device to show ${id}`,
      look,
      () => `the agent reported ${id} as deployed, but shows ${shown} as current`,
    );
  }

  async #reported(id: string, settled: (deployment: Deployment) => boolean, what: string): Promise<Deployment> {
    let shown: Deployment | undefined;
    const look = async (): Promise<Deployment | undefined> => {
      this.#askToSync();
      shown = await this.#platform.deployment(id);
      return settled(shown) ? shown : undefined;
    };
    return this.#until(
      `${id} to be reported as ${what}`,
      look,
      () =>
        `the agent did not report ${id} as ${what} within ${this.#timeoutMs / 1000} s; the platform shows ${shown?.activity_status}, error ${shown?.error_status}`,
    );
  }

  /** Does so once at a time. Whatever comes of it, only what the agent reports counts. */
  #askToSync(): void {
    const { syncPath } = this.#options;
    if (syncPath === undefined || this.#shared.asking) return;
    this.#shared.asking = true;
    const asked = (): void => {
      this.#shared.asking = false;
    };
    this.#device.post(syncPath, {}).then(asked, asked);
  }

  #until<T>(what: string, look: () => Promise<T | undefined>, failure: () => string): Promise<T> {
    const timeoutError = (): Error => new ControlLate(`control: ${failure()}`);
    return poll(what, look, {
      timeoutMs: this.#timeoutMs,
      firstPauseMs: POLL_MS,
      growth: POLL_GROWTH,
      longestPauseMs: LONGEST_POLL_MS,
      signal: this.#signal,
      timeoutError,
    });
  }

  /** An agent has one target deployment at a time, so calls that come at once are carried out one after the other. */
  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const start = (): Promise<T> => {
      this.#signal?.throwIfAborted();
      return work();
    };
    const next = this.#shared.last.then(start);
    this.#shared.last = next.catch(() => {});
    return next;
  }
}

/** Never none: some agents refuse a deployment without files. */
function filesOf({ config_instances: files = [] }: ControlDeployment): ConfigFile[] {
  if (files.length === 0) return [{ filepath: '/muster/config.json', content: JSON.stringify({ made: randomUUID() }) }];
  return files.map(({ filepath, content }) => ({
    filepath: filepath.startsWith('/') ? filepath : `/${filepath}`,
    content,
  }));
}
