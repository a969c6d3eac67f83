import fc, { type AsyncCommand } from 'fast-check';
import { expect } from 'vitest';
import type { AgentDeployment, DeploymentReport } from '../../../harness/contract/agent.ts';
import { ApiError, NetworkError } from '../../common/platform-http.ts';
import { DeployError } from '../../device/ports.ts';
import { type DeploymentSource, Syncer } from '../../device/uplink/sync.ts';
import { ManualTime, MemoryDevice } from '../../device/uplink/testing/uplinks.ts';
import { PlatformError } from '../ports.ts';
import { createDevice, deploymentBody, type Item, type Kit, type TestPlatform } from './kit.ts';

/** Descriptions of deployments, which tell the test agents how each goes. */
const OUTCOMES = ['works', 'works when healed', 'never works'] as const;
type Outcome = (typeof OUTCOMES)[number];

interface TestAgent {
  active(): string[];
  /** Throws TwoTargetsError if the platform left two targets. */
  sync(): Promise<void>;
  /** Starts a new process on the old disk. */
  restart(): void;
  /** Ends all back-offs; from now on only `never works` fails. */
  heal(): void;
}

class TwoTargetsError extends Error {
  override name = 'TwoTargetsError';
}

/** Muster's agent: reports `failed` after an error that no retry fixes. */
export function listingAgent(source: DeploymentSource): TestAgent {
  const device = new MemoryDevice();
  const time = new ManualTime();
  const never = new AbortController().signal;
  let healed = false;
  let syncer = new Syncer(device, source, time);
  device.beforeDeploy = ({ description }) => {
    if (description === 'never works') return new DeployError('it never works', false);
    return description === 'works' || healed ? undefined : new DeployError('not now', true);
  };
  return {
    active: () => device.active().map(({ id }) => id),
    sync: () => syncer.run(never),
    restart: () => {
      syncer = new Syncer(device, source, time);
    },
    heal: () => {
      healed = true;
      time.advance(86_400_000);
    },
  };
}

interface Known {
  target: AgentDeployment['target_status'];
  activity: 'queued' | 'deployed' | 'archived';
}

/**
 * Like the published agent: remembers every deployment, applies none while the device has two targets, and retries
 * without end.
 */
export function keepingAgent(source: DeploymentSource): TestAgent {
  const known = new Map<string, Known>();
  const never = new AbortController().signal;
  let healed = false;
  const active = () => [...known].filter(([, { activity }]) => activity === 'deployed').map(([id]) => id);
  const report = (id: string, what: DeploymentReport) => source.report?.(id, what, never);
  const archive = async (id: string, of: Known): Promise<void> => {
    of.activity = 'archived';
    await report(id, { activity_status: 'archived' });
  };
  const works = ({ description }: AgentDeployment) =>
    description === 'works' || (description !== 'never works' && healed);
  const reach = async (wanted: AgentDeployment, of: Known): Promise<void> => {
    await source.contents(wanted.config_instances ?? [], never);
    if (!works(wanted)) return await report(wanted.id, { error_status: 'retrying' });
    for (const id of active()) await archive(id, known.get(id) as Known);
    of.activity = 'deployed';
    await report(wanted.id, { activity_status: 'deployed', error_status: 'none' });
  };
  return {
    active,
    restart: () => {},
    heal: () => {
      healed = true;
    },
    sync: async () => {
      const listed = await source.list(never);
      for (const { id, target_status } of listed) {
        known.set(id, { activity: 'queued', ...known.get(id), target: target_status });
      }
      const targets = [...known].filter(([, { target, activity }]) => target === 'deployed' && activity !== 'archived');
      if (targets.length > 1) throw new TwoTargetsError(targets.map(([id]) => id).join(' and '));
      for (const told of listed) {
        const of = known.get(told.id) as Known;
        if (of.activity === 'archived') await report(told.id, { activity_status: 'archived' });
        else if (of.target === 'archived') await archive(told.id, of);
        else if (of.activity === 'queued') await reach(told, of);
        else if (told.activity_status !== 'deployed') await report(told.id, { activity_status: 'deployed' });
      }
    },
  };
}

const OPERATIONS = ['list', 'contents', 'report'] as const;
type Operation = (typeof OPERATIONS)[number];

interface Disturbance {
  operation: Operation;
  nth: number;
  when: 'before' | 'after';
  what: 'cut' | 'crash' | Outcome;
}

const RANKS = { staged: 0, drifted: 0, queued: 1, deployed: 2, removing: 3, archived: 4 };

interface Model {
  seen: Map<string, keyof typeof RANKS>;
}

interface Tested {
  platform: TestPlatform;
  kit: Kit;
}

type AgentOf = (source: DeploymentSource) => TestAgent;

class World {
  readonly agent: TestAgent;
  disturbance: Disturbance | undefined;
  readonly #platform: TestPlatform;
  readonly #kit: Kit;
  readonly #device: string;

  constructor({ platform, kit }: Tested, device: string, agentOf: AgentOf) {
    this.#platform = platform;
    this.#kit = kit;
    this.#device = device;
    this.agent = agentOf(this.#source());
  }

  deployments(): Promise<Item[]> {
    return this.#platform.items(`/deployments?device_id=${this.#device}&limit=100`);
  }

  listed(): { id: string; target_status: string }[] {
    const query = { activity: ['queued', 'deployed'], limit: 100, offset: 0, expand: ['config_instances'] };
    return this.#platform.port.deployments(this.#device, query).items;
  }

  async create(target: 'staged' | 'deployed', description: Outcome): Promise<string> {
    const { id } = await this.#platform.create('/deployments', {
      ...deploymentBody(this.#kit, this.#device, target),
      description,
    });
    return id;
  }

