import fc, { type AsyncCommand } from 'fast-check';
import { expect } from 'vitest';
import { NetworkError } from '../../common/platform-http.ts';
import { DeployError } from '../../device/ports.ts';
import { type DeploymentSource, Syncer } from '../../device/uplink/sync.ts';
import { ManualTime, MemoryDevice, overHttp } from '../../device/uplink/testing/uplinks.ts';
import { createDevice, deploymentBody, type Item, type Kit, type TestPlatform } from './kit.ts';

/** Descriptions of deployments, by which the test agent decides whether a deployment succeeds. */
const OUTCOMES = ['works', 'works when healed', 'never works'] as const;
type Outcome = (typeof OUTCOMES)[number];

/** Muster's agent: reports `failed` after an error that no retry fixes. */
function testAgent(source: DeploymentSource) {
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
    /** Simulates a restart, which keeps only the deployments on the device. */
    restart: () => {
      syncer = new Syncer(device, source, time);
    },
    /** Ends all back-offs; from now on only `never works` fails. */
    heal: () => {
      healed = true;
      time.advance(86_400_000);
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

/** Activity of each deployment when it was last seen, by id. */
type Model = Map<string, keyof typeof RANKS>;

class World {
  readonly agent: ReturnType<typeof testAgent>;
  disturbance: Disturbance | undefined;
  readonly #platform: TestPlatform;
  readonly #kit: Kit;
  readonly #device: string;

  constructor(platform: TestPlatform, kit: Kit, device: string) {
    this.#platform = platform;
    this.#kit = kit;
    this.#device = device;
    this.agent = testAgent(this.#source());
  }

  deployments(): Promise<Item[]> {
    return this.#platform.items(`/deployments?device_id=${this.#device}&limit=100`);
  }

  listed(): { id: string; target_status: string }[] {
    const query = { activity: ['queued', 'deployed'], limit: 100, offset: 0, expand: ['config_instances'] };
    return this.#platform.port.deployments(this.#device, query).items;
  }

  async create(target: 'staged' | 'deployed', description: Outcome): Promise<string> {
    const body = deploymentBody(this.#kit, this.#device, target);
    return (await this.#platform.create('/deployments', { ...body, description })).id;
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
      if (!(error instanceof NetworkError)) throw error;
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
    const result = overHttp(act);
    if (disturbance?.when === 'after') await this.#disturb(disturbance);
    return result;
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
    const before = RANKS[model.get(id) ?? 'staged'];
    expect(RANKS[activity], `${model.get(id)} became ${activity}`).toBeGreaterThanOrEqual(before);
    model.set(id, activity);
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

export function agreementProperty(platform: TestPlatform, kit: Kit) {
  return fc.asyncProperty(fc.commands(COMMANDS, { maxCommands: 25, size: 'max' }), async (commands) => {
    const world = new World(platform, kit, await createDevice(platform));
    const model: Model = new Map();
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
