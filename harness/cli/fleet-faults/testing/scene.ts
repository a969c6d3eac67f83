/**
 * A platform and a fleet in processes of their own, and what both remember when the run is over: the records of the platform, and the
 * event logs and states of the robots, read from their disks. For tests.
 */
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'vitest';
import { type FleetResult, fleetResult } from '../../../../simulators/fleet/result/result.ts';
import { poll } from '../../../common/waiting.ts';
import { Running } from '../../testing/muster.ts';

const API_KEY = 'dev';
const VERSION = '2026-08-17.everglades';
/** Only ends what hangs. */
const PATIENCE = { timeoutMs: 100_000, firstPauseMs: 20 };

/** Addresses as the ready line of `muster simulate platform` has them. */
export interface Addresses {
  url: string;
  agent_url: string;
  mqtt: string;
}

interface Event {
  id: number;
  type: string;
  occurred_at: string;
  data: { deployment_id: string };
}

interface Deployment {
  id: string;
  activity_status: string;
  error_status: string;
  target_status: string;
  device_id: string;
}

/** What one robot has on its disk. */
interface RobotFiles {
  deviceId: string;
  /** `deployment_id` of every `deployment.deployed` in its event log. */
  deployed: string[];
  /** Ids of all events, and when they occurred. */
  ids: number[];
  occurredAt: string[];
  /** The deployment that it shows as current. */
  current: string | undefined;
}

/** How processes of a scene are run, beside their words. */
export interface Surroundings {
  env?: Record<string, string>;
  under?: readonly string[];
}

export interface FleetSetup extends Surroundings {
  /** Phases after the ramp, as YAML. */
  phases: string;
  platform: Addresses;
  robots?: number;
  options?: Record<string, string>;
}

export class Scene implements AsyncDisposable {
  readonly #dir = mkdtempSync(join(tmpdir(), 'muster-ff-'));
  readonly #running: Running[] = [];

