/**
 * Control by deployments alone: the agent is enrolled in a platform, and whatever it is made to do comes over its own uplink, so
 * that an unmodified agent can be driven. What a platform cannot make an agent do (a pair of statuses, a compaction) is refused.
 */
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { HttpClient } from '../../client/http.ts';
import { cut } from '../../client/recorder.ts';
import type { ControlCompacted, ControlDeployment, ControlInfo, ControlPublished } from '../../contract/control.ts';
import type { Deployment } from '../../contract/deployment.ts';
import { type Control, ControlError } from './control.ts';
import { EventWatch } from './event-watch.ts';
import type { Exact } from './exact.ts';
import { type KitFile, PlatformKit } from './platform-kit.ts';

export interface PlatformControlOptions {
  /** Speaks to the Platform API, newest version, with a key that may do everything. */
  platform: HttpClient;
  /** Speaks to the agent's Device API. */
  device: HttpClient;
  /** The platform's id of the device. */
  deviceId: string;
  /** How long an agent may take for one deployment, milliseconds. Default 60 s. */
  timeoutMs?: number;
}

const POLL_MS = 20;
/** No file system takes a name of more than 255 bytes. */
const IMPOSSIBLE = `/muster/${'too-long-'.repeat(40)}.json`;

export class PlatformControl implements Control {
  readonly kind = 'platform';
  readonly #kit: PlatformKit;
  readonly #device: HttpClient;
  readonly #deviceId: string;
  readonly #timeoutMs: number;
  readonly #watch: EventWatch;
  #last: Promise<unknown> = Promise.resolve();

  constructor(options: PlatformControlOptions) {
    this.#kit = new PlatformKit(options.platform);
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

  /** What is on a device is only ever replaced: by a deployment without files. */
  remove(deploymentId: string): Promise<Deployment> {
    return this.#inTurn(async () => {
      const { activity_status: activity } = await this.#kit.deployment(deploymentId);
      if (activity === 'archived') throw new ControlError(`control: ${deploymentId} is archived already`);
      await this.#deployed(await this.#kit.deploy(this.#deviceId, 'Replaces what is removed', []));
      return this.#reported(deploymentId, ({ activity_status }) => activity_status === 'archived', 'archived');
    });
  }

  /** Deployments, one after the other, until as many events have come. */
  publish(count: number): Promise<Exact<ControlPublished>> {
    return this.#inTurn(async () => {
      await this.#watch.start(this.#timeoutMs);
      const mark = this.#watch.mark;
      do {
        const { id } = await this.#deploy({ description: 'Makes an event' });
        const event = await this.#watch.until(({ deploymentId }) => deploymentId === id, mark, this.#timeoutMs);
        if (event === undefined) {
          throw new ControlError(
            `control: the agent reported ${id} as deployed, but its event stream did not tell within ${this.#timeoutMs / 1000} s`,
          );
        }
      } while (this.#watch.mark - mark < count);
      const [first = 0, ...more] = this.#watch
        .since(mark)
        .map((event) => event.id)
        .sort((left, right) => (left < right ? -1 : 1));
      // One event is the last one: those before it belong to what it replaced.
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
    const id = await this.#kit.deploy(
      this.#deviceId,
      request.description ?? 'Deployed by a conformance check',
      filesOf(request),
    );
    return this.#deployed(id);
  }

  async #fail(request: ControlDeployment): Promise<Deployment> {
    const files = [...filesOf(request), { filepath: IMPOSSIBLE, content: '{}' }];
    const id = await this.#kit.deploy(this.#deviceId, request.description ?? 'Cannot be applied', files);
    return this.#reported(id, ({ error_status }) => error_status === 'failed', 'failed');
  }

  /** Resolves with what the device shows, once both sides agree that it is deployed. */
  async #deployed(id: string): Promise<Deployment> {
    await this.#reported(
      id,
      ({ activity_status, error_status }) => {
        if (error_status === 'failed') throw new ControlError(`control: the agent reported ${id} as failed`);
        return activity_status === 'deployed';
      },
      'deployed',
    );
    const deadline = performance.now() + this.#timeoutMs;
    for (;;) {
      const response = await this.#device.get('/deployments/current').catch(() => undefined);
      const shown = response?.json as Deployment | undefined;
      if (shown?.id === id) return shown;
      if (performance.now() > deadline) {
        throw new ControlError(
          `control: the agent reported ${id} as deployed, but shows ${response === undefined ? 'nothing' : cut(response.text, 200)} as current`,
        );
      }
      await sleep(POLL_MS);
    }
  }

  async #reported(id: string, settled: (deployment: Deployment) => boolean, what: string): Promise<Deployment> {
    const deadline = performance.now() + this.#timeoutMs;
    for (;;) {
      const deployment = (await this.#kit.deployment(id)) as unknown as Deployment;
      if (settled(deployment)) return deployment;
      if (performance.now() > deadline) {
        throw new ControlError(
          `control: the agent did not report ${id} as ${what} within ${this.#timeoutMs / 1000} s; the platform shows ${deployment.activity_status}, error ${deployment.error_status}`,
        );
      }
      await sleep(POLL_MS);
    }
  }

  /** An agent has one target at a time, so what checks ask for at once is done in turn. */
  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const next = this.#last.then(work, work);
    this.#last = next.catch(() => {});
    return next;
  }
}

function filesOf({ config_instances: files }: ControlDeployment): KitFile[] {
  return (
    files?.map(({ filepath, content }) => ({
      filepath: filepath.startsWith('/') ? filepath : `/${filepath}`,
      content,
    })) ?? [{ filepath: '/muster/config.json', content: JSON.stringify({ made: randomUUID() }) }]
  );
}
