/** Commands whose code is loaded when they are named, so that help and small commands start at once. */
import type { Argv, CommandModule, PositionalOptions } from 'yargs';
import { strictValues } from './values.ts';

/** What the file of a command exports: its options, and what it does. */
type Body = Pick<CommandModule<object, never>, 'builder' | 'handler'>;

export interface LazyCommand extends CommandModule {
  command: string;
  /** Until this has resolved, the builder answers with a promise, which completion in a shell doesn't wait for. */
  load(): Promise<Body>;
}

export function lazy(command: string, describe: string, load: () => Promise<object>): LazyCommand {
  let loaded: Body | undefined;
  const body = async (): Promise<Body> => {
    loaded ??= (await load()) as Body;
    return loaded;
  };
  return {
    command,
    describe,
    load: body,
    builder: ((argv: Argv) =>
      loaded === undefined
        ? body().then((own) => options(own, argv, positionalsOf(command)))
        : options(loaded, argv, positionalsOf(command))) as never,
    handler: async (args) => (await body()).handler(args as never),
  };
}

/** `merge <dir..>` takes `dir`. */
export const positionalsOf = (command: string): string[] =>
  [...command.matchAll(/[<[]([\w-]+)(?:\.\.)?[>\]]/g)].map(([, name = '']) => name);

function options({ builder }: Body, argv: Argv, positionals: readonly string[]): Argv {
  if (typeof builder === 'function') return strictValues(builder(argv) as Argv, positionals);
  for (const [name, option] of Object.entries(builder ?? {})) {
    if (positionals.includes(name)) argv.positional(name, option as PositionalOptions);
    else argv.option(name, option);
  }
  return strictValues(argv, positionals);
}
