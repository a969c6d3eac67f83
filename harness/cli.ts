#!/usr/bin/env node
/** `muster`: puts the commands together. Exit codes and messages for wrong use are decided here, once. */
import './node22.ts';
import process from 'node:process';
import yargs from 'yargs';
import { hideBin } from 'yargs/helpers';
import { EXIT } from './commands/exit.ts';
import { loadNamed, NAMES, register } from './commands/index.ts';
import { UsageError } from './usage-error.ts';
import { VERSION } from './version.ts';

const words = hideBin(process.argv);
// What completion is asked for stands after its option and the name of the program.
const asked = words.indexOf('--get-yargs-completions');
await loadNamed(asked === -1 ? words : words.slice(asked + 2));

const cli = yargs(words)
  .scriptName('muster')
  .usage(
    'Simulates robots, and checks that a Device API or Platform API keeps to its specification.\n\nUsage: $0 <command> [options]',
  )
  .parserConfiguration({ 'camel-case-expansion': false, 'greedy-arrays': true, 'populate--': true })
  .version(VERSION)
  .strict()
  .demandCommand(1, 'Name a command.')
  .recommendCommands()
  .help()
  .alias('h', 'help')
  .wrap(Math.min(110, process.stdout.columns ?? 100))
  .completion('completion', 'print a completion script for your shell: muster completion >> ~/.bashrc')
  .exitProcess(false)
  .fail((message, error) => {
    throw error ?? new UsageError(inWords(message));
  });
register(cli);

/** yargs speaks of arguments; its users typed options and commands. */
function inWords(message: string): string {
  const unknown = /^Unknown arguments?: (.*)$/.exec(message)?.[1]?.split(', ');
  if (unknown !== undefined) {
    const typed = process.argv.slice(2);
    return unknown
      .map((word) => (typed.includes(word) ? `${word}: no such command` : `--${word}: no such option`))
      .join('; ');
  }
  const meant = /^Did you mean (.*)\?$/.exec(message)?.[1];
  return meant === undefined ? message : `${process.argv[2]}: no such command; did you mean ${meant}?`;
}

try {
  await cli.parseAsync();
} catch (error) {
  if (error instanceof UsageError || (error instanceof Error && error.name === 'YError')) {
    const path = process.argv
      .slice(2, 4)
      .filter((word) => NAMES.has(word))
      .join(' ');
    process.stderr.write(`muster: ${error.message}\nTry: muster ${path === '' ? '' : `${path} `}--help\n`);
    process.exitCode = EXIT.usage;
  } else {
    process.stderr.write(`muster: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`);
    process.exitCode = EXIT.harness;
  }
}
