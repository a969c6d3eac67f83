/** Finds defects and variants by the names that `--defect` and `--variant` take. */
import { nearest, UsageError } from '../common/usage.ts';

interface Named {
  name: string;
  /** One sentence. */
  summary: string;
}

/** Throws UsageError that lists all names, and in the end the nearest one. */
export function findByName<T extends Named>(option: string, name: string, all: readonly T[]): T {
  const found = all.find((one) => one.name === name);
  if (found !== undefined) return found;
  const width = Math.max(...all.map((one) => one.name.length));
  const list = all.map((one) => `  ${one.name.padEnd(width)}  ${one.summary}`).join('\n');
  const near = meant(
    name,
    all.map((one) => one.name),
  );
  throw new UsageError(
    `${option} ${name}: unknown name; accepted are\n${list}${near === undefined ? '' : `\nDid you mean ${near}?`}`,
  );
}

/** The words may stand in another order. */
function meant(name: string, names: readonly string[]): string | undefined {
  const sorted = (text: string): string => text.split('-').sort().join('-');
  const near = nearest(name, names);
  if (near !== undefined) return near;
  const reordered = nearest(sorted(name), names.map(sorted));
  return names.find((each) => sorted(each) === reordered);
}
