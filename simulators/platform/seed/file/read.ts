/** Reads a seed file. Every mistake is told with its line, before anything is made. */
import { isNode, LineCounter, parseDocument } from 'yaml';
import { type SeedFile, seedFile } from './shape.ts';

const MOST_TOLD = 10;

/** A seed file that cannot be used. Each line of the message names a line of the file. */
export class SeedError extends Error {
  override name = 'SeedError';
}

export interface ReadSeed {
  seed: SeedFile;
  /** An error at a place, e.g. `['devices', 3, 'group']`. */
  errorAt(path: readonly (string | number)[], message: string): SeedError;
}

/** Throws SeedError. */
export function readSeed(text: string): ReadSeed {
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines });
  const lineOf = (path: readonly (string | number)[]): number => {
    // A member that is missing is where its object is.
    for (let depth = path.length; depth >= 0; depth -= 1) {
      const node = document.getIn(path.slice(0, depth), true);
      if (isNode(node) && node.range) return lines.linePos(node.range[0]).line;
    }
    return 1;
  };
  const at = (path: readonly (string | number)[], message: string): string =>
    `line ${lineOf(path)}: ${path.length === 0 ? 'the file' : path.join('.')} ${message}`;
  const [broken] = document.errors;
  if (broken !== undefined) throw new SeedError(broken.message.split('\n')[0]?.replace(/:$/, ''));
  const seed: unknown = document.toJS({ maxAliasCount: 100 }) ?? {};
  const problems = seedFile.problems(seed).map(({ path, message }) => at(pointer(path), message));
  if (problems.length > 0) throw new SeedError(problems.slice(0, MOST_TOLD).join('\n'));
  return { seed: seed as SeedFile, errorAt: (path, message) => new SeedError(at(path, message)) };
}

/** The steps of a JSON Pointer. */
function pointer(path: string): (string | number)[] {
  const steps = path.split('/').slice(1);
  return steps.map((step) => (/^\d+$/.test(step) ? Number(step) : step.replaceAll('~1', '/').replaceAll('~0', '~')));
}
