import type { Socket } from 'node:net';
import { DURATION_FORM, durationMs, size } from '../../harness/common/units.ts';
import type { Clock } from '../common/clock.ts';
import type { Random } from '../common/random.ts';
import type { DiskIo } from './log/io.ts';

interface Range<Kind> {
  kind: Kind;
  low: number;
  high: number;
}

export type Fault =
  | Range<'latency'>
  | Range<'reset' | 'half-open'>
  | { kind: 'torn-write'; chance: number }
  | { kind: 'crash'; when: 'before-rename' | 'after-rename'; nth: number }
  | { kind: 'clock-skew'; ms: number }
  | { kind: 'enospc'; bytes: number };

export const FAULTS: Readonly<Record<Fault['kind'], string>> = {
  latency: 'latency=50ms or latency=20ms..2s, up to 1d: every answer is delayed by that much',
  reset: 'reset=1000 or reset=1..5000: an event stream is cut after that many bytes, in the middle of a frame',
  'half-open': 'half-open=1000: after that many bytes an event stream stays open and sends nothing any more',
  'torn-write': 'torn-write=0.01: the chance that the agent crashes in the middle of a write',
  crash: 'crash=before-rename or crash=after-rename:3: the agent crashes there, the third time',
  'clock-skew': 'clock-skew=+2h or clock-skew=-90s, up to 36500d: the clock is wrong by that much',
  enospc: 'enospc=1MB: the disk is full after that many bytes',
};

const DAY_MS = 86_400_000;

export function parseFault(spec: string): Fault {
  const [name = '', value = ''] = spec.split('=', 2);
  const fault = isKind(name) ? READERS[name](value) : undefined;
  if (fault) return fault;
  const known = isKind(name) ? FAULTS[name] : Object.values(FAULTS).join('\n  ');
  throw new RangeError(`unknown fault ${JSON.stringify(spec)}; accepted:\n  ${known}`);
}

const isKind = (name: string): name is Fault['kind'] => Object.hasOwn(FAULTS, name);

const READERS: { [K in Fault['kind']]: (value: string) => Fault | undefined } = {
  latency: (value) => {
    const fault = range('latency', value, duration);
    // At most a day, because Node's timers overflow after 24 days.
    return fault && fault.high <= DAY_MS ? fault : undefined;
  },
  reset: (value) => range('reset', value, size),
  'half-open': (value) => range('half-open', value, size),
  'torn-write': (value) => {
    const chance = value === '' ? Number.NaN : Number(value);
    return chance > 0 && chance <= 1 ? { kind: 'torn-write', chance } : undefined;
  },
  crash: (value) => {
    const [when, nth = '1'] = value.split(':', 2);
    if ((when !== 'before-rename' && when !== 'after-rename') || !/^[1-9]\d{0,8}$/.test(nth)) return undefined;
    return { kind: 'crash', when, nth: Number(nth) };
  },
  'clock-skew': (value) => {
    const ms = duration(value.replace(/^[+-]/, ''));
    // At most a century, so that years keep four digits.
    if (ms === undefined || ms > 36_500 * DAY_MS) return undefined;
    return { kind: 'clock-skew', ms: value.startsWith('-') ? -ms : ms };
  },
  enospc: (value) => {
    const bytes = size(value);
    return bytes === undefined ? undefined : { kind: 'enospc', bytes };
  },
};

function range<K extends 'latency' | 'reset' | 'half-open'>(
  kind: K,
  value: string,
  read: (text: string) => number | undefined,
): Range<K> | undefined {
  const [from = '', to = from] = value.split('..', 2);
  const low = read(from);
  const high = read(to);
  return low === undefined || high === undefined || high < low ? undefined : { kind, low, high };
}

export const duration = (text: string): number | undefined =>
  new RegExp(DURATION_FORM).test(text) ? durationMs(text) : undefined;

export interface Environment {
  io: DiskIo;
  clock: Clock;
  write(socket: Socket, bytes: Buffer): boolean;
  latency(): number;
}

export class CrashFault extends Error {
  override name = 'CrashFault';
}

export function withFaults(env: Environment, faults: readonly Fault[], random: Random, crash: () => void): Environment {
  return faults.reduce((inner, fault) => apply(inner, fault, random.fork(fault.kind), crash), env);
}

function apply(env: Environment, fault: Fault, random: Random, crash: () => void): Environment {
  const { io } = env;
  switch (fault.kind) {
    case 'latency':
      return { ...env, latency: () => env.latency() + random.integer(fault.low, fault.high) };
    case 'clock-skew':
      return { ...env, clock: { now: () => env.clock.now() + fault.ms } };
    case 'reset':
    case 'half-open': {
      const left = new WeakMap<Socket, number>();
      const write = (socket: Socket, bytes: Buffer): boolean => {
        const allowed = left.get(socket) ?? random.integer(fault.low, fault.high);
        left.set(socket, allowed - bytes.length);
        const more = allowed <= 0 || env.write(socket, bytes.subarray(0, allowed));
        if (fault.kind === 'reset' && allowed > 0 && allowed <= bytes.length) socket.destroySoon();
        return more;
      };
      return { ...env, write };
    }
    case 'torn-write':
      return writing(env, (fd, buffer, position) => {
        if (!random.chance(fault.chance)) return io.write(fd, buffer, position);
        io.write(fd, buffer.subarray(0, random.integer(0, buffer.length - 1)), position);
        crash();
        throw new CrashFault('crashed in the middle of a write');
      });
    case 'crash': {
      let renames = 0;
      const rename: DiskIo['rename'] = (from, to) => {
        renames += 1;
        if (renames !== fault.nth) return io.rename(from, to);
        if (fault.when === 'after-rename') io.rename(from, to);
        crash();
        throw new CrashFault(`crashed ${fault.when.replace('-', ' a ')}`);
      };
      return { ...env, io: { ...io, rename } };
    }
    case 'enospc': {
      let left = fault.bytes;
      return writing(env, (fd, buffer, position) => {
        const fits = Math.min(left, buffer.length);
        left -= fits;
        io.write(fd, buffer.subarray(0, fits), position);
        if (fits < buffer.length)
          throw Object.assign(new Error('ENOSPC: no space left on device, write'), { code: 'ENOSPC' });
      });
    }
  }
}

const writing = (env: Environment, write: DiskIo['write']): Environment => {
  return { ...env, io: { ...env.io, write, store: async (fd, buffer, position) => write(fd, buffer, position) } };
};
