import '../common/node22.ts';
import { realpathSync } from 'node:fs';
import { join } from 'node:path';
import process from 'node:process';
import { fileURLToPath } from 'node:url';
import { LimitReached } from '../client/errors.ts';
import { expectPlatformPackages, MissingPackage } from '../common/platform-packages.ts';
import { printable, withoutCiCommands } from '../common/terminal.ts';
import { EXIT, UsageError } from '../common/usage.ts';
import { commandPath, parseCommandLine } from './command-line.ts';
import { complete, type ParsedCommand } from './options.ts';
import { watchForFaults, watchOutputs } from './process-end.ts';

enterCallersFolder();

watchOutputs();

watchForFaults(report);

const words = process.argv.slice(2);
try {
  const context = { from: process.cwd(), parse: parseOrPrint };
  const parsed = await parseOrPrint(words, context.from);
  if (parsed === undefined) process.exitCode = 0;
  else {
    const { command, given, rest, config } = parsed;
    if (config !== undefined) {
      process.chdir(config.folder);
      process.stderr.write(withoutCiCommands(printable(`options from ${config.file}: ${config.names.join(', ')}\n`)));
    }
    process.exitCode = await command.run(complete(command.options, given) as never, { ...context, rest });
  }
} catch (error) {
  if (error instanceof UsageError) {
    const path = commandPath(words).map((word) => `${word} `);
    process.stderr.write(
      withoutCiCommands(`muster: ${printable(error.message)}\nTry: muster ${path.join('')}--help\n`),
    );
    process.exitCode = EXIT.usage;
  } else {
    report(error);
    process.exitCode = EXIT.harness;
  }
}

async function parseOrPrint(all: readonly string[], folder?: string): Promise<ParsedCommand | undefined> {
  const parsed = await parseCommandLine(all, folder);
  if (!('text' in parsed)) return parsed;
  process.stdout.write(`${parsed.text}\n`);
  return undefined;
}

function report(error: unknown): void {
  let told = error;
  try {
    if ((error as NodeJS.ErrnoException | null)?.code === 'ERR_MODULE_NOT_FOUND') expectPlatformPackages();
  } catch (missing) {
    told = missing;
  }
  const isPlain = told instanceof LimitReached || told instanceof MissingPackage;
  const words = told instanceof Error ? told[isPlain ? 'message' : 'stack'] : undefined;
  // Escapes control characters, because a message may quote the target.
  process.stderr.write(withoutCiCommands(`muster: ${printable(words ?? String(told))}\n`));
}

/** Changes to the folder of the caller (INIT_CWD), because `npm run muster` starts in the root of the checkout. */
function enterCallersFolder(): void {
  const { INIT_CWD: called, npm_lifecycle_event: script = '', npm_package_json: manifest } = process.env;
  if (called === undefined || manifest === undefined || !['muster', 'start'].includes(script)) return;
  const root = fileURLToPath(new URL('../..', import.meta.url));
  if (!same(manifest, join(root, 'package.json')) || !same(process.cwd(), root)) return;
  process.chdir(called);
  // Without the variable, a child process of Muster stays in its own folder.
  delete process.env['INIT_CWD'];
}

function same(left: string, right: string): boolean {
  try {
    return realpathSync(left) === realpathSync(right);
  } catch {
    return false;
  }
}
