/** Commands whose code is loaded when they are named, so that help and small commands start at once. */
import type { Argv, CommandModule } from 'yargs';

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
      loaded === undefined ? body().then((own) => options(own, argv)) : options(loaded, argv)) as never,
    handler: async (args) => (await body()).handler(args as never),
  };
}

const options = ({ builder }: Body, argv: Argv): unknown =>
  typeof builder === 'function' ? builder(argv) : argv.options(builder ?? {});
