/** The smallest device core that an uplink can be tested against. For tests and benches only. */
import type { AgentDeployment, AgentRelease } from '../../../../harness/contract/agent.ts';
import type { Deployment } from '../../../../harness/contract/device-api.ts';
import type { ConfigFile, DeployError, DeploymentPort } from '../../ports.ts';

/** A device that keeps files, events and deployments in memory. */
export class MemoryDevice implements DeploymentPort {
  /** What is on the robot's disk. */
  readonly files = new Map<string, string>();
  /** `deployed <id>`, `removed <id>`, in the order of the event stream. */
  readonly events: string[] = [];
  readonly releases: AgentRelease[] = [];
  /** Runs before each deployment; throws to make it fail. */
  beforeDeploy: (wanted: AgentDeployment) => Promise<void> | DeployError | undefined = () => undefined;
  readonly #deployments = new Map<string, Deployment>();
  readonly #filesOf = new Map<string, ConfigFile[]>();

  active(): Deployment[] {
    return [...this.#deployments.values()].filter(({ activity_status }) => activity_status === 'deployed');
  }

  get(id: string): Deployment | undefined {
    return this.#deployments.get(id);
  }

  async deploy(wanted: AgentDeployment, files: ConfigFile[]) {
    const trouble = this.beforeDeploy(wanted);
    if (trouble instanceof Error) throw trouble;
    await trouble;
    const replaced: Deployment[] = [];
    for (const old of this.active()) replaced.push(await this.remove(old.id));
    for (const { filepath, content } of files) this.files.set(filepath, Buffer.from(content).toString());
    this.#filesOf.set(wanted.id, files);
    const deployment = this.#record(wanted, { activity_status: 'deployed', error_status: 'none', status: 'deployed' });
    this.events.push(`deployed ${wanted.id}`);
    return { deployment, replaced };
  }

  async remove(id: string): Promise<Deployment> {
    const deployment = this.#deployments.get(id);
    if (!deployment) throw new Error(`nothing to remove: ${id}`);
    for (const { filepath } of this.#filesOf.get(id) ?? []) this.files.delete(filepath);
    this.#filesOf.delete(id);
    this.events.push(`removed ${id}`);
    return this.#record(deployment, { activity_status: 'archived', status: 'archived' });
  }

  async fail(wanted: AgentDeployment, error: 'retrying' | 'failed'): Promise<Deployment> {
    if (error === 'failed' && this.#filesOf.has(wanted.id)) await this.remove(wanted.id);
    const activity_status = error === 'failed' ? 'archived' : wanted.activity_status;
    return this.#record(wanted, { activity_status, error_status: error, status: error });
  }

  remember(release: AgentRelease): void {
    this.releases.push(release);
  }

  #record(deployment: Deployment, change: Partial<Deployment>): Deployment {
    const recorded = { ...deployment, ...change };
    this.#deployments.set(recorded.id, recorded);
    return recorded;
  }
}
