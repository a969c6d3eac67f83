#!/usr/bin/env node
/** The command `muster`. Exit codes and messages for usage errors and for failures of Muster itself are decided here. */
import './npm-folder.ts';
import './node22.ts';
import { enableCompileCache } from 'node:module';
import { extname } from 'node:path';
import process from 'node:process';
import { fileURLToPath } from 'node:url';
import { LimitReached } from '../client/errors.ts';
import { printable } from '../common/terminal.ts';
import { EXIT, UsageError } from '../common/usage.ts';
import { commandPath, parseCommandLine } from './command-line.ts';
import { watchForFaults } from './faults.ts';
import { complete, type ParsedCommand } from './options.ts';

// A reader may close early (`| head`); files are still written, and the exit code still says what was found.
for (const stream of [process.stdout, process.stderr]) {
  stream.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') throw error;
  });
}

// In a checkout the commands, which are loaded from here on, have their types stripped once. An installed Muster has none.
if (extname(import.meta.url) === '.ts')
  enableCompileCache(fileURLToPath(new URL('../../node_modules/.cache/muster', import.meta.url)));

watchForFaults(report);

const words = process.argv.slice(2);
try {
  process.exitCode = await run(words);
} catch (error) {
  if (error instanceof UsageError) {
    const path = commandPath(words).map((word) => `${word} `);
    process.stderr.write(`muster: ${printable(error.message)}\nTry: muster ${path.join('')}--help\n`);
    process.exitCode = EXIT.usage;
  } else {
    report(error);
    process.exitCode = EXIT.harness;
  }
}

async function run(all: readonly string[]): Promise<number> {
  const parsed = await parseOrPrint(all);
  if (parsed === undefined) return 0;
  const { command, given, rest } = parsed;
  return await command.run(complete(command.options, given) as never, { rest, parse: parseOrPrint });
}

async function parseOrPrint(all: readonly string[]): Promise<ParsedCommand | undefined> {
  const parsed = await parseCommandLine(all);
  if (!('text' in parsed)) return parsed;
  process.stdout.write(`${parsed.text}\n`);
  return undefined;
}

function report(error: unknown): void {
  const words = error instanceof LimitReached ? error.message : error instanceof Error ? error.stack : undefined;
  // A message may repeat what a target sent.
  process.stderr.write(`muster: ${printable(words ?? String(error))}\n`);
}
