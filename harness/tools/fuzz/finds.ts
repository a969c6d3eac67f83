/** Finds are kept as files in `fixtures/fuzz/NAME/`; a test attacks with each of them again. */
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** An input that showed something wrong. */
export interface Find {
  fuzzer: string;
  /** What was wrong. */
  wrong: string;
  /** The smallest input that shows it. */
  input: unknown;
}

/** Where finds are kept. */
export const FIXTURES = fileURLToPath(new URL('../../../fixtures/fuzz', import.meta.url));

/** Writes the find to a file of its own; gives its path. */
export function keep({ fuzzer, wrong, input }: Find, folder: string): string {
  const text = JSON.stringify(input);
  const file = join(folder, fuzzer, `${createHash('sha256').update(text).digest('hex').slice(0, 12)}.json`);
  mkdirSync(join(folder, fuzzer), { recursive: true });
  writeFileSync(file, `${JSON.stringify({ wrong, input }, null, 2)}\n`);
  return file;
}

/** The finds of a fuzzer, oldest name first. */
export function kept(fuzzer: string, folder = FIXTURES): { file: string; wrong: string; input: unknown }[] {
  const own = join(folder, fuzzer);
  if (!existsSync(own)) return [];
  return readdirSync(own)
    .toSorted()
    .map((name) => {
      const { wrong, input } = JSON.parse(readFileSync(join(own, name), 'utf8')) as Omit<Find, 'fuzzer'>;
      return { file: name, wrong, input };
    });
}
