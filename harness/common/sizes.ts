const UNITS = { B: 1, kB: 1_000, KB: 1_000, MB: 1_000_000, GB: 1_000_000_000 } as const;

/** Bytes of a size like `500`, `64kB`, `1MB`; undefined for any other text. */
export function size(text: string): number | undefined {
  const [, number, unit = 'B'] = /^(\d{1,12})(B|kB|KB|MB|GB)?$/.exec(text) ?? [];
  return number === undefined ? undefined : Number(number) * UNITS[unit as keyof typeof UNITS];
}
