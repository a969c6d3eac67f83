/** Runs shell lines in process groups, e.g. the command that starts the target. */
import { type ChildProcess, spawn } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { defined } from '../../common/defined.ts';
import { endWithUs } from '../../common/reaper.ts';
import { pollWithin } from '../../common/waiting.ts';
import type { StopSignal } from '../../contract/control.ts';
import { jsonOf } from '../control/control.ts';
import { acceptsControl } from '../control/http-control.ts';
import { measureExecutable } from '../identity.ts';
import { addressesIn } from '../transports/index.ts';
import type { Transport, TransportAddress } from '../transports/transport.ts';
import {
  Lines,
  lastLines,
  OutputTail,
  type Started,
  StartFailed,
  type StartOptions,
  Written,
  waitUntil,
} from './started.ts';

const GRACE_MS = 10_000;
const POLL_MS = 20;
const DRAIN_MS = 1000;

export interface GroupOptions {
  cwd?: string | undefined;
  /** Milliseconds between a signal to the group and SIGKILL. Default 10 000. */
  graceMs?: number;
  stdin?: string;
  keptCharacters?: number;
  onStdout?(output: Buffer): void;
  onStderr?(output: Buffer): void;
}

/** Runs a shell line in a process group. Reads all output, because a full pipe would block the processes. */
export class ProcessGroup {
  readonly label: string;
  readonly ended: Promise<void>;
  readonly exited: Promise<void>;
  readonly #graceMs: number;
  readonly #child: ChildProcess;
  readonly #stdout: OutputTail;
  readonly #stderr: OutputTail;
  #how: string | undefined;
  #code: number | undefined;
  #stopping: Promise<void> | undefined;
  #leftBehind = false;
  readonly #release: () => void;

  constructor(
    line: string,
    env: Readonly<Record<string, string | undefined>>,
    { cwd, graceMs = GRACE_MS, stdin, keptCharacters, onStdout = () => {}, onStderr = () => {} }: GroupOptions = {},
  ) {
    const [exited, ended] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    this.exited = exited.promise;
    this.ended = ended.promise;
    this.label = labelOf(line);
    this.#graceMs = graceMs;
    this.#stdout = new OutputTail(keptCharacters);
    this.#stderr = new OutputTail(keptCharacters);
    this.#child = spawn('/bin/sh', ['-c', line], {
      detached: true,
      stdio: [stdin === undefined ? 'ignore' : 'pipe', 'pipe', 'pipe'],
      env: env as NodeJS.ProcessEnv,
      ...defined({ cwd }),
    });
    this.#release = this.#child.pid === undefined ? () => {} : endWithUs(this.#child.pid);
    // Ignores write errors of a shell line that ends without reading its input.
    this.#child.stdin?.on('error', () => {}).end(stdin);
    this.#child.stdout?.on('data', (output: Buffer) => {
      onStdout(output);
      this.#stdout.add(output);
    });
    this.#child.stderr?.on('data', (output: Buffer) => {
      onStderr(output);
      this.#stderr.add(output);
    });
    this.#child.once('error', (error) => {
      this.#how = `could not be started (${error.message})`;
      exited.resolve();
      ended.resolve();
    });
    this.#child.once('exit', (code, signal) => {
      this.#code = code ?? undefined;
      this.#how ??= signal === null ? `ended with exit code ${code}` : `was ended by ${signal}`;
      if (!this.#alive()) this.#release();
      exited.resolve();
    });
    // `close` comes after `exit`, once all output is read.
    this.#child.once('close', () => ended.resolve());
  }

  get how(): string | undefined {
    return this.#how;
  }

  get code(): number | undefined {
    return this.#code;
  }

  get endedByItself(): string | undefined {
    return this.#stopping === undefined ? this.#how : undefined;
  }

  get leftBehind(): boolean {
    return this.#leftBehind;
  }

  get stdout(): string {
    return this.#stdout.text;
  }

  get stderr(): string {
    return this.#stderr.text;
  }

  /** Sends the signal to all processes of the group, and SIGKILL after `graceMs`. Idempotent. */
  stop(signal: StopSignal = 'SIGTERM'): Promise<void> {
    this.#stopping ??= this.#stop(signal);
    return this.#stopping;
  }

  async #stop(signal: StopSignal): Promise<void> {
    this.#signal(signal);
    if ((await this.#gone(this.#graceMs)) === undefined) {
      this.#signal('SIGKILL');
      await this.#gone(Number.POSITIVE_INFINITY);
    }
    this.#release();
    // Limits the wait for output, because a process that left the group may hold the pipes open.
    const drained = delay(DRAIN_MS, true, { ref: false });
    this.#leftBehind = await Promise.race([this.ended.then(() => false), drained]);
    this.release();
  }

  release(): void {
    this.#child.stdout?.destroy();
    this.#child.stderr?.destroy();
  }

  #gone(timeoutMs: number): Promise<true | undefined> {
    const look = () => (this.#alive() ? undefined : true);
    return pollWithin(`the end of ${this.label}`, look, { timeoutMs, firstPauseMs: POLL_MS });
  }

  #alive(): boolean {
    const { pid } = this.#child;
    if (pid === undefined) return false;
    try {
      process.kill(-pid, 0);
    } catch {
      return false;
    }
    // Zombies count as ended, although the kernel lists zombies until their parent reaps them.
    return this.#how === undefined || hasLiving(pid);
  }

  #signal(signal: NodeJS.Signals): void {
    const { pid } = this.#child;
    if (pid === undefined) return;
    try {
      process.kill(-pid, signal);
    } catch {
      // The group has ended already.
    }
  }
}

export function labelOf(line: string): string {
  const [first = '', ...more] = line.trim().split('\n');
  return `\`${first}${more.length === 0 ? '' : ' …'}\``;
}

