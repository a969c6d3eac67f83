/** Options of the tools: parsed by node:util, so that help and usage errors are the same everywhere. */
import process from 'node:process';
import { type ParseArgsOptionsConfig, parseArgs } from 'node:util';
import { EXIT } from '../common/usage.ts';

/**
 * The values of the options, in the words of the command line unless others are given. `--help` prints `help` and ends
 * the process; a usage error ends it with 64.
 */
export function toolOptions<const T extends ParseArgsOptionsConfig>(
  help: string,
  options: T,
  words: readonly string[] = process.argv.slice(2),
) {
  try {
    const { values } = parseArgs({ args: [...words], options: { ...options, help: { type: 'boolean' } } as T });
    if ((values as { help?: boolean }).help !== true) return values;
    process.stdout.write(help);
  } catch (error) {
    refuse(error instanceof Error ? error.message : String(error), help);
  }
  return process.exit();
}

/** Ends the process with the message and the help, as after a usage error. */
export function refuse(message: string, help: string): never {
  process.stderr.write(`${message}\n\n${help}`);
  process.exit(EXIT.usage);
}

/** The names in `--OPTION NAME,NAME`; undefined when the option is absent. An unknown name is a usage error. */
export function namesOf(
  option: string,
  text: string | undefined,
  known: readonly string[],
  help: string,
): string[] | undefined {
  if (text === undefined) return undefined;
  const names = text.split(',');
  const unknown = names.filter((name) => !known.includes(name));
  if (unknown.length > 0) refuse(`--${option} ${unknown.join(',')}: unknown; known are ${known.join(', ')}`, help);
  return names;
}

/**
 * A whole number from `least` on: with none of something that does the work, a tool would do nothing and report
 * success.
 */
export function countOf(option: string, text: string, help: string, least = 1): number {
  const count = Number(text);
  if (!Number.isSafeInteger(count) || count < least)
    refuse(`--${option}: must be a whole number from ${least} on`, help);
  return count;
}

/** Works through the items, `width` at a time. */
export async function inParallel<T>(
  items: Iterable<T>,
  width: number,
  work: (item: T) => Promise<void>,
): Promise<void> {
  const queue = items[Symbol.iterator]();
  const worker = async (): Promise<void> => {
    for (let next = queue.next(); next.done !== true; next = queue.next()) await work(next.value);
  };
  await Promise.all(Array.from({ length: width }, worker));
}
