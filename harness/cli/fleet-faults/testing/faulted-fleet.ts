/** Fleets with faults, and the comparison of the platform's records with the robots' files. For tests and soaks. */

import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'vitest';
import { type FleetResult, fleetResult } from '../../../../simulators/fleet/result/result.ts';
import { poll } from '../../../common/waiting.ts';
import { optionWords, Running, type RunOptions, unlessSaturated } from '../../testing/muster.ts';

export const API_KEY = 'dev';
const VERSION = '2026-08-17.everglades';

export interface Deployment {
  id: string;
  activity_status: string;
  error_status: string;
  device_id: string;
}

export type RobotFiles = ReturnType<typeof filesOf>;

/** Files of robots that a fleet with `--keep` left below `--dir`. */
export function robotsIn(dir: string): RobotFiles[] {
  const [fleet = ''] = readdirSync(dir);
  const workers = join(dir, fleet, 'r');
  return readdirSync(workers).flatMap((worker) =>
    readdirSync(join(workers, worker)).map((robot) => filesOf(join(workers, worker, robot))),
  );
}

function filesOf(folder: string) {
  // Tolerates missing files, because a robot may never have come online.
  const read = (otherwise: string, ...names: string[]): string =>
    existsSync(join(folder, ...names)) ? readFileSync(join(folder, ...names), 'utf8') : otherwise;
  const events = read('', 'events.jsonl')
    .split('\n')
    .filter((line) => line !== '')
    .map(
      (line) => JSON.parse(line) as { id: number; type: string; occurred_at: string; data: { deployment_id: string } },
    );
  return {
    deviceId: (JSON.parse(read('{"device_id":""}', 'identity', 'device.json')) as { device_id: string }).device_id,
    deployed: events.filter(({ type }) => type === 'deployment.deployed').map(({ data }) => data.deployment_id),
    ids: events.map(({ id }) => id),
    occurredAt: events.map(({ occurred_at }) => occurred_at),
    current: (JSON.parse(read('{}', 'state.json')) as { current?: string }).current,
  };
}

export interface Expected {
  /** Expected number of deployments of each robot. Default: as many as the platform has recorded. */
  each?: number | undefined;
  /** Maximum number of deployments that the platform may replace before a robot hears of them. Default: 0. */
  replaced?: number;
}

export function disagreements(
  deployments: readonly Deployment[],
  robots: readonly RobotFiles[],
  { each, replaced = 0 }: Expected = {},
): string[] {
  const byDevice = Map.groupBy(deployments, ({ device_id }) => device_id);
  return robots.flatMap((robot) => {
    const own = byDevice.get(robot.deviceId) ?? [];
    return problemsOf(robot, own, { each: each ?? own.length, replaced }).map(
      (problem) => `${robot.deviceId || 'a robot without identity'}: ${problem}`,
    );
  });
}

function problemsOf(
  { deployed, ids, current }: RobotFiles,
  own: readonly Deployment[],
  { each, replaced }: { each: number; replaced: number },
): string[] {
  const problems: string[] = [];
  const expect = (held: boolean, problem: string): void => void (held || problems.push(problem));
  const known = new Set(own.map(({ id }) => id));
  const waiting = own.filter(({ activity_status }) => !['deployed', 'archived'].includes(activity_status));
  const inService = own.filter(({ activity_status }) => activity_status === 'deployed');
  const onPlatform = inService.map(({ id, error_status }) => `${id} (error status ${error_status})`);
  const foreign = deployed.filter((id) => !known.has(id));
  const [served] = inService;
  expect(own.length === each, `the platform has ${own.length} of its ${each} deployments`);
  expect(waiting.length === 0, `the platform waits for it with ${waiting.map(({ id }) => id).join(', ')}`);
  expect(deployed.length >= each - replaced, `it applied ${deployed.length} of ${each} deployments`);
  expect(new Set(deployed).size === deployed.length, `it applied one twice: ${deployed.join(', ')}`);
  expect(foreign.length === 0, `it applied ${foreign.join(', ')}, which the platform does not have`);
  expect(
    ids.every((id, index) => index === 0 || id > (ids[index - 1] ?? 0)),
    `ids of its events do not ascend: ${ids.join(', ')}`,
  );
  expect(
    inService.length === Math.min(own.length, 1) &&
      served?.id === current &&
      (served?.error_status ?? 'none') === 'none',
    `its current deployment is ${current}, and on the platform ${onPlatform.join(', ')}`,
  );
  expect(deployed.at(-1) === current, `it applied ${deployed.at(-1)} last, and shows ${current}`);
  return problems;
}