function hasLiving(group: number): boolean {
  let entries: string[];
  try {
    entries = readdirSync('/proc');
  } catch {
    return true;
  }
  return entries.some((entry) => {
    if (!/^\d+$/.test(entry)) return false;
    try {
      // Skips the name, which may contain parentheses; state, parent and group follow.
      const stat = readFileSync(`/proc/${entry}/stat`, 'utf8');
      const [state, , own] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
      return Number(own) === group && state !== 'Z' && state !== 'X';
    } catch {
      return false;
    }
  });
}

export interface CommandOptions extends StartOptions {
  line: string;
  cwd?: string | undefined;
  at: TransportAddress | undefined;
  control?: string | undefined;
  written?: Written;
}

interface ReadyLine {
  at: TransportAddress | undefined;
  control?: string;
}

/** Parses a target's ready line `{"ready":true,"socket"|"discovery"|"url"|"control":…}`; undefined for other lines. */
export function readyLine(line: string, transports: readonly Transport[]): ReadyLine | undefined {
  const said = line.startsWith('{') ? (jsonOf(line) as Record<string, unknown> | undefined) : undefined;
  if (said?.['ready'] !== true) return undefined;
  const texts = Object.entries(said).filter(([, value]) => typeof value === 'string' || typeof value === 'number');
  const text: Record<string, string> = Object.fromEntries(texts.map(([name, value]) => [name, String(value)]));
  const [at] = addressesIn(text, transports);
  return { at, ...defined({ control: text['control'] }) };
}

const LONGEST_READY_LINE = 65_536;

class ServingGroup extends ProcessGroup {
  readonly #options: CommandOptions;
  readonly #ready: () => ReadyLine | undefined;

  constructor(options: CommandOptions) {
    const { line, env, cwd, transports, written } = options;
    let ready: ReadyLine | undefined;
    const lines = new Lines(LONGEST_READY_LINE, (text) => {
      ready ??= readyLine(text, transports);
    });
    super(line, env, {
      cwd,
      onStdout: (output) => lines.add(output),
      onStderr: (output) => written?.add(output),
    });
    this.#options = options;
    this.#ready = () => ready;
  }

  ending(how: string): string {
    return `${this.label} ${how}${lastLines(this.#output)}`;
  }

  /** Resolves with the ready line once target and control API accept connections. Throws StartFailed. */
  async untilServing(
    at = this.#options.at,
    signal = this.#options.signal,
  ): Promise<ReadyLine & { at: TransportAddress }> {
    const { control, transports } = this.#options;
    const ready =
      at === undefined
        ? await this.#waitFor(`printed ${readyForm(transports)}`, signal, () => {
            const ready = this.#ready();
            if (ready === undefined) return undefined;
            if (ready.at !== undefined) return { ...ready, at: ready.at };
            // Fails at once, because a process prints only one ready line.
            throw new StartFailed(`${this.label} is ready, but has not printed ${readyForm(transports)}`);
          })
        : await this.#waitFor(`served ${at.transport.served(at.address)}`, signal, async () =>
            (await at.transport.accepts(at.address)) ? { ...this.#ready(), at } : undefined,
          );
    if (control !== undefined)
      await this.#waitFor(`served its control API at ${control}`, signal, async () =>
        (await acceptsControl(control)) ? true : undefined,
      );
    return ready;
  }

  #waitFor<T>(
    what: string,
    signal: AbortSignal | undefined,
    look: () => Promise<T | undefined> | T | undefined,
  ): Promise<T> {
    const hint = (): string | undefined => {
      const ready = this.#ready();
      return ready === undefined ? undefined : `its ready line names ${ready.at?.address ?? 'no address'}`;
    };
    const { timeoutMs, notify } = this.#options;
    const [ended, output] = [() => this.how, () => this.#output];
    return waitUntil(what, look, { timeoutMs, signal, notify, name: this.label, hint, ended, output });
  }

  get #output(): string {
    return this.stderr.trim() || this.stdout;
  }
}

/** Starts the command and waits until the target serves. On failure ends the command and throws StartFailed. */
export async function startCommand(given: CommandOptions): Promise<Started> {
  const written = new Written();
  const options = { ...given, written };
  options.notify(`starting ${labelOf(options.line)}`);
  const ran = measureExecutable(options.line, options.cwd, options.env);
  let group = await launch(options);
  const { at, control } = await group.untilServing().catch(async (error: unknown) => {
    await group.stop();
    throw error;
  });
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
    written,
    ...defined({ control }),
    restart: {
      stop,
      start: async (signal) => {
        if (group.how !== undefined) group = await launch(options);
        await group.untilServing(at, signal);
      },
      endedByItself: () => (group.endedByItself === undefined ? undefined : group.ending(group.endedByItself)),
    },
    diagnostics: () => (group.how === undefined ? group.stderr : group.ending(group.how)),
    close: () => stop(),
  };
}

async function launch(options: CommandOptions): Promise<ServingGroup> {
  const { at } = options;
  await at?.transport.prepare?.(at.address).catch((error: unknown) => {
    throw new StartFailed(`--command: ${error instanceof Error ? error.message : String(error)}`, { cause: error });
  });
  return new ServingGroup(options);
}

function readyForm(transports: readonly Transport[]): string {
  const fields = transports.map(({ addressField }) => addressField);
  const places = transports.flatMap(({ addressField, placeholder }) =>
    placeholder === undefined ? [] : [`{${addressField}}`],
  );
  const options = fields.map((name) => `--${name}`);
  return (
    `{"ready":true,${fields.map((name) => `"${name}"`).join('|')}:…} on standard output (the command names no ` +
    `place to serve at: put ${places.join(' or ')} into it, or give ${options.join(', ')})`
  );
}
