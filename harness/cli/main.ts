#!/usr/bin/env node
/** `muster`: puts the commands together. Exit codes and messages for wrong use are decided here, once. */
import './npm-folder.ts';
import './node22.ts';
import process from 'node:process';
import yargs, { type Argv } from 'yargs';
import { hideBin } from 'yargs/helpers';
import { nearest } from '../common/nearest.ts';
import { UsageError } from '../common/usage-error.ts';
import { columns } from './columns.ts';
import { EXIT } from './exit.ts';
import { inWords } from './in-words.ts';
import { find, register } from './index.ts';
import { optionNames } from './values.ts';
import { VERSION } from './version.ts';

/** What completion adds to the commands, and what it is asked by. */
const COMPLETION = 'completion';
const COMPLETIONS = '--get-yargs-completions';

const words = helpAsOption(hideBin(process.argv));
// What completion is asked for stands after its option and the name of the program.
const asked = words.indexOf(COMPLETIONS);
const found = find(asked === -1 ? words : words.slice(asked + 2));

const cli: Argv = yargs(words)
  .scriptName('muster')
  .usage(
    'Simulates robots, and checks that a Device API or Platform API keeps to its specification.\n\nUsage: $0 <command> [options]',
  )
  .parserConfiguration({
    'camel-case-expansion': false,
    'dot-notation': false,
    'greedy-arrays': true,
    'populate--': true,
  })
  .version(VERSION)
  .strict()
  .demandCommand(1, 'Name a command.')
  .help()
  .alias('h', 'help')
  .wrap(columns())
  .completion(COMPLETION, 'print a completion script for your shell: muster completion >> ~/.bashrc')
  .exitProcess(false)
  .fail((message, error) => {
    if (error !== undefined && error.name !== 'YError') throw error;
    throw new UsageError(inWords(message, { words, ...found, options: optionNames(cli) }));
  });
register(cli);

// Whoever reads the output may have read enough (`| head`); files are still written, and the exit code says what was found.
for (const stream of [process.stdout, process.stderr]) {
  stream.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') throw error;
  });
}

/** `muster help fleet` is `muster fleet --help`. */
function helpAsOption(typed: readonly string[]): string[] {
  return typed[0] === 'help' ? [...typed.slice(1), '--help'] : [...typed];
}

function refuseStranger(): void {
  const { path, stranger } = found;
  if (stranger === undefined || asked !== -1 || stranger.word === COMPLETION) return;
  const near = nearest(stranger.word, stranger.known);
  const ending = near === undefined ? `; there are ${stranger.known.join(', ')}` : `; did you mean ${near}?`;
  throw new UsageError(`${[...path, stranger.word].join(' ')}: no such command${ending}`);
}

try {
  refuseStranger();
  await found.load?.();
  await cli.parseAsync();
} catch (error) {
  if (error instanceof UsageError || (error instanceof Error && error.name === 'YError')) {
    const path = found.path.map((word) => `${word} `).join('');
    process.stderr.write(`muster: ${error.message}\nTry: muster ${path}--help\n`);
    process.exitCode = EXIT.usage;
  } else {
    process.stderr.write(`muster: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`);
    process.exitCode = EXIT.harness;
  }
}
