/** Kills and restarts a platform with its broker during roll-outs of a fleet, and compares the records afterwards. */
import { once } from 'node:events';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import process from 'node:process';
import { random } from '../../../simulators/common/random.ts';
import { scratch } from '../../../simulators/common/testing/scratch.ts';
import type { FleetResult } from '../../../simulators/fleet/result/result.ts';
import type { RolloutRow } from '../../../simulators/fleet/worker/worker.ts';
import {
  type Addresses,
  API_KEY,
  deploymentsOf,
  disagreements,
  onlineOf,
  releasesOf,
  robotsIn,
  totalOf,
} from '../../cli/fleet-faults/testing/faulted-fleet.ts';
import { type Ended, Running } from '../../cli/testing/muster.ts';
import { NamedError } from '../../common/usage.ts';
import { poll, runningMs } from '../../common/waiting.ts';
import { wordsOf } from '../measure/process.ts';
import { count, toolOptions } from '../options.ts';

interface StormOptions {
  robots: number;
  seed: number;
  dir: string;
  say(line: string): void;
}

/** Robots started and deployments posted, per second. */
const RATE = { ramp: 200, rollout: 200 };
const SIGNALS = ['SIGKILL', 'SIGTERM'] as const;
const STANDSTILL_MS = 180_000;

/** Thrown if a run decided nothing, e.g. because the machine is too slow. */
export class Undecided extends NamedError {}

const USAGE = `npm run soak -- faults [options]

A platform that keeps a file, and a fleet with three roll-outs. In the first one the platform is killed with its \
broker, in the second it ends by SIGTERM; both times it comes back, and all robots reconnect at once. Afterwards the \
robots' event logs are compared with its records. It waits for robots and deployments and not for a time. It is \
undecided (exit code 2) when nothing moves for three minutes.`;

export const faults = {
  about: 'a platform that dies and comes back under 5,000 robots',
  run: async (words: readonly string[], say: (line: string) => void): Promise<readonly string[]> => {
    const asked = { robots: count('robots of the fleet', 5000), seed: count('seed of the fleet', 1, 0) };
    const { robots, seed } = toolOptions(USAGE, asked, { words });
    using folder = scratch();
    const dir = folder.path;
    const options: StormOptions = { robots, seed, dir, say };
    await using all = new AsyncDisposableStack();
    const start = (command: readonly string[]): Running =>
      all.use(new Running(command, { cwd: dir, env: { MUSTER_API_KEY: API_KEY, TMPDIR: dir }, detached: false }));
    const platform = await startPlatform(start, dir, seed);
    const fleet = start(fleetWords(options, platform));
    const reach = reacher(options, fleet);
    const allOnline = (mayEnd = false) => reach(robots, 'robots online', () => onlineOf(platform.url), mayEnd);
    for (const [number, how] of SIGNALS.entries()) {
      await allOnline();
      await reach(number + 1, 'roll-outs begun', () => releasesOf(platform.url));
      // The platform stops once about 30 % of a roll-out's deployments are posted.
      const posted = Math.min((await totalOf(platform.url)) + Math.ceil(0.3 * robots), (number + 1) * robots);
      await reach(posted, 'deployments posted', () => totalOf(platform.url));
      const down = await platform.restart(how);
      const served = performance.now();
      // The fleet may end early after the last restart, because failed deployments count as missed at once.
      const online = await allOnline(how === SIGNALS.at(-1));
      const back = `all robots are online ${ms(performance.now() - served)} later`;
      const then = online ? back : 'the fleet was done before all robots were online';
      say(`${how} to the platform, which serves again after ${ms(down)}; ${then}`);
    }
    return await compareRecords(options, platform.url, await fleet.ended);
  },
};

/**
 * Returns a function that waits until `count` reaches `goal`. It rejects with Undecided after a standstill or the end
 * of the fleet; with `mayEnd`, it resolves with false after the end of the fleet.
 */
function reacher({ say }: StormOptions, fleet: Running) {
  let ended: Ended | undefined;
  void fleet.ended.then((how) => {
    ended = how;
  });
  return async (goal: number, what: string, count: () => Promise<number>, mayEnd = false): Promise<boolean> => {
    let reached = -1;
    let moved = runningMs();
    let reported = moved;
    const look = async (): Promise<boolean | undefined> => {
      const now = await count();
      if (now >= goal) return true;
      const left = `${now.toLocaleString('en')} of ${goal.toLocaleString('en')} ${what}`;
      if (ended !== undefined && mayEnd) return false;
      if (ended !== undefined) throw new Undecided(`the fleet ended (${ended.code}) at ${left}: ${ended.stderr}`);
      if (now !== reached) moved = runningMs();
      reached = now;
      if (runningMs() - moved > STANDSTILL_MS)
        throw new Undecided(`${left}, and nothing moved for ${STANDSTILL_MS / 60_000} minutes; try fewer --robots`);
      if (runningMs() - reported > 15_000) {
        say(left);
        reported = runningMs();
      }
      return undefined;
    };
    return await poll(what, look, { timeoutMs: Number.POSITIVE_INFINITY, firstPauseMs: 100 });
  };
}

const ms = (duration: number): string => `${Math.round(duration).toLocaleString('en')} ms`;

