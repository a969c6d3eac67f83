/** Runs a command in this process, for tests that need no child process. */
import { UsageError } from '../../common/usage.ts';
import { parseCommandLine } from '../command-line.ts';
import { type CommandContext, complete } from '../options.ts';

/** Runs it; the exit code. */
export async function runCommand(words: readonly string[]): Promise<number> {
  const parsed = await parseCommandLine(words);
  if ('text' in parsed) return 0;
  const parse: CommandContext['parse'] = async (more) => {
    const inner = await parseCommandLine(more);
    return 'text' in inner ? undefined : inner;
  };
  return await parsed.command.run(complete(parsed.command.options, parsed.given) as never, {
    rest: parsed.rest,
    parse,
  });
}

/** The help, the version or the completions that it asks for. */
export async function shownText(words: readonly string[]): Promise<string> {
  const parsed = await parseCommandLine(words);
  if ('text' in parsed) return parsed.text;
  throw new Error(`runs a command: ${words.join(' ')}`);
}

/** The message of the UsageError that it ends with. */
export async function refusal(words: readonly string[]): Promise<string> {
  try {
    await runCommand(words);
  } catch (error) {
    if (error instanceof UsageError) return error.message;
    throw error;
  }
  throw new Error(`not refused: ${words.join(' ')}`);
}
