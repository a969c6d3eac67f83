/**
 * Reconnection of a fleet after an outage of its broker, seen by a gate in front of it: attempts of each robot, and the
 * time of its return, beside a simulation of the robots' back-off.
 */
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { setTimeout as wait } from 'node:timers/promises';
import { random } from '../../../simulators/common/random.ts';
import { reconnectDelay } from '../../../simulators/device/uplink/time.ts';
import type { Running } from '../../cli/testing/muster.ts';
import { poll } from '../../common/waiting.ts';
import type { Figure } from '../measure/figure.ts';
import { serveTask, startMuster, Task } from '../measure/process.ts';
import { fleetCommand, untilOnline } from './fleet.ts';

const ROBOTS = 5000;
const AWAY_S = 20;
const RAMP_PER_SECOND = 200;
/** Tolerated difference between measurement and simulation. */
const TOLERANCE = 0.1;
/** Above the longest wait of any robot after such an outage. */
const BACK_TIMEOUT_MS = 120_000;

interface Storm {
  /** Connection attempts of each robot during the outage. */
  attempts: number;
  /** Seconds from the return of the broker to the connection of each robot, ascending. */
  back: readonly number[];
}

/** Takes about two minutes. */
export async function benchStorm(robots = ROBOTS): Promise<Figure[]> {
  const [seen, law] = [await measured(robots), simulated(robots)];
  const beside = (name: string, unit: string, of: (storm: Storm) => number): Figure => ({
    name: `muster fleet: ${robots.toLocaleString('en')} robots, broker away for ${AWAY_S} s: ${name}`,
    value: of(seen),
    floor: of(law),
    goal: 'within 10 % of a simulation',
    unit,
    met: Math.abs(of(seen) / of(law) - 1) <= TOLERANCE && seen.back.length === robots,
    why: `${seen.back.length.toLocaleString('en')} robots came back`,
  });
  const mean = (list: readonly number[]): number => list.reduce((sum, one) => sum + one, 0) / list.length;
  return [
    beside('back after, mean', 's', ({ back }) => mean(back)),
    beside('90 % are back after', 's', ({ back }) => back[Math.ceil(0.9 * back.length) - 1] ?? Number.NaN),
    beside('attempts of a robot meanwhile', '', ({ attempts }) => attempts),
  ];
}

function simulated(robots: number): Storm {
  const draw = random('storm');
  const back: number[] = [];
  let attempts = 0;
  for (let robot = 0; robot < robots; robot += 1) {
    let at = 0;
    for (let attempt = 0; ; attempt += 1) {
      at += reconnectDelay(attempt, draw) / 1000;
      if (at >= AWAY_S) break;
      attempts += 1;
    }
    back.push(at - AWAY_S);
  }
  return { attempts: attempts / robots, back: back.sort((a, b) => a - b) };
}

async function measured(robots: number): Promise<Storm> {
  const options = ['--api-key', 'bench', '--min-key-bits', '1024', '--log-level', 'error'];
  await using platform = startMuster(['simulate', 'platform', ...options]);
  const { url, agent_url, mqtt } = await platform.ready<{ url: string; agent_url: string; mqtt: string }>();
  await using gate = new Task<typeof tasks>(import.meta.url);
  const port = await gate.call('open', Number(new URL(mqtt).port));
  const over = Math.ceil(robots / RAMP_PER_SECOND);
  const phases = `  - { do: ramp, over: ${over}s }\n  - { do: hold, for: 1h }\n`;
  const scenario = `name: storm\nkey_bits: 1024\nsubscribers: 0\nphases:\n${phases}`;
  let storm: Storm | undefined;
  const meanwhile = async (fleet: Running): Promise<void> => {
    await untilOnline(fleet, robots);
    await gate.call('goAway');
    await wait(AWAY_S * 1000);
    await gate.call('comeBack');
    await poll('all robots back', async () => (await gate.call('seen')).back.length >= robots || undefined, {
      timeoutMs: BACK_TIMEOUT_MS,
      firstPauseMs: 500,
    }).catch(() => undefined);
    const { attempts, back } = await gate.call('seen');
    storm = { attempts: attempts / robots, back };
    fleet.child.kill('SIGTERM');
  };
  const addresses = { platform: url, 'agent-url': agent_url, mqtt: `mqtt://127.0.0.1:${port}` };
  await fleetCommand({ robots, scenario, meanwhile, ...addresses });
  if (storm === undefined) throw new Error('the fleet ended before the storm');
  return storm;
}

// Gate in a process of its own, so that the moments are those on the wire.

const pairs = new Set<Socket>();
let [away, attempts, returned] = [false, 0, Number.POSITIVE_INFINITY];
const back: number[] = [];

const tasks = {
  /** Forwards connections to that port of 127.0.0.1. Resolves with its own. */
  open: (broker: number): Promise<number> => {
    const server = createServer({ noDelay: true }, (robot) => {
      robot.on('error', () => {});
      if (away) {
        attempts += 1;
        robot.resetAndDestroy();
        return;
      }
      if (returned < Number.POSITIVE_INFINITY) back.push((performance.now() - returned) / 1000);
      const other = connect({ port: broker, host: '127.0.0.1', noDelay: true });
      for (const [one, end] of [
        [robot, other],
        [other, robot],
      ] as const) {
        pairs.add(one);
        one.on('error', () => {});
        one.once('close', () => {
          pairs.delete(one);
          end.destroy();
        });
        one.pipe(end);
      }
    });
    const where = { port: 0, host: '127.0.0.1', backlog: 16_384 };
    return new Promise((resolve) => server.listen(where, () => resolve((server.address() as AddressInfo).port)));
  },
  goAway: (): void => {
    away = true;
    for (const socket of pairs) socket.resetAndDestroy();
  },
  comeBack: (): void => {
    away = false;
    returned = performance.now();
  },
  seen: (): { attempts: number; back: readonly number[] } => ({ attempts, back: back.toSorted((a, b) => a - b) }),
};

if (import.meta.main) serveTask(tasks);