  path(...names: string[]): string {
    return join(this.#dir, ...names);
  }

  /** Starts `muster simulate platform`; with `db` it finds the state of an earlier one again. */
  async platform(
    options: Record<string, string> = {},
    surroundings: Surroundings = {},
  ): Promise<Addresses & { running: Running }> {
    const given = Object.entries({ 'api-key': API_KEY, 'min-key-bits': '1024', 'log-level': 'error', ...options });
    const words = ['simulate', 'platform', ...given.flatMap(([name, value]) => [`--${name}`, value])];
    const running = this.#started(new Running(words, { cwd: this.#dir, ...surroundings }));
    return { ...((await running.ready()) as unknown as Addresses), running };
  }

  fleet({ phases, platform, robots = 8, options = {}, ...surroundings }: FleetSetup): FleetRun {
    mkdirSync(this.path('robots'), { recursive: true });
    const scenario = this.path('scenario.yaml');
    writeFileSync(scenario, `name: faults\nkey_bits: 1024\nphases:\n  - { do: ramp, over: 200ms }\n${phases}`);
    const folders = { out: this.path('out'), state: this.path('state'), dir: this.path('robots') };
    const address = { platform: platform.url, 'agent-url': platform.agent_url, mqtt: platform.mqtt };
    const given = { scenario, robots: String(robots), workers: '2', ...folders, ...address, ...options };
    const words = ['fleet', '--keep', ...Object.entries(given).flatMap(([name, value]) => [`--${name}`, value])];
    const { env, under } = surroundings;
    const settings = { env: { MUSTER_API_KEY: API_KEY, ...env }, cwd: this.#dir, ...(under && { under }) };
    return new FleetRun(this, this.#started(new Running(words, settings)));
  }

  /** The files of every robot of the fleet. */
  robots(): RobotFiles[] {
    const [fleet = ''] = readdirSync(this.path('robots'));
    const hosts = this.path('robots', fleet, 'r');
    return readdirSync(hosts).flatMap((host) =>
      readdirSync(join(hosts, host)).map((robot) => filesOf(join(hosts, host, robot))),
    );
  }

  /**
   * The platform and every robot agree: no deployment was applied twice, none that the platform has is lost, and each robot's current
   * deployment is the one that the platform takes for deployed. `each`: deployments of each robot, all that it has by default; `replaced`: so many of them may
   have been replaced before the robot heard of them.
   */
  async agree(url: string, each?: number, replaced = 0): Promise<void> {
    const deployments = await deploymentsOf(url);
    const robots = this.robots();
    expect(robots.length).toBeGreaterThan(0);
    for (const { deviceId, deployed, current, ids } of robots) {
      const own = deployments.filter(({ device_id }) => device_id === deviceId);
      const applied = own.filter(({ activity_status }) => ['deployed', 'archived'].includes(activity_status));
      const wanted = each ?? own.length;
      expect(own, 'each robot has all of its deployments').toHaveLength(wanted);
      expect(applied, 'the platform waits for no robot').toHaveLength(wanted);
      expect(deployed.length, 'no deployment is lost').toBeGreaterThanOrEqual(wanted - replaced);
      expect(ids, 'ids of events ascend').toEqual([...new Set(ids)].sort((a, b) => a - b));
      expect(new Set(deployed).size, 'no deployment was applied twice').toBe(deployed.length);
      expect(own.map(({ id }) => id)).toEqual(expect.arrayContaining(deployed));
      const inService = own.filter(({ activity_status }) => activity_status === 'deployed');
      expect(inService.map(({ id, error_status }) => [id, error_status])).toEqual([[current, 'none']]);
      expect(deployed.at(-1)).toBe(current);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const running of this.#running.reverse()) await running[Symbol.asyncDispose]();
    rmSync(this.#dir, { recursive: true, force: true });
  }

  #started(running: Running): Running {
    this.#running.push(running);
    return running;
  }
}

/** A running `muster fleet`. */
export class FleetRun {
  readonly running: Running;
  readonly #scene: Scene;

  constructor(scene: Scene, running: Running) {
    this.#scene = scene;
    this.running = running;
  }

  /** Process ids of its workers, in their order. */
  workers(): number[] {
    const { pid } = this.running.child;
    const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ').map(Number);
    return children.filter((child) => /worker\.[jt]s/.test(readFileSync(`/proc/${child}/cmdline`, 'utf8')));
  }

  /** Resolves when the platform has that many deployments. */
  async deployments(url: string, count: number): Promise<void> {
    const look = async () => (await totalOf(url)) >= count || undefined;
    await poll(`${count} deployments on the platform`, look, PATIENCE);
  }

  /** Waits for the end. The words of stdout follow each other with one space. */
  async end(): Promise<{ code: number | null; said: string; result: FleetResult }> {
    const { code, stdout, stderr } = await this.running.ended;
    const file = this.#scene.path('out', 'result.json');
    let value: unknown;
    try {
      value = JSON.parse(readFileSync(file, 'utf8'));
    } catch (error) {
      throw new Error(`no result (exit code ${code}): ${stderr}`, { cause: error });
    }
    expect(fleetResult.problems(value)).toEqual([]);
    return { code, said: stdout.replaceAll(/\s+/g, ' '), result: value as FleetResult };
  }
}

function filesOf(folder: string): RobotFiles {
  const read = (...names: string[]): string => readFileSync(join(folder, ...names), 'utf8');
  const events = read('events.jsonl')
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Event);
  return {
    deviceId: (JSON.parse(read('identity', 'device.json')) as { device_id: string }).device_id,
    deployed: events.filter(({ type }) => type === 'deployment.deployed').map(({ data }) => data.deployment_id),
    ids: events.map(({ id }) => id),
    occurredAt: events.map(({ occurred_at }) => occurred_at),
    current: (JSON.parse(read('state.json')) as { current?: string }).current,
  };
}

const headers = { 'X-API-Key': API_KEY, 'Service-Version': VERSION };

async function page(
  url: string,
  query: string,
): Promise<{ data: Deployment[]; has_more: boolean; total_count?: number }> {
  const response = await fetch(`${url}/deployments?${query}`, { headers });
  if (!response.ok) throw new Error(`GET /deployments was answered ${response.status}`);
  return (await response.json()) as { data: Deployment[]; has_more: boolean; total_count?: number };
}

const totalOf = async (url: string): Promise<number> =>
  (await page(url, 'limit=1&expand=total_count')).total_count ?? 0;

/** How many devices the platform takes for online. */
export async function onlineOf(url: string): Promise<number> {
  const response = await fetch(`${url}/devices?limit=100`, { headers });
  const { data } = (await response.json()) as { data: { status: string }[] };
  return data.filter(({ status }) => status === 'online').length;
}

async function deploymentsOf(url: string): Promise<Deployment[]> {
  const all: Deployment[] = [];
  for (;;) {
    const { data, has_more } = await page(url, `limit=100&offset=${all.length}`);
    all.push(...data);
    if (!has_more) return all;
  }
}
