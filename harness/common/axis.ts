/** Chooses round numbers for the axis of a chart. */

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
