/** Puts faults between an agent and its disk, its clock and its sockets. */
import type { Socket } from 'node:net';
import type { Clock } from '../../common/clock.ts';
import type { Random } from '../../common/random.ts';
import type { DiskIo } from '../log/io.ts';
import type { Fault } from './parse.ts';

/** What an agent reaches the world through. */
export interface Surroundings {
  io: DiskIo;
  clock: Clock;
  write(socket: Socket, bytes: Buffer): boolean;
  /** Milliseconds by which the next answer is late. */
  latency(): number;
}

/** The agent has crashed by a fault; whoever waits for it never hears more. */
export class CrashFault extends Error {
  override name = 'CrashFault';
}

/** Applies `faults` in order; `crash` ends the agent as SIGKILL would. */
export function withFaults(
  around: Surroundings,
  faults: readonly Fault[],
  random: Random,
  crash: () => void,
): Surroundings {
  return faults.reduce((inner, fault) => apply(inner, fault, random.fork(fault.kind), crash), around);
}

function apply(around: Surroundings, fault: Fault, random: Random, crash: () => void): Surroundings {
  switch (fault.kind) {
    case 'latency':
      return { ...around, latency: () => around.latency() + random.integer(fault.low, fault.high) };
    case 'clock-skew':
      return { ...around, clock: { now: () => around.clock.now() + fault.ms } };
    case 'reset':
      return {
        ...around,
        write: cutting(
          around,
          () => random.integer(fault.low, fault.high),
          (socket) => socket.destroySoon(),
        ),
      };
    case 'half-open':
      return {
        ...around,
        write: cutting(
          around,
          () => random.integer(fault.low, fault.high),
          () => {},
        ),
      };
    case 'torn-write':
      return { ...around, io: writing(around.io, tearing(around.io, fault.chance, random, crash)) };
    case 'crash':
      return { ...around, io: { ...around.io, rename: crashing(around.io, fault, crash) } };
    case 'enospc':
      return { ...around, io: writing(around.io, filling(around.io, fault.bytes)) };
  }
}

/** Lets a limited number of bytes of each stream through, then does `end`, and says nothing more. */
function cutting(around: Surroundings, limit: () => number, end: (socket: Socket) => void): Surroundings['write'] {
  const left = new WeakMap<Socket, number>();
  return (socket, bytes) => {
    const allowed = left.get(socket) ?? limit();
    left.set(socket, allowed - bytes.length);
    const more = allowed <= 0 || around.write(socket, bytes.subarray(0, allowed));
    if (allowed > 0 && allowed <= bytes.length) end(socket);
    return more;
  };
}

const writing = (io: DiskIo, write: DiskIo['write']): DiskIo => {
  return { ...io, write, store: async (fd, buffer, position) => write(fd, buffer, position) };
};

function tearing(io: DiskIo, chance: number, random: Random, crash: () => void): DiskIo['write'] {
  return (fd, buffer, position) => {
    if (!random.chance(chance)) {
      io.write(fd, buffer, position);
      return;
    }
    io.write(fd, buffer.subarray(0, random.integer(0, buffer.length - 1)), position);
    crash();
    throw new CrashFault('crashed in the middle of a write');
  };
}

function crashing(io: DiskIo, fault: Fault & { kind: 'crash' }, crash: () => void): DiskIo['rename'] {
  let renames = 0;
  return (from, to) => {
    renames += 1;
    if (renames !== fault.nth) {
      io.rename(from, to);
      return;
    }
    if (fault.when === 'after-rename') io.rename(from, to);
    crash();
    throw new CrashFault(`crashed ${fault.when.replace('-', ' a ')}`);
  };
}

function filling(io: DiskIo, bytes: number): DiskIo['write'] {
  let left = bytes;
  return (fd, buffer, position) => {
    const fits = Math.min(left, buffer.length);
    left -= fits;
    io.write(fd, buffer.subarray(0, fits), position);
    if (fits < buffer.length)
      throw Object.assign(new Error('ENOSPC: no space left on device, write'), { code: 'ENOSPC' });
  };
}
