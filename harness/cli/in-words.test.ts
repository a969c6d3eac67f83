import { expect, test } from 'vitest';
import { inWords } from './in-words.ts';

const typed = (line: string, positionals: string[] = []) => ({
  words: line.split(' '),
  path: line.split(' ').slice(0, 1),
  positionals,
  options: ['robots', 'socket', 'ca'],
});

test.each([
  ['Unknown argument: robts', typed('fleet --robts 3'), '--robts: no such option; did you mean --robots?'],
  ['Unknown arguments: sockt, a', typed('check --sockt a'), '--sockt: no such option; did you mean --socket?'],
  ['Unknown argument: x', typed('check -x'), '-x: no such option'],
  ['Unknown argument: b', typed('verify a b'), 'b: verify takes no such argument'],
  ['Not enough arguments following: socket', typed('check --socket'), '--socket: needs a value'],
  ['Not enough non-option arguments: got 0, need at least 1', typed('verify', ['file']), 'verify: FILE is missing'],
  ['Missing required arguments: dir, file', typed('x', ['file']), '--dir: missing; FILE: missing'],
  ['Arguments digest and artifact are mutually exclusive', typed('x'), '--digest and --artifact: give one of them'],
  [
    'Invalid values:\n  Argument: profile, Given: "x", Choices: "core", "full"',
    typed('check --profile x'),
    '--profile: x is none; accepted: core, full',
  ],
  ['Name a command.', typed(''), 'Name a command.'],
])('%s', (message, words, said) => {
  expect(inWords(message, words)).toBe(said);
});
