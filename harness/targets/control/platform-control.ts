/** Controls an unmodified agent through a platform, only by deployments. */
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { NoAnswer, Unreachable } from '../../client/errors.ts';
import type { HttpClient } from '../../client/http.ts';
import { cut } from '../../client/timeline.ts';
import { defined } from '../../common/defined.ts';
import { recordName } from '../../common/names.ts';
import { poll } from '../../common/waiting.ts';
import type { ControlDeployment, ControlInfo } from '../../contract/control.ts';
import type { Deployment } from '../../contract/device-api.ts';
import { Control, type ControlAnswer, type ControlCall, ControlError, ControlLate, ControlRefused } from './control.ts';
import { EventWatch, type WatchedEvent } from './event-watch.ts';

type ConfigFile = NonNullable<ControlDeployment['config_instances']>[number];

interface ReleaseFixture {
  releaseId: string;
  instanceIds: string[];
}

/** Client of the newest Platform API. Throws ControlError for a refused call. */
export class PlatformClient {
  readonly #http: HttpClient;
  readonly #made: { typeId?: string };

  constructor(http: HttpClient, made: { typeId?: string } = {}) {
    this.#http = http;
    this.#made = made;
  }

  with(bound: { signal?: AbortSignal }): PlatformClient {
    return new PlatformClient(this.#http.with(bound), this.#made);
  }

  async createReleaseFixture(files: readonly ConfigFile[]): Promise<ReleaseFixture> {
    const version = recordName('release');
    const slug = recordName('type');
    this.#made.typeId ??= await this.#create('/config_types', { name: slug, slug });
    const schemaId = await this.#create('/config_schemas', {
      config_type_ref: { id: this.#made.typeId },
      language: 'opaque',
      format: 'json',
      documents: [{ name: 'schema.json', data: JSON.stringify({ title: version }) }],
      instance_format: 'text',
      instance_slots: files.map(({ filepath }, index) => ({
        key: `f${index}`,
        name: `File ${index}`,
        filepath,
        required: true,
      })),
    });
    const [releaseId, ...instanceIds] = await Promise.all([
      this.#create('/releases', { version, config_schema_ids: [schemaId] }),
      ...files.map(({ content }, index) =>
        this.#create('/config_instances', {
          config_schema_id: schemaId,
          slot_key: `f${index}`,
          content: { format: 'text', data: content },
        }),
      ),
    ]);
    return { releaseId, instanceIds };
  }

  async deploy(deviceId: string, description: string, files: readonly ConfigFile[]): Promise<string> {
    return this.deployRelease(deviceId, description, await this.createReleaseFixture(files));
  }

  deployRelease(deviceId: string, description: string, { releaseId, instanceIds }: ReleaseFixture): Promise<string> {
    return this.#create('/deployments', {
      device_id: deviceId,
      release_id: releaseId,
      config_instance_ids: instanceIds,
      description,
      target_status: 'deployed',
    });
  }

  async deployment(id: string): Promise<Deployment> {
    const response = await this.#http.get(`/deployments/${encodeURIComponent(id)}`);
    if (response.status !== 200) throw refusal('GET /deployments', response);
    return response.json as Deployment;
  }

  async online(): Promise<{ id: string; name: string }[]> {
    const response = await this.#http.get('/devices', { query: { limit: 100 } });
    if (response.status !== 200) throw refusal('GET /devices', response);
    const { data = [] } = (response.json ?? {}) as { data?: { id: string; name: string; status: string }[] };
    return data.filter((device) => device.status === 'online').reverse();
  }

  async provisioningToken(): Promise<string> {
    const response = await this.#http.post('/provisioning_tokens', {});
    const { token } = (response.json ?? {}) as { token?: unknown };
    if (typeof token !== 'string') throw refusal('POST /provisioning_tokens', response);
    return token;
  }

  async #create(path: string, body: object): Promise<string> {
    const response = await this.#http.post(path, body);
    const { id } = (response.json ?? {}) as { id?: unknown };
    if (response.status > 299 || typeof id !== 'string') throw refusal(`POST ${path}`, response);
    return id;
  }
}

