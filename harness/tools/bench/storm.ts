/** Does the simulation of a reconnect storm tell the truth? The same storm with real robots, and a door before their broker. */
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { startEmbeddedPlatform } from '../../../simulators/fleet/processes/embedded-platform.ts';
import { Fleet } from '../../../simulators/fleet/run/fleet.ts';
import { poll } from '../../common/waiting.ts';
import { type RealStorm, today } from '../capacity/costs.ts';
import { sharesBack, storm } from '../capacity/storm.ts';
import { atMost, type Figure, inScratch } from './figure.ts';

const ROBOTS = 5000;
/** Connections a second. Far from what this machine does, so that the door decides and not the machine. */
const CAPACITY = 100;
/** How far the simulation may be off. */
const TOLERANCE = 0.15;
const LONGEST_MS = 600_000;

/** Some four minutes, of which the storm takes two and a half. */
export async function benchStorm(): Promise<Figure[]> {
  const { real, admitted, pace } = await stormOf(ROBOTS, CAPACITY);
  const told = storm({ robots: ROBOTS, capacity: CAPACITY, answers: pace });
  const where = `storm of ${ROBOTS.toLocaleString('en')} robots at ${CAPACITY}/s`;
  return [
    atMost(
      `${where}: simulated and real share that is back, furthest apart`,
      100 * apart(told.admitted, admitted),
      15,
      '%',
    ),
    {
      ...figure(`${where}: half of them are back`, told.back.p50 / 1000, real.back.p50 / 1000, 's'),
      why: 'storms have pauses, and a few robots decide on which side of one the half falls; the line above compares all of it',
    },
    figure(`${where}: all are back`, told.back.all / 1000, real.back.all / 1000, 's'),
    figure(`${where}: away on average`, told.back.mean / 1000, real.back.mean / 1000, 's'),
    figure(`${where}: attempts`, told.attempts, real.attempts, ''),
  ];
}

/** The real run alone. */
export async function realStorm(): Promise<RealStorm> {
  const { real } = await stormOf(ROBOTS, CAPACITY);
  return { measured: today(), robots: ROBOTS, capacity: CAPACITY, real };
}

function figure(name: string, value: number, floor: number, unit: string): Figure {
  const ratio = value / floor;
  const met = Math.abs(ratio - 1) <= TOLERANCE;
  return { name, value, floor, ratio, goal: 'simulated, within 15 % of the real run (the floor)', unit, met };
}

/** The largest difference, at any moment, of the shares that had come by then. Both ascending and of the same length. */
function apart(some: readonly number[], others: readonly number[]): number {
  let largest = 0;
  let earlier = 0;
  for (const [index, moment] of some.entries()) {
    while ((others[earlier] ?? Number.POSITIVE_INFINITY) <= moment) earlier += 1;
    largest = Math.max(largest, Math.abs(index + 1 - earlier), Math.abs(index - earlier));
  }
  return largest / some.length;
}

interface Stormed {
  real: RealStorm['real'];
  /** Milliseconds from the loss to each robot's return, ascending. */
  admitted: readonly number[];
  /** Attempts a second that were answered while all robots tried for the first time. */
  pace: number;
}

/** Connects real robots through a door, cuts all of them off at once, and looks on until the last one is back. */
async function stormOf(robots: number, capacity: number): Promise<Stormed> {
  return await inScratch(async (stateDir) => {
    const platform = await startEmbeddedPlatform(1);
    const door = await Door.before(platform.address.mqttUrl);
    try {
      await using fleet = new Fleet({
        seed: 1,
        keyBits: 1024,
        robots,
        platform: { ...platform.address, mqttUrl: door.url },
        workers: 1,
        stateDir,
        scenario: { name: 'storm', phases: [{ do: 'ramp', over: '0s' }], subscribers: 0, uplink: 'agent' },
      });
      await fleet.prepare();
      await fleet.run({ do: 'ramp', over: `${Math.ceil(robots / 100)}s` });
      await poll('all robots behind the door', async () => door.open === robots || undefined, {
        timeoutMs: LONGEST_MS,
      });
      door.cut(capacity);
      await poll('all robots back', async () => door.admitted.length === robots || undefined, {
        timeoutMs: LONGEST_MS,
      });
      const { admitted, attempts, pace } = door;
      return { real: { back: sharesBack(admitted), attempts, busiest: Math.max(...door.perSecond) }, admitted, pace };
    } finally {
      await door[Symbol.asyncDispose]();
      await platform.stop();
    }
  });
}

/** Passes connections on to a broker; once it is cut, only so many a second, and resets the others. */
class Door implements AsyncDisposable {
  /** Milliseconds from the cut to each connection that was let in after it. */
  readonly admitted: number[] = [];
  attempts = 0;
  /** Attempts in each second after the first one. */
  readonly perSecond: number[] = [];
  /** Attempts a second until there had been one for each connection that was cut. */
  pace = 0;
  #cutOff = 0;
  #firstAt: number | undefined;
  readonly #server = createServer((socket) => this.#take(socket));
  readonly #target: { host: string; port: number };
  readonly #sockets = new Set<Socket>();
  #cutAt: number | undefined;
  #capacity = Number.POSITIVE_INFINITY;
  #room = 0;
  #filledAt = 0;

  private constructor(url: string) {
    const { hostname, port } = new URL(url);
    this.#target = { host: hostname, port: Number(port) };
  }

  static async before(url = ''): Promise<Door> {
    const door = new Door(url);
    await new Promise<void>((resolve) =>
      door.#server.listen({ port: 0, host: '127.0.0.1', backlog: 16_384 }, () => resolve()),
    );
    return door;
  }

  get url(): string {
    return `mqtt://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** Connections that it passes on. */
  get open(): number {
    return this.#sockets.size;
  }

  cut(capacity: number): void {
    this.#capacity = capacity;
    this.#room = capacity / 10;
    this.#cutAt = performance.now();
    this.#filledAt = this.#cutAt;
    this.#cutOff = this.#sockets.size;
    for (const socket of this.#sockets) socket.resetAndDestroy();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  #take(socket: Socket): void {
    socket.on('error', () => {});
    if (this.#cutAt !== undefined) {
      this.attempts += 1;
      this.#firstAt ??= performance.now();
      const seconds = (performance.now() - this.#firstAt) / 1000;
      if (this.attempts === this.#cutOff) this.pace = this.attempts / seconds;
      const second = Math.floor(seconds);
      while (this.perSecond.length <= second) this.perSecond.push(0);
      this.perSecond[second] = (this.perSecond[second] ?? 0) + 1;
      if (!this.#hasRoom()) {
        socket.resetAndDestroy();
        return;
      }
      this.admitted.push(performance.now() - this.#cutAt);
    }
    const onward = connect(this.#target).on('error', () => socket.destroy());
    this.#sockets.add(socket);
    socket.once('close', () => {
      this.#sockets.delete(socket);
      onward.destroy();
    });
    onward.once('close', () => socket.destroy());
    socket.pipe(onward).pipe(socket);
  }

  #hasRoom(): boolean {
    const now = performance.now();
    const grown = this.#room + ((now - this.#filledAt) / 1000) * this.#capacity;
    this.#room = Math.min(this.#capacity / 10, grown);
    this.#filledAt = now;
    if (this.#room < 1) return false;
    this.#room -= 1;
    return true;
  }
}
