/** Puts faults between an agent and its disk, its clock and its sockets. */
import type { Socket } from 'node:net';
import type { Clock } from '../../common/clock.ts';
import type { Random } from '../../common/random.ts';
import type { DiskIo } from '../log/io.ts';
import type { Fault } from './parse.ts';

/** What an agent uses of the machine it runs on. */
export interface Environment {
  io: DiskIo;
  clock: Clock;
  write(socket: Socket, bytes: Buffer): boolean;
  /** Milliseconds by which the next answer is delayed. */
  latency(): number;
}

/** A fault has crashed the agent in the middle of an operation. */
export class CrashFault extends Error {
  override name = 'CrashFault';
}

/** `env` with the faults applied in order; `crash` ends the agent as SIGKILL would. */
export function withFaults(env: Environment, faults: readonly Fault[], random: Random, crash: () => void): Environment {
  return faults.reduce((inner, fault) => apply(inner, fault, random.fork(fault.kind), crash), env);
}

function apply(env: Environment, fault: Fault, random: Random, crash: () => void): Environment {
  switch (fault.kind) {
    case 'latency':
      return { ...env, latency: () => env.latency() + random.integer(fault.low, fault.high) };
    case 'clock-skew':
      return { ...env, clock: { now: () => env.clock.now() + fault.ms } };
    case 'reset':
      return {
        ...env,
        write: cutting(
          env,
          () => random.integer(fault.low, fault.high),
          (socket) => socket.destroySoon(),
        ),
      };
    case 'half-open':
      return {
        ...env,
        write: cutting(
          env,
          () => random.integer(fault.low, fault.high),
          () => {},
        ),
      };
    case 'torn-write':
      return { ...env, io: writing(env.io, tearing(env.io, fault.chance, random, crash)) };
    case 'crash':
      return { ...env, io: { ...env.io, rename: crashing(env.io, fault, crash) } };
    case 'enospc':
      return { ...env, io: writing(env.io, filling(env.io, fault.bytes)) };
  }
}

/** Writes a limited number of bytes of each stream, then calls `end` and drops the rest. */
function cutting(env: Environment, limit: () => number, end: (socket: Socket) => void): Environment['write'] {
  const left = new WeakMap<Socket, number>();
  return (socket, bytes) => {
    const allowed = left.get(socket) ?? limit();
    left.set(socket, allowed - bytes.length);
    const more = allowed <= 0 || env.write(socket, bytes.subarray(0, allowed));
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
