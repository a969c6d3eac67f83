/**
 * Control by deployments alone, over the agent's own uplink to a platform, so that an unmodified agent can be driven. Calls that
 * a platform cannot make an agent carry out (a pair of statuses, a compaction) throw ControlError.
 */
import { randomUUID } from 'node:crypto';
import type { HttpClient } from '../../client/http.ts';
import { cut } from '../../client/recorder.ts';
import { poll } from '../../common/waiting.ts';
import type { ControlCompacted, ControlDeployment, ControlInfo, ControlPublished } from '../../contract/control.ts';
import type { Deployment } from '../../contract/deployment.ts';
import { type Control, ControlError, type Exact } from './control.ts';
import { EventWatch } from './event-watch.ts';
import { type ConfigFile, PlatformClient } from './platform-client.ts';

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
}

const POLL_MS = 20;
/** A path that no agent can write: file names have at most 255 bytes. */
const IMPOSSIBLE = `/muster/${'too-long-'.repeat(40)}.json`;

/** Drives one device of a platform. */
export class PlatformControl implements Control {
  readonly kind = 'platform';
  readonly #platform: PlatformClient;
  readonly #device: HttpClient;
  readonly #deviceId: string;
  readonly #timeoutMs: number;
  readonly #watch: EventWatch;
  #last: Promise<unknown> = Promise.resolve();

  constructor(options: PlatformControlOptions) {
    this.#platform = new PlatformClient(options.platform);
    this.#device = options.device;
    this.#deviceId = options.deviceId;
    this.#timeoutMs = options.timeoutMs ?? 60_000;
    this.#watch = new EventWatch(options.device);
  }

  info(): Promise<ControlInfo> {
    return Promise.resolve({ capabilities: ['drive'] });
  }

  deploy(request: ControlDeployment = {}): Promise<Deployment> {
    return this.#inTurn(() => this.#deploy(request));
  }

  /** A platform can only replace a deployment; one without files comes closest to removing it. */
  remove(deploymentId: string): Promise<Deployment> {
    return this.#inTurn(async () => {
      const { activity_status: activity } = await this.#platform.deployment(deploymentId);
      if (activity === 'archived') throw new ControlError(`control: ${deploymentId} is archived already`);
      await this.#deployed(await this.#platform.deploy(this.#deviceId, 'Replaces what is removed', []));
      return this.#reported(deploymentId, ({ activity_status }) => activity_status === 'archived', 'archived');
    });
  }

  /** Creates deployments, one after the other, until that many events have come. */
  publish(count: number): Promise<Exact<ControlPublished>> {
    return this.#inTurn(async () => {
      await this.#watch.start(this.#timeoutMs);
      const mark = this.#watch.mark;
      do {
        const { id } = await this.#deploy({ description: 'Makes an event' });
        const event = await this.#watch.until(({ deploymentId }) => deploymentId === id, mark, this.#timeoutMs);
        if (event === undefined) {
          throw new ControlError(
            `control: the agent reported ${id} as deployed, but its event stream had no event of it within ${this.#timeoutMs / 1000} s`,
          );
        }
      } while (this.#watch.mark - mark < count);
      const [first = 0, ...more] = this.#watch
        .since(mark)
        .map((event) => event.id)
        .sort((left, right) => (left < right ? -1 : 1));
      // For a single event take the last one: those before it are about the deployment that was replaced.
      const last = more.at(-1) ?? first;
      return { first_id: count === 1 ? last : first, last_id: last };
    });
  }

  compact(): Promise<ControlCompacted> {
    return Promise.reject(new ControlError('control: a platform cannot make an agent compact its log'));
  }
  stop(): Promise<void> {
    return Promise.reject(new ControlError('control: a platform cannot stop an agent; start it with --command'));
  }
  start(): Promise<void> {
    return Promise.reject(new ControlError('control: a platform cannot start an agent; start it with --command'));
  }
  async close(): Promise<void> {
    await this.#watch[Symbol.asyncDispose]();
  }

  async #deploy(request: ControlDeployment): Promise<Deployment> {
    const { activity_status: activity = 'deployed', error_status: error = 'none', target_status: target } = request;
    if (error === 'failed') return this.#fail(request);
    if (activity !== 'deployed' || error !== 'none' || (target ?? 'deployed') !== 'deployed') {
      throw new ControlError(`control: a platform cannot drive an agent to ${activity} with error ${error}`);
    }
    if (request.release_id !== undefined) throw new ControlError('control: a platform chooses the id of a release');
    const id = await this.#platform.deploy(
      this.#deviceId,
      request.description ?? 'Deployed by a conformance check',
      filesOf(request),
    );
    return this.#deployed(id);
  }

  async #fail(request: ControlDeployment): Promise<Deployment> {
    const files = [...filesOf(request), { filepath: IMPOSSIBLE, content: '{}' }];
    const id = await this.#platform.deploy(this.#deviceId, request.description ?? 'Cannot be applied', files);
    return this.#reported(id, ({ error_status }) => error_status === 'failed', 'failed');
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
      const response = await this.#device.get('/deployments/current').catch(() => undefined);
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

  #until<T>(what: string, look: () => Promise<T | undefined>, failure: () => string): Promise<T> {
    const timeoutError = (): Error => new ControlError(`control: ${failure()}`);
    return poll(what, look, { timeoutMs: this.#timeoutMs, firstPauseMs: POLL_MS, timeoutError });
  }

  /** An agent has one target deployment at a time, so calls that come at once are carried out one after the other. */
  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const next = this.#last.then(work, work);
    this.#last = next.catch(() => {});
    return next;
  }
}

function filesOf({ config_instances: files }: ControlDeployment): ConfigFile[] {
  return (
    files?.map(({ filepath, content }) => ({
      filepath: filepath.startsWith('/') ? filepath : `/${filepath}`,
      content,
    })) ?? [{ filepath: '/muster/config.json', content: JSON.stringify({ made: randomUUID() }) }]
  );
}