function refusal(what: string, { status, text }: { status: number; text: string }): ControlError {
  const words = `control: ${what} answered ${status}: ${cut(text, 300)}`;
  return status >= 400 && status <= 499 ? new ControlRefused(words) : new ControlError(words);
}

export interface PlatformControlOptions {
  platform: HttpClient;
  device: HttpClient;
  deviceId: string;
  /** Milliseconds within which an agent must carry out a deployment. Default 60 000. */
  timeoutMs?: number;
  /** Path of the Device API that makes the agent ask the platform immediately. */
  syncPath?: string | undefined;
}

const ONLY_RETRIES = 'control: the agent retries what it cannot apply, and does not call it failed';

interface Reach {
  platform: PlatformClient;
  device: HttpClient;
  signal: AbortSignal | undefined;
}

interface Joint {
  most: number;
  calls: number;
  unwanted: AbortController;
  ids: Promise<(number | bigint)[]>;
}

export class PlatformControl extends Control {
  readonly kind = 'platform';
  override readonly seesDevice = true;
  readonly #options: PlatformControlOptions;
  readonly #timeoutMs: number;
  readonly #platform: PlatformClient;
  readonly #watch: EventWatch;
  #last: Promise<unknown> = Promise.resolve();
  #onlyRetries = false;
  #release: Promise<ReleaseFixture> | undefined;
  #asking = false;
  #waiting: Joint | undefined;
  #wasJoint = false;

  constructor(options: PlatformControlOptions) {
    super();
    this.#options = options;
    this.#timeoutMs = options.timeoutMs ?? 60_000;
    this.#platform = new PlatformClient(options.platform);
    this.#watch = new EventWatch(options.device);
  }

  info(): Promise<ControlInfo> {
    return Promise.resolve({ capabilities: ['drive'] });
  }

  /** Has no `line`, because a call takes many requests with a secret key. */
  async call(call: ControlCall, signal?: AbortSignal): Promise<ControlAnswer> {
    const reach = this.#reach(signal);
    if (call.name === 'deploy') return this.#inTurn(signal, () => this.#deploy(call.request, reach));
    if (call.name === 'remove') return this.#inTurn(signal, () => this.#remove(call.deploymentId, reach));
    if (call.name === 'publish') return this.#publishTogether(call.count, signal);
    if (call.name === 'compact') throw new ControlRefused('control: a platform cannot make an agent compact its log');
    const name = call.name satisfies 'stop' | 'start';
    throw new ControlRefused(`control: a platform cannot ${name} an agent; start it with --command`);
  }

  override async close(): Promise<void> {
    await this.#watch[Symbol.asyncDispose]();
  }

  #reach(signal: AbortSignal | undefined): Reach {
    const bound = defined({ signal });
    return { platform: this.#platform.with(bound), device: this.#options.device.with(bound), signal };
  }

