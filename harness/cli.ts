#!/usr/bin/env node
/** `muster`: puts the commands together. Exit codes and messages for wrong use are decided here, once. */
import process from 'node:process';
import yargs from 'yargs';
import { hideBin } from 'yargs/helpers';
import { UsageError } from './commands/errors.ts';
import { EXIT } from './commands/exit.ts';
import { commands } from './commands/index.ts';
import { VERSION } from './version.ts';

const cli = yargs(hideBin(process.argv))
  .scriptName('muster')
  .usage(
    'Simulates robots, and checks that a Device API or Platform API keeps to its specification.\n\nUsage: $0 <command> [options]',
  )
  .parserConfiguration({ 'camel-case-expansion': false, 'strip-aliased': true, 'greedy-arrays': false })
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
    throw error ?? new UsageError(message);
  });
for (const command of commands) cli.command(command);

try {
  await cli.parseAsync();
} catch (error) {
  if (error instanceof UsageError || (error instanceof Error && error.name === 'YError')) {
    const path = process.argv
      .slice(2)
      .filter((word) => /^[a-z]+$/.test(word))
      .slice(0, 2)
      .join(' ');
    process.stderr.write(`muster: ${error.message}\nTry: muster ${path === '' ? '' : `${path} `}--help\n`);
    process.exitCode = EXIT.usage;
  } else {
    process.stderr.write(`muster: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`);
    process.exitCode = EXIT.harness;
  }
}
