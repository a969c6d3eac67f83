/** Loads defects and variants from all files of a folder, so that no list names the files. */
import { readdir } from 'node:fs/promises';
import type { Defect, Variant } from './define.ts';

export type Located<T> = T & { readonly file: string };

export interface Catalogue<B> {
  defects: readonly Located<Defect<B>>[];
  variants: readonly Located<Variant<B>>[];
}

interface Section<B> {
  defects?: readonly Defect<B>[];
  variants?: readonly Variant<B>[];
}

/** Loads all defects and variants of a folder. Throws Error if two have the same name. */
export async function loadSections<B>(folder: 'device' | 'platform' | 'system' | 'client'): Promise<Catalogue<B>> {
  const directory = new URL(`./${folder}/`, import.meta.url);
  const files = (await readdir(directory)).filter(isSection).toSorted();
  const sections = await Promise.all(
    files.map(async (name) => {
      const { defects = [], variants = [] } = (await import(new URL(name, directory).href)) as Section<B>;
      const file = `simulators/defects/${folder}/${name.replace(/js$/, 'ts')}`;
      return {
        defects: defects.map((each) => ({ ...each, file })),
        variants: variants.map((each) => ({ ...each, file })),
      };
    }),
  );
  const defects = sections.flatMap((section) => section.defects);
  const variants = sections.flatMap((section) => section.variants);
  refuseDuplicates([...defects, ...variants]);
  return { defects, variants };
}

const isSection = (name: string): boolean => /\.[jt]s$/.test(name) && !/(^index|\.d|\.test)\.[jt]s$/.test(name);

/** Throws Error that names both files if two defects or variants have the same name. */
export function refuseDuplicates(all: readonly { name: string; file: string }[]): void {
  const files = new Map<string, string>();
  for (const { name, file } of all) {
    const other = files.get(name);
    if (other !== undefined) throw new Error(`${name} is declared twice: in ${other} and in ${file}`);
    files.set(name, file);
  }
}

/** Finds a defect or variant by name. Throws RangeError with the known names. `what`: e.g. "defect of the device". */
export function named<T extends { name: string }>(what: string, all: readonly T[], name: string): T {
  const found = all.find((each) => each.name === name);
  if (found) return found;
  const known = all.map((each) => each.name).join(', ');
  throw new RangeError(`no ${what} is called ${JSON.stringify(name)}; known: ${known}`);
}