async function startPlatform(start: (words: readonly string[]) => Running, dir: string, seed: number) {
  const [port, mqttPort] = await keepablePorts(seed);
  const options = { port, 'mqtt-port': mqttPort, db: join(dir, 'platform.db'), 'api-key': API_KEY };
  const words = ['simulate', 'platform', ...wordsOf({ ...options, 'min-key-bits': 1024, 'log-level': 'error' })];
  let running = start(words);
  return {
    ...(await running.ready<Addresses>()),
    restart: async (signal: NodeJS.Signals): Promise<number> => {
      const gone = performance.now();
      running.child.kill(signal);
      await running.ended;
      running = start(words);
      await running.ready();
      return performance.now() - gone;
    },
  };
}

type Platform = Awaited<ReturnType<typeof startPlatform>>;

/** Ports below the system's range for clients, so that no client takes the port of a stopped platform. */
async function keepablePorts(seed: number): Promise<[number, number]> {
  const { integer } = random(`${seed}/${process.pid}/ports`);
  const found: number[] = [];
  while (found.length < 2) {
    const port = integer(10_000, 32_000);
    const server = createServer().listen(port, '127.0.0.1');
    const free = await once(server, 'listening').then(
      () => true,
      () => false,
    );
    server.close();
    if (free && !found.includes(port)) found.push(port);
  }
  return found as [number, number];
}

function fleetWords({ robots, seed, dir }: StormOptions, { url, agent_url, mqtt }: Platform): string[] {
  const seconds = (rate: number): string => `${Math.max(2, Math.ceil(robots / rate))}s`;
  const rollout = `  - { do: rollout, over: ${seconds(RATE.rollout)}, within: 5m }\n`;
  const ramp = `  - { do: ramp, over: ${seconds(RATE.ramp)}, measure: false }\n`;
  const at = (name: string): string => join(dir, name);
  mkdirSync(at('robots'));
  const phases = `${ramp}${rollout.repeat(SIGNALS.length + 1)}`;
  writeFileSync(at('scenario.yaml'), `name: reconnect storms\nkey_bits: 1024\nphases:\n${phases}`);
  const places = { scenario: at('scenario.yaml'), out: at('out'), state: at('state'), dir: at('robots') };
  return ['fleet', '--keep', ...wordsOf({ robots, seed, platform: url, 'agent-url': agent_url, mqtt, ...places })];
}

async function compareRecords(
  { robots, dir, say }: StormOptions,
  url: string,
  { code, stderr }: Ended,
): Promise<string[]> {
  const file = join(dir, 'out', 'result.json');
  if (!existsSync(file)) throw new Error(`the fleet left no result (exit code ${code}): ${stderr}`);
  const result = JSON.parse(readFileSync(file, 'utf8')) as FleetResult;
  say(`the fleet ended with ${code}, verdict ${result.verdict}`);
  for (const reason of [...result.incomplete_reasons, ...result.verdict_reasons]) say(`  ${reason}`);
  const rows = readFileSync(join(dir, 'out', 'rollouts.jsonl'), 'utf8')
    .split('\n')
    .filter(Boolean);
  const acknowledged = new Set(rows.flatMap((line) => (JSON.parse(line) as RolloutRow).deployment_id ?? []));
  const deployments = await deploymentsOf(url);
  const known = new Set(deployments.map(({ id }) => id));
  const files = robotsIn(join(dir, 'robots'));
  // Devices with an unanswered POST of a deployment, which the next roll-out may replace.
  const unanswered = new Set(deployments.filter(({ id }) => !acknowledged.has(id)).map(({ device_id: id }) => id));
  const [some, others] = [true, false].map((is) => files.filter(({ deviceId }) => unanswered.has(deviceId) === is));
  const problems = [
    ...[...acknowledged]
      .filter((id) => !known.has(id))
      .map((id) => `the platform has lost ${id}, which it acknowledged`),
    ...disagreements(deployments, some ?? [], { replaced: 1 }),
    ...disagreements(deployments, others ?? []),
    ...missingFacts(result, robots, code),
  ];
  if (files.length !== robots) problems.push(`${files.length} of ${robots} robots left files`);
  if (rows.length !== robots * (SIGNALS.length + 1)) problems.push(`${rows.length} deployments were posted`);
  const applied = files.reduce((sum, { deployed }) => sum + deployed.length, 0);
  const { 'uplink.lost': lost = 0, 'rollout.missed': missed = 0 } = result.counters;
  say(`${lost} connections lost, ${acknowledged.size} deployments acknowledged, ${applied} applied, ${missed} missed`);
  return problems;
}

function missingFacts(result: FleetResult, robots: number, code: number | null): string[] {
  const { counters, verdict, verdict_reasons, complete, violations, notes } = result;
  const problems: string[] = [];
  const expect = (held: boolean, problem: string): void => void (held || problems.push(`the fleet: ${problem}`));
  const lost = counters['uplink.lost'] ?? 0;
  const missed = counters['rollout.missed'] ?? 0;
  expect(complete, `it is incomplete: ${result.incomplete_reasons.join('; ')}`);
  expect(violations.length === 0, `it saw violations: ${violations.map(({ message }) => message).join('; ')}`);
  expect(lost >= robots * SIGNALS.length, `it counts ${lost} lost connections, and each robot lost ${SIGNALS.length}`);
  expect(
    verdict_reasons.some((reason) => /connections of robots to the broker were lost/.test(reason)),
    `its verdict does not name them: ${verdict_reasons.join('; ')}`,
  );
  expect(verdict !== 'valid', 'its verdict is valid');
  expect(
    missed === 0 || notes.some((note) => /POST \/deployments/.test(note)),
    'it does not say why roll-outs were missed',
  );
  const wanted = verdict === 'invalid' ? 98 : missed > 0 ? 99 : 0;
  expect(code === wanted, `it ended with ${code}, not ${wanted}`);
  return problems;
}
