const UNITS = { B: 1, kB: 1_000, KB: 1_000, MB: 1_000_000, GB: 1_000_000_000 } as const;

/** Parses `500`, `64kB` or `1MB` to bytes; undefined for other text. */
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
