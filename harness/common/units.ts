const MILLISECONDS: Readonly<Record<string, number>> = {
  ns: 1e-6,
  us: 1e-3,
  µs: 1e-3,
  ms: 1,
  s: 1e3,
  m: 60e3,
  h: 3_600e3,
  d: 86_400e3,
};

export const DURATION_FORM = `^\\d+(\\.\\d+)?(${Object.keys(MILLISECONDS).join('|')})$`;

export const DURATION_WORDS = 'a number and a unit, e.g. 500ms, 30s, 5m (units ns, us, ms, s, m, h, d)';

/** Reads e.g. `250ms`, `1.5s` or `2h`. Throws RangeError with the accepted form. */
export function durationMs(text: string): number {
  const [, , unit = ''] = new RegExp(DURATION_FORM).exec(text) ?? [];
  const milliseconds = MILLISECONDS[unit];
  if (milliseconds === undefined) throw new RangeError(`'${text}' is no duration: ${DURATION_WORDS}`);
  // Divides by a whole number, because `5 * 1e-6` differs from 0.000005.
  const number = Number(text.slice(0, -unit.length));
  return milliseconds < 1 ? number / Math.round(1 / milliseconds) : number * milliseconds;
}

/** Rounds to three digits, e.g. `500 µs`, `12.3 ms`, `4.5 s`, `2 min 5 s`, `72 h 0 min`. */
export function readableDuration(milliseconds: number): string {
  if (milliseconds === 0) return '0 ms';
  if (milliseconds < 0.9995) return `${threeDigits(milliseconds * 1000)} µs`;
  if (milliseconds < 999.5) return `${threeDigits(milliseconds)} ms`;
  if (milliseconds < 59_950) return `${threeDigits(milliseconds / 1000)} s`;
  const seconds = Math.round(milliseconds / 1000);
  const minutes = Math.floor(seconds / 60);
  return minutes < 60 ? `${minutes} min ${seconds % 60} s` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

const threeDigits = (value: number): number => Number(value.toPrecision(3));

export interface RetryHeaders {
  readonly 'retry-after'?: string | undefined;
  readonly date?: string | undefined;
}

/** Milliseconds of `Retry-After` (RFC 9110, section 10.2.3); negative for a past date, undefined if invalid. */
export function retryAfterMs({ 'retry-after': asked = '', date = '' }: RetryHeaders): number | undefined {
  if (/^\s*\d+(\.\d+)?\s*$/.test(asked)) return Number(asked) * 1000;
  // Refuses text such as `-1`, which `Date.parse` may read as a date.
  if (!/^\s*[a-z]{3,}/i.test(asked)) return undefined;
  const named = Date.parse(asked) - (Date.parse(date) || Date.now());
  return Number.isFinite(named) ? named : undefined;
}

const UNITS = { B: 1, kB: 1_000, KB: 1_000, MB: 1_000_000, GB: 1_000_000_000 } as const;

export function size(text: string): number | undefined {
  const [, number, unit = 'B'] = /^(\d{1,12})(B|kB|KB|MB|GB)?$/.exec(text) ?? [];
  return number === undefined ? undefined : Number(number) * UNITS[unit as keyof typeof UNITS];
}

const [KIB, MIB, GIB] = [2 ** 10, 2 ** 20, 2 ** 30];

/** Formats bytes, e.g. `5.8 KiB`, `1,430 MiB`, `12.5 GiB`. */
export function memoryText(bytes: number): string {
  if (bytes < MIB) return `${(bytes / KIB).toFixed(1)} KiB`;
  return bytes < 10 * GIB ? `${Math.round(bytes / MIB).toLocaleString('en')} MiB` : `${(bytes / GIB).toFixed(1)} GiB`;
}

/** Round numbers for the axis of a chart. */
export function ticks(from: number, to: number, wanted: number): number[] {
  if (!(to > from)) return [from];
  const rough = (to - from) / wanted;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = ([1, 2, 5].find((factor) => factor * power >= rough) ?? 10) * power;
  const first = Math.ceil(from / step - 1e-9);
  const last = Math.floor(to / step + 1e-9);
  return Array.from({ length: last - first + 1 }, (_, index) => Number(((first + index) * step).toPrecision(12)));
}

/** Powers of ten that enclose the range; both bounds must be above 0. */
export function decades(from: number, to: number): number[] {
  const first = Math.floor(Math.log10(from) + 1e-9);
  const last = Math.max(Math.ceil(Math.log10(to) - 1e-9), first + 1);
  return Array.from({ length: last - first + 1 }, (_, index) => 10 ** (first + index));
}