const headers = { 'X-API-Key': API_KEY, 'Service-Version': VERSION };

async function page<T>(url: string, path: string) {
  const response = await fetch(`${url}${path}`, { headers });
  if (!response.ok) throw new Error(`GET ${path} was answered ${response.status}`);
  return (await response.json()) as { data: T[]; has_more: boolean; total_count?: number };
}

const countOf = async (url: string, path: string): Promise<number> =>
  (await page(url, `${path}limit=1&expand=total_count`)).total_count ?? 0;

export const totalOf = (url: string): Promise<number> => countOf(url, '/deployments?');

export const releasesOf = (url: string): Promise<number> => countOf(url, '/releases?');

export const onlineOf = (url: string): Promise<number> => countOf(url, '/devices?status=online&');

export async function deploymentsOf(url: string): Promise<Deployment[]> {
  const all: Deployment[] = [];
  for (;;) {
    const { data, has_more } = await page<Deployment>(url, `/deployments?limit=100&offset=${all.length}`);
    all.push(...data);
    if (!has_more) return all;
  }
}

const PATIENCE = { timeoutMs: 100_000, firstPauseMs: 20 };

export interface Addresses {
  url: string;
  agent_url: string;
  mqtt: string;
}

type Surroundings = Pick<RunOptions, 'env' | 'under'>;

interface FleetSetup extends Surroundings {
  /** YAML of the phases after the ramp. */
  phases: string;
  platform: Addresses;
  robots?: number;
  options?: Record<string, string>;
}

export const rollouts = (...over: string[]): string =>
  over.map((time) => `  - { do: rollout, over: ${time}, within: 100s }\n`).join('');

export class Scene implements AsyncDisposable {
  readonly #dir = mkdtempSync(join(tmpdir(), 'muster-ff-'));
  readonly #running: Running[] = [];

  path(...names: string[]): string {
    return join(this.#dir, ...names);
  }

  async platform(options: Record<string, string> = {}, surroundings: Surroundings = {}) {
    const given = { 'api-key': API_KEY, 'min-key-bits': '1024', 'log-level': 'error', ...options };
    const words = ['simulate', 'platform', ...optionWords(given)];
    const running = this.#started(new Running(words, { cwd: this.#dir, ...surroundings }));
    return { ...(await running.ready<Addresses>()), running };
  }

  fleet({ phases, platform, robots = 8, options = {}, ...surroundings }: FleetSetup) {
    mkdirSync(this.path('robots'), { recursive: true });
    const scenario = this.path('scenario.yaml');
    writeFileSync(scenario, `name: faults\nkey_bits: 1024\nphases:\n  - { do: ramp, over: 200ms }\n${phases}`);
    const folders = { out: this.path('out'), state: this.path('state'), dir: this.path('robots') };
    const address = { platform: platform.url, 'agent-url': platform.agent_url, mqtt: platform.mqtt };
    const given = { scenario, robots: String(robots), workers: '2', ...folders, ...address, ...options };
    const words = ['fleet', '--keep', ...optionWords(given)];
    const { env, under } = surroundings;
    const settings = { env: { MUSTER_API_KEY: API_KEY, ...env }, cwd: this.#dir, ...(under && { under }) };
    const running = this.#started(new Running(words, settings));
    return {
      running,
      deployments: async (url: string, count: number): Promise<void> => {
        const look = async () => (await totalOf(url)) >= count || undefined;
        await poll(`${count} deployments on the platform`, look, PATIENCE);
      },
      end: () => this.#end(running),
      endsWell: async (url: string, each: number) => {
        const ended = await this.#end(running);
        expect(ended.result).toMatchObject({ complete: true, missed: [], violations: [] });
        expect(ended.code).toBe(unlessSaturated(0, ended.result));
        await this.agree(url, each);
        return ended;
      },
    };
  }

  async #end(running: Running): Promise<{ code: number | null; said: string; result: FleetResult }> {
    const { code, stdout, stderr } = await running.ended;
    let value: unknown;
    try {
      value = JSON.parse(readFileSync(this.path('out', 'result.json'), 'utf8'));
    } catch (error) {
      throw new Error(`no result (exit code ${code}): ${stderr}`, { cause: error });
    }
    expect(fleetResult.problems(value)).toEqual([]);
    return { code, said: stdout.replaceAll(/\s+/g, ' '), result: value as FleetResult };
  }

  robots(): RobotFiles[] {
    return robotsIn(this.path('robots'));
  }

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
