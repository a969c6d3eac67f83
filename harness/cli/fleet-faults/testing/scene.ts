/**
 * A platform and a fleet in processes of their own, and what both remember when the run is over: the records of the platform, and the
 * event logs and states of the robots, read from their disks. For tests.
 */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'vitest';
import { type FleetResult, fleetResult } from '../../../../simulators/fleet/result/result.ts';
import { poll } from '../../../common/waiting.ts';
import { Running } from '../../testing/muster.ts';
import { API_KEY, deploymentsOf, disagreements, type RobotFiles, robotsIn, totalOf } from './records.ts';

/** Only ends what hangs. */
const PATIENCE = { timeoutMs: 100_000, firstPauseMs: 20 };

/** Addresses as the ready line of `muster simulate platform` has them. */
export interface Addresses {
  url: string;
  agent_url: string;
  mqtt: string;
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
    return robotsIn(this.path('robots'));
  }

  /** The platform and every robot agree. `each`, `replaced`: as in `Expected`. */
  async agree(url: string, each?: number, replaced = 0): Promise<void> {
    const robots = this.robots();
    expect(robots.length).toBeGreaterThan(0);
    expect(disagreements(await deploymentsOf(url), robots, { each, replaced })).toEqual([]);
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