  async #deploy(request: ControlDeployment, reach: Reach): Promise<Deployment> {
    const { activity_status: activity = 'deployed', error_status: error = 'none', target_status: target } = request;
    if (error === 'failed') return this.#fail(request, reach);
    if (activity !== 'deployed' || error !== 'none' || (target ?? 'deployed') !== 'deployed')
      throw new ControlRefused(`control: a platform cannot drive an agent to ${activity} with error ${error}`);
    if (request.release_id !== undefined) throw new ControlRefused('control: a platform chooses the id of a release');
    const { deviceId } = this.#options;
    const { description = 'New settings' } = request;
    return this.#deployed(await reach.platform.deploy(deviceId, description, filesOf(request)), reach);
  }

  /** Deploys another release, because a platform cannot remove deployments. */
  async #remove(deploymentId: string, reach: Reach): Promise<Deployment> {
    const { platform } = reach;
    const { activity_status: activity } = await platform.deployment(deploymentId);
    if (activity === 'archived') throw new ControlRefused(`control: ${deploymentId} is archived already`);
    await this.#deployed(await platform.deploy(this.#options.deviceId, 'Other settings', filesOf({})), reach);
    return this.#reported(deploymentId, ({ activity_status }) => activity_status === 'archived', 'archived', reach);
  }

  async #publishTogether(count: number, signal: AbortSignal | undefined) {
    signal?.throwIfAborted();
    this.#waiting ??= this.#inOneTurn();
    const joint = this.#waiting;
    joint.most = Math.max(joint.most, count);
    joint.calls += 1;
    const over = Promise.withResolvers<never>();
    const leave = (): void => {
      joint.calls -= 1;
      if (joint.calls === 0) {
        if (this.#waiting === joint) this.#waiting = undefined;
        joint.unwanted.abort(signal?.reason);
      }
      over.reject(signal?.reason);
    };
    signal?.addEventListener('abort', leave, { once: true });
    try {
      const ids = await Promise.race([joint.ids, over.promise]);
      const last = ids.at(-1) ?? 0;
      return { first_id: ids.at(-count) ?? last, last_id: last };
    } finally {
      signal?.removeEventListener('abort', leave);
    }
  }

  #inOneTurn(): Joint {
    const unwanted = new AbortController();
    const { signal } = unwanted;
    const ids = this.#inTurn(signal, async () => {
      // Waits for further calls to join, because checks that shared a publication ask again almost together.
      if (this.#wasJoint || joint.calls > 1) await sleep(100, undefined, { signal });
      this.#wasJoint = joint.calls > 1;
      this.#waiting = undefined;
      return this.#publish(joint.most, this.#reach(signal));
    });
    // Handles a rejection after the last caller has left; otherwise Node ends the process.
    ids.catch(() => {});
    const joint: Joint = { most: 1, calls: 0, unwanted, ids };
    return joint;
  }

  async #publish(count: number, reach: Reach): Promise<(number | bigint)[]> {
    const watch = this.#watch;
    await watch.start(this.#timeoutMs, reach.signal);
    const mark = watch.mark;
    let earliest: number | bigint | undefined;
    // Drops earlier events, which a new stream repeats after a restart of the agent.
    const published = (): WatchedEvent[] =>
      watch.since(mark).filter(({ id }) => earliest !== undefined && id >= earliest);
    do {
      const id = await this.#deployAgain(reach);
      const event = await watch.until(({ deploymentId }) => deploymentId === id, mark, this.#timeoutMs, reach.signal);
      if (event === undefined)
        throw new ControlLate(
          `control: the agent reported ${id} as deployed, but its event stream had no event of it within ` +
            `${this.#timeoutMs / 1000} s`,
        );
      earliest ??= event.id;
    } while (published().length < count);
    // Callers take the last ids, because earlier events concern the replaced deployment.
    const ids = published().map(({ id }) => id);
    return ids.sort((left, right) => (left < right ? -1 : 1));
  }

  /** Deploys the same release again, because a new release takes more requests. */
  async #deployAgain(reach: Reach): Promise<string> {
    this.#release ??= this.#platform.createReleaseFixture(filesOf({}));
    const release = await this.#release.catch((error: unknown) => {
      this.#release = undefined;
      throw error;
    });
    const id = await reach.platform.deployRelease(this.#options.deviceId, 'Makes an event', release);
    await this.#deployed(id, reach);
    return id;
  }

  /** Throws ControlRefused if the agent only retries (section 2.2 of the specification). */
  async #fail(request: ControlDeployment, reach: Reach): Promise<Deployment> {
    if (this.#onlyRetries) throw new ControlRefused(ONLY_RETRIES);
    // Path that no agent can write, because a file name has at most 255 bytes.
    const files = [...filesOf(request), { filepath: `/srv/robot/${'too-long-'.repeat(40)}.json`, content: '{}' }];
    const { description = 'Cannot be applied' } = request;
    const id = await reach.platform.deploy(this.#options.deviceId, description, files);
    let retriesSince: number | undefined;
    const failed = ({ error_status: error }: Deployment): boolean => {
      if (error === 'retrying') retriesSince ??= performance.now();
      if (retriesSince !== undefined && performance.now() - retriesSince > 10_000) {
        this.#onlyRetries = true;
        throw new ControlRefused(ONLY_RETRIES);
      }
      return error === 'failed';
    };
    return this.#reported(id, failed, 'failed', reach);
  }

  async #deployed(id: string, reach: Reach): Promise<Deployment> {
    const settled = ({ activity_status, error_status }: Deployment): boolean => {
      if (error_status === 'failed') throw new ControlError(`control: the agent reported ${id} as failed`);
      return activity_status === 'deployed';
    };
    const record = await this.#reported(id, settled, 'deployed', reach);
    let shown = 'nothing';
    const look = async (): Promise<Deployment | undefined> => {
      const response = await reach.device.get('/deployments/current').catch((error: unknown) => {
        if (error instanceof NoAnswer || error instanceof Unreachable) return undefined;
        throw error;
      });
      shown = response === undefined ? 'nothing' : cut(response.text, 200);
      const current = response?.json as Deployment | undefined;
      return current?.id === id ? current : undefined;
    };
    const failure = () => `the agent reported ${id} as deployed, but shows ${shown} as current`;
    const current = await this.#until(look, failure, reach);
    // Answers with the platform's values, because checks compare them with those of the agent.
    const ordered = (['release_id', 'device_id', 'description'] as const).filter(
      (name) => typeof record[name] === 'string',
    );
    return { ...current, ...Object.fromEntries(ordered.map((name) => [name, record[name]])) };
  }

  async #reported(id: string, settled: (deployment: Deployment) => boolean, what: string, reach: Reach) {
    let shown: Deployment | undefined;
    const look = async (): Promise<Deployment | undefined> => {
      this.#askToSync(reach.device);
      shown = await reach.platform.deployment(id);
      return settled(shown) ? shown : undefined;
    };
    const failure = () =>
      `the agent did not report ${id} as ${what} within ${this.#timeoutMs / 1000} s; the platform shows ` +
      `${shown?.activity_status}, error ${shown?.error_status}`;
    return this.#until(look, failure, reach);
  }

  /** Ignores the device's answer, because only the agent's report to the platform counts. */
  #askToSync(device: HttpClient): void {
    const { syncPath } = this.#options;
    if (syncPath === undefined || this.#asking) return;
    this.#asking = true;
    const asked = (): void => {
      this.#asking = false;
    };
    device.post(syncPath, {}).then(asked, asked);
  }

  #until<T>(look: () => Promise<T | undefined>, failure: () => string, { signal }: Reach): Promise<T> {
    return poll('the agent', look, {
      timeoutMs: this.#timeoutMs,
      firstPauseMs: 20,
      // Each pause is 30 % longer than the last, because frequent polls slow an agent on a busy machine.
      growth: 1.3,
      longestPauseMs: 150,
      signal,
      timeoutError: () => new ControlLate(`control: ${failure()}`),
    });
  }

  /** Runs calls one by one, because an agent has one target deployment at a time. */
  #inTurn<T>(signal: AbortSignal | undefined, work: () => Promise<T>): Promise<T> {
    const next = this.#last.then(() => {
      signal?.throwIfAborted();
      return work();
    });
    this.#last = next.catch(() => {});
    return next;
  }
}

/** Adds a file to an empty deployment, because some agents refuse empty deployments. */
function filesOf({ config_instances: files = [] }: ControlDeployment): ConfigFile[] {
  if (files.length === 0)
    return [{ filepath: '/srv/robot/config.json', content: JSON.stringify({ made: randomUUID() }) }];
  return files.map(({ filepath, content }) => ({ filepath: filepath.replace(/^\/?/, '/'), content }));
}
