/** `--command LINE`: started, waited for until it serves, restarted on request, ended with its children. */
import { defined } from '../../common/defined.ts';
import type { StopSignal } from '../../contract/control.ts';
import { acceptsControl } from '../control/http-control.ts';
import { addressesIn, fieldsOf } from '../transports/index.ts';
import type { Transport, TransportAddress } from '../transports/transport.ts';
import { measureExecutable } from './executable.ts';
import { labelOf, ProcessGroup } from './process-group.ts';
import { lastLines, type Started, StartFailed, type StartOptions, waitUntil } from './started.ts';

/** A shell line and where it is to serve. */
export interface CommandOptions extends StartOptions {
  line: string;
  cwd?: string | undefined;
  /** Where it is expected to serve; without one its ready line says where. */
  at: TransportAddress | undefined;
  /** Address of its control API, which has to accept connections too. */
  control?: string | undefined;
}

/** What a target may print on stdout once it serves: `{"ready":true,"socket"|"discovery"|"url"|"control":…}`. */
interface ReadyLine {
  at?: TransportAddress | undefined;
  control?: string;
}

/** Throws StartFailed; nothing is left running then. */
export async function startCommand(options: CommandOptions): Promise<Started> {
  options.notify(`starting ${labelOf(options.line)}`);
  const ran = measureExecutable(options.line, options.cwd, options.env);
  let group = await launch(options);
  let ready: ReadyLine & { at: TransportAddress };
  try {
    ready = await untilServing(group, options);
    await untilControllable(group, options);
  } catch (error) {
    await group.stop();
    throw error;
  }
  const { at, control } = ready;
  let told = false;
  const stop = async (signal?: StopSignal): Promise<void> => {
    await group.stop(signal);
    if (!group.leftBehind || told) return;
    told = true;
    options.notify(
      `${group.label} has ended, but something that it started in a session of its own still runs and holds its output`,
    );
  };
  return {
    kind: 'command',
    at,
    ran,
    ...defined({ control }),
    restart: {
      stop,
      start: async (signal) => {
        if (!group.running) group = await launch(options);
        const again = signal === undefined ? options : { ...options, signal };
        await untilServing(group, { ...again, at });
        await untilControllable(group, again);
      },
      endedByItself: () => {
        const how = group.endedByItself;
        return how === undefined ? undefined : `${group.label} ${how}${lastLines(outputOf(group))}`;
      },
    },
    diagnostics: () => (group.running ? group.stderr : `${group.label} ${group.how}${lastLines(outputOf(group))}`),
    close: () => stop(),
  };
}

async function launch({ at, line, env, cwd }: CommandOptions): Promise<ProcessGroup> {
  await at?.transport.prepare?.(at.address).catch((error: unknown) => {
    throw new StartFailed(`--command: ${error instanceof Error ? error.message : String(error)}`, { cause: error });
  });
  return new ProcessGroup(line, env, { cwd });
}

/** What the target announced, with the address at which it serves: the expected one, or that of its ready line. */
function untilServing(
  group: ProcessGroup,
  { at, ...options }: CommandOptions,
): Promise<ReadyLine & { at: TransportAddress }> {
  const { transports } = options;
  if (at === undefined) {
    return waitFor(`printed ${readyForm(transports)}`, group, options, () => {
      const ready = announced(group, transports);
      if (ready === undefined) return undefined;
      const { at: announcedAt } = ready;
      if (announcedAt !== undefined) return { ...ready, at: announcedAt };
      // There is one ready line, so no other will say it.
      throw new StartFailed(`${group.label} is ready, but has not printed ${readyForm(transports)}`);
    });
  }
  return waitFor(`served ${at.transport.served(at.address)}`, group, options, async () =>
    (await at.transport.accepts(at.address)) ? { ...announced(group, transports), at } : undefined,
  );
}

/** What a command that names no place has to print, and the ways to name one. */
function readyForm(transports: readonly Transport[]): string {
  const fields = transports.map(({ addressField }) => addressField);
  const places = transports.flatMap(({ addressField, placeholder }) =>
    placeholder === undefined ? [] : [`{${addressField}}`],
  );
  const options = fields.map((name) => `--${name}`);
  return `{"ready":true,${fields.map((name) => `"${name}"`).join('|')}:…} on standard output (the command names no place to serve at: put ${places.join(' or ')} into it, or give ${options.join(', ')})`;
}

async function untilControllable(group: ProcessGroup, options: CommandOptions): Promise<void> {
  const { control } = options;
  if (control === undefined) return;
  await waitFor(`served its control API at ${control}`, group, options, async () =>
    (await acceptsControl(control)) ? true : undefined,
  );
}

/** What the ready line says; undefined when there is none yet. */
function announced(group: ProcessGroup, transports: readonly Transport[]): ReadyLine | undefined {
  if (group.ready === undefined) return undefined;
  const text: Record<string, string> = {};
  for (const name of Object.keys({ ...fieldsOf(transports), control: true })) {
    const field = group.ready[name];
    if (typeof field === 'string' || typeof field === 'number') text[name] = String(field);
  }
  const [at] = addressesIn(text, transports);
  const { control } = text;
  return { at, ...defined({ control }) };
}

const waitFor = <T>(
  what: string,
  group: ProcessGroup,
  { timeoutMs, signal, notify, transports }: StartOptions,
  look: () => Promise<T | undefined> | T | undefined,
): Promise<T> =>
  waitUntil(what, look, {
    ...{ timeoutMs, signal, notify, name: group.label },
    hint: () => {
      const ready = announced(group, transports);
      if (ready === undefined) return undefined;
      return `its ready line names ${ready.at === undefined ? 'no address' : ready.at.address}`;
    },
    ended: () => group.how,
    output: () => outputOf(group),
  });

const outputOf = (group: ProcessGroup): string => group.stderr.trim() || group.stdout;
