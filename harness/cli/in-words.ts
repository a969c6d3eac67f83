/** yargs speaks of arguments; its users typed commands, options and what belongs to a command. */
import { nearest } from '../common/nearest.ts';

export interface Typed {
  /** As they were typed. */
  words: readonly string[];
  /** The command that they name, as far as it is known. */
  path: readonly string[];
  /** What the command takes beside options, e.g. `file`. */
  positionals: readonly string[];
  /** Options of the command, without dashes. */
  options: readonly string[];
}

/** The message of yargs as a message about what was typed; one that it does not know stays as it is. */
export function inWords(message: string, typed: Typed): string {
  const name = (key: string): string => (typed.positionals.includes(key) ? key.toUpperCase() : `--${key}`);
  const unknown = /^Unknown arguments?: (.*)$/.exec(message)?.[1];
  if (unknown !== undefined) return strangers(unknown.split(', '), typed).join('; ');

  const empty = /^Not enough arguments following: (.*)$/.exec(message)?.[1];
  if (empty !== undefined) return `${name(empty)}: needs a value`;

  if (message.startsWith('Not enough non-option arguments') && typed.positionals.length > 0)
    return `${typed.path.join(' ')}: ${typed.positionals.map(name).join(' ')} is missing`;

  const missing = /^Missing required arguments?: (.*)$/m.exec(message)?.[1];
  if (missing !== undefined)
    return missing
      .split(', ')
      .map((key) => `${name(key)}: missing`)
      .join('; ');

  const both = /^Arguments (\S+) and (\S+) are mutually exclusive$/.exec(message);
  if (both !== null) return `${name(both[1] ?? '')} and ${name(both[2] ?? '')}: give one of them`;

  const invalid = [...message.matchAll(/^ {2}Argument: (\S+), Given: (.*), Choices: (.*)$/gm)];
  if (invalid.length > 0)
    return invalid
      .map(([, key = '', given, choices]) => `${name(key)}: ${bare(given)} is none; accepted: ${bare(choices)}`)
      .join('; ');
  return message;
}

const bare = (quoted = ''): string => quoted.replaceAll('"', '');

function strangers(unknown: readonly string[], { words, path, options }: Typed): string[] {
  const isOption = (word: string): boolean => !words.includes(word);
  const strange = unknown.filter(isOption).map((key) => {
    const near = key.length > 2 ? nearest(key, options) : undefined;
    const dashes = key.length === 1 ? '-' : '--';
    return `${dashes}${key}: no such option${near === undefined ? '' : `; did you mean --${near}?`}`;
  });
  // A word after an option that is none would have been its value.
  const loose = unknown.filter((word) => !isOption(word) && !optionBefore(words, word, unknown));
  return [...strange, ...loose.map((word) => `${word}: ${path.join(' ')} takes no such argument`)];
}

function optionBefore(words: readonly string[], word: string, unknown: readonly string[]): boolean {
  const before = words[words.indexOf(word) - 1] ?? '';
  return before.startsWith('--') && unknown.includes(before.slice(2));
}