  async act(which: number, action: 'deploy' | 'archive'): Promise<void> {
    const all = await this.deployments();
    const chosen = all[which % Math.max(1, all.length)];
    if (chosen) expect([200, 409]).toContain((await this.#platform.post(`/deployments/${chosen.id}/${action}`)).status);
  }

  async sync(disturbance?: Disturbance): Promise<void> {
    this.disturbance = disturbance;
    try {
      await this.agent.sync();
    } catch (error) {
      if (error instanceof TwoTargetsError || !(error instanceof NetworkError)) throw error;
      if (disturbance?.what === 'crash') this.agent.restart();
    } finally {
      this.disturbance = undefined;
    }
  }

  #source(): DeploymentSource {
    const { port } = this.#platform;
    return {
      list: () => this.#call('list', () => structuredClone(this.listed()) as never),
      contents: (instances) =>
        this.#call('contents', () => instances.map(({ id }) => port.content(this.#device, id).data)),
      report: (id, report) => this.#call('report', () => void port.report(this.#device, id, report)),
    };
  }

  async #call<T>(operation: Operation, act: () => T): Promise<T> {
    const disturbed = this.disturbance?.operation === operation && this.disturbance.nth-- === 0;
    const disturbance = disturbed ? this.disturbance : undefined;
    if (disturbance?.when === 'before') await this.#disturb(disturbance);
    try {
      const result = act();
      if (disturbance?.when === 'after') await this.#disturb(disturbance);
      return result;
    } catch (error) {
      throw error instanceof PlatformError ? new ApiError(error.status, error.code, error.message) : error;
    }
  }

  async #disturb({ what }: Disturbance): Promise<void> {
    if (what === 'cut' || what === 'crash') throw new NetworkError(what);
    await this.create('deployed', what);
  }
}

async function look(model: Model, world: World): Promise<void> {
  const all = await world.deployments();
  const targets = all.filter(
    ({ target_status: target, activity_status: activity }) => target === 'deployed' && activity !== 'archived',
  );
  expect(targets.length, 'targets on the platform').toBeLessThanOrEqual(1);
  expect(world.agent.active().length, 'deployments on the device').toBeLessThanOrEqual(1);
  for (const { id, activity_status } of all) {
    const activity = activity_status as keyof typeof RANKS;
    const before = RANKS[model.seen.get(id) ?? 'staged'];
    expect(RANKS[activity], `${model.seen.get(id)} became ${activity}`).toBeGreaterThanOrEqual(before);
    model.seen.set(id, activity);
  }
}

const command = (name: string, run: (world: World) => Promise<unknown>): AsyncCommand<Model, World> => ({
  check: () => true,
  toString: () => name,
  run: async (model, world) => {
    await run(world);
    await look(model, world);
  },
});

const outcome = fc.constantFrom(...OUTCOMES);
const disturbance: fc.Arbitrary<Disturbance> = fc.record({
  operation: fc.constantFrom(...OPERATIONS),
  nth: fc.nat(2),
  when: fc.constantFrom('before', 'after'),
  what: fc.oneof(fc.constantFrom('cut' as const, 'crash' as const), outcome),
});

const COMMANDS = [
  outcome.map((how) => command(`deploy one that ${how}`, (world) => world.create('deployed', how))),
  outcome.map((how) => command(`stage one that ${how}`, (world) => world.create('staged', how))),
  fc.nat(9).map((which) => command(`deploy the one at ${which}`, (world) => world.act(which, 'deploy'))),
  fc.nat(9).map((which) => command(`archive the one at ${which}`, (world) => world.act(which, 'archive'))),
  fc.constant(command('sync', (world) => world.sync())),
  disturbance.map((how) => command(`sync with ${JSON.stringify(how)}`, (world) => world.sync({ ...how }))),
  fc.constant(command('restart', async (world) => world.agent.restart())),
  fc.constant(command('heal', async (world) => world.agent.heal())),
];

const SETTLED_AFTER = 4;

export function agreementProperty(tested: Tested, agentOf: AgentOf) {
  return fc.asyncProperty(fc.commands(COMMANDS, { maxCommands: 25, size: 'max' }), async (commands) => {
    const world = new World(tested, await createDevice(tested.platform), agentOf);
    const model: Model = { seen: new Map() };
    await fc.asyncModelRun(() => ({ model, real: world }), commands);
    world.agent.heal();
    const last = await world.create('deployed', 'works');
    for (let round = 0; round < SETTLED_AFTER; round += 1) await world.sync();
    await look(model, world);
    const open = (await world.deployments()).filter(
      ({ activity_status: activity }) => !['archived', 'staged', 'drifted'].includes(String(activity)),
    );
    expect(open).toMatchObject([{ id: last, activity_status: 'deployed', error_status: 'none' }]);
    expect(world.agent.active()).toEqual([last]);
    expect(world.listed()).toMatchObject([{ id: last, target_status: 'deployed' }]);
  });
}
