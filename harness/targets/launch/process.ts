/** Runs shell lines in process groups; a helper process ends all groups when Muster dies, even by SIGKILL. */
import { type ChildProcess, spawn } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { defined } from '../../common/defined.ts';
import { jsonOf, orElse } from '../../common/lenient.ts';
import { statOf } from '../../common/owner.ts';
import { pollWithin } from '../../common/waiting.ts';
import type { StopSignal } from '../../contract/control.ts';
import { measureExecutable } from '../identity.ts';
import { acceptsControl, addressesIn, type Transport, type TransportAddress } from '../transports/index.ts';
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

/** Seconds between SIGTERM and SIGKILL, after Muster has died. */
const REAPER_GRACE_SECONDS = 2;

const REAPER_SCRIPT = `
trap '' HUP INT TERM
groups=
while read -r sign group; do
  others=
  for one in $groups; do [ "$one" = "$group" ] || others="$others $one"; done
  groups=$others
  [ "$sign" = - ] || groups="$groups $group"
done
[ -n "$groups" ] || exit 0
for group in $groups; do kill -s TERM -- "-$group"; done
left=${REAPER_GRACE_SECONDS * 10}
while [ "$left" -gt 0 ]; do
  living=
  for group in $groups; do ! kill -s 0 -- "-$group" || living=1; done
  [ -n "$living" ] || exit 0
  sleep 0.1
  left=$((left - 1))
done
for group in $groups; do kill -s KILL -- "-$group"; done
`;

let reaper: ChildProcess | undefined;

function endWithUs(group: number): () => void {
  tellReaper(`+ ${group}`);
  return () => tellReaper(`- ${group}`);
}

function tellReaper(line: string): void {
  reaper ??= startReaper();
  // Writes the line immediately, because Muster may die at any time. Skips the line if the helper could not start.
  if (reaper.stdin?.writable === true) reaper.stdin.write(`${line}\n`);
}

function startReaper(): ChildProcess {
  const child = spawn('/bin/sh', ['-c', REAPER_SCRIPT], {
    // Starts a new session, so that signals to the terminal or to Muster's group do not reach the helper.
    detached: true,
    cwd: '/',
    env: { PATH: '/usr/bin:/bin' },
    stdio: ['pipe', 'ignore', 'ignore'],
  });
  child.on('error', () => {});
  child.stdin?.on('error', () => {});
  child.unref();
  (child.stdin as { unref?(): void } | null)?.unref?.();
  return child;
}

export interface GroupOptions {
  cwd?: string | undefined;
  /** Milliseconds between a signal to the group and SIGKILL. Default 10 000. */
  graceMs?: number;
  stdin?: string;
  keptCharacters?: number;
  onStdout?(output: Buffer): void;
  onStderr?(output: Buffer): void;
}

/** Reads all output, because a full pipe would block the processes. */
export class ProcessGroup {
  readonly label: string;
  readonly ended: Promise<void>;
  readonly exited: Promise<void>;
  readonly #graceMs: number;
  readonly #child: ChildProcess;
  readonly #stdout: OutputTail;
  readonly #stderr: OutputTail;
  readonly #release: () => void;
  #stopping: Promise<void> | undefined;
  how: string | undefined;
  code: number | undefined;
  leftBehind = false;

  constructor(
    line: string,
    env: Readonly<Record<string, string | undefined>>,
    { cwd, graceMs = 10_000, stdin, keptCharacters, onStdout = () => {}, onStderr = () => {} }: GroupOptions = {},
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
      this.how = `could not be started (${error.message})`;
      exited.resolve();
      ended.resolve();
    });
    this.#child.once('exit', (code, signal) => {
      this.code = code ?? undefined;
      this.how ??= signal === null ? `ended with exit code ${code}` : `was ended by ${signal}`;
      if (!this.#alive()) this.#release();
      exited.resolve();
    });
    // Comes after `exit`, once all output is read.
    this.#child.once('close', () => ended.resolve());
  }

  get endedByItself(): string | undefined {
    return this.#stopping === undefined ? this.how : undefined;
  }

  get stdout(): string {
    return this.#stdout.text;
  }

  get stderr(): string {
    return this.#stderr.text;
  }

  /** Signals all processes of the group, and sends SIGKILL after `graceMs`. Idempotent. */
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
    const drained = delay(1000, true, { ref: false });
    this.leftBehind = await Promise.race([this.ended.then(() => false), drained]);
    this.release();
  }

  /** Goes on reading, because a process that the line left behind would die of a closed pipe. */
  discard(): void {
    for (const output of [this.#child.stdout, this.#child.stderr]) {
      output?.removeAllListeners('data').resume();
      if (output instanceof Socket) output.unref();
    }
  }

  release(): void {
    this.#child.stdout?.destroy();
    this.#child.stderr?.destroy();
  }

  #gone(timeoutMs: number): Promise<true | undefined> {
    const look = () => (this.#alive() ? undefined : true);
    return pollWithin(`the end of ${this.label}`, look, { timeoutMs, firstPauseMs: 20 });
  }

  #alive(): boolean {
    // Zombies count as ended, although the kernel lists zombies until their parent reaps them.
    return this.#signal(0) && (this.how === undefined || hasLiving(this.#child.pid));
  }

  /** Signal 0 only looks for the group; false if the group has ended. */
  #signal(signal: NodeJS.Signals | 0): boolean {
    const { pid } = this.#child;
    try {
      return pid !== undefined && process.kill(-pid, signal);
    } catch {
      return false;
    }
  }
}

export function labelOf(line: string): string {
  const [first = '', ...more] = line.trim().split('\n');
  return `\`${first}${more.length === 0 ? '' : ' …'}\``;
}

function hasLiving(group: number | undefined): boolean {
  const entries = orElse(() => readdirSync('/proc'), undefined);
  if (entries === undefined) return true;
  return entries.some((entry) => {
    if (!/^\d+$/.test(entry)) return false;
    const [state, , own] = statOf(entry);
    return Number(own) === group && state !== 'Z' && state !== 'X';
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

/** Reads a line such as `{"ready":true,"socket"|"discovery"|"url"|"control":…}`; undefined for other lines. */
export function readyLine(line: string, transports: readonly Transport[]): ReadyLine | undefined {
  const said: Record<string, unknown> = line.startsWith('{') ? Object(jsonOf(line)) : {};
  if (said['ready'] !== true) return undefined;
  const texts = Object.entries(said).filter(([, value]) => typeof value === 'string' || typeof value === 'number');
  const text: Record<string, string> = Object.fromEntries(texts.map(([name, value]) => [name, String(value)]));
  const [at] = addressesIn(text, transports);
  return { at, ...defined({ control: text['control'] }) };
}

class ServingGroup extends ProcessGroup {
  readonly #options: CommandOptions;
  readonly #ready: () => ReadyLine | undefined;

  constructor(options: CommandOptions) {
    const { line, env, cwd, transports, written } = options;
    let ready: ReadyLine | undefined;
    const lines = new Lines(65_536, (text) => {
      ready ??= readyLine(text, transports);
    });
    super(line, env, { cwd, onStdout: (bytes) => lines.add(bytes), onStderr: (bytes) => written?.lines.add(bytes) });
    void this.ended.then(() => written?.lines.end());
    this.#options = options;
    this.#ready = () => ready;
  }

  ending(how: string): string {
    return `${this.label} ${how}${lastLines(this.#output)}`;
  }

  async untilServing(at = this.#options.at, signal = this.#options.signal) {
    const { control, transports, timeoutMs, notify } = this.#options;
    const hint = (): string | undefined => {
      const ready = this.#ready();
      return ready === undefined ? undefined : `its ready line names ${ready.at?.address ?? 'no address'}`;
    };
    const [ended, output] = [() => this.how, () => this.#output];
    const waiting = { timeoutMs, signal, notify, name: this.label, hint, ended, output };
    const printed = () => {
      const ready = this.#ready();
      if (ready === undefined) return undefined;
      if (ready.at !== undefined) return { ...ready, at: ready.at };
      // Fails immediately, because a process prints only one ready line.
      throw new StartFailed(`${this.label} is ready, but has not printed ${readyForm(transports)}`);
    };
    const serves = async (place: TransportAddress) =>
      (await place.transport.accepts(place.address)) ? { ...this.#ready(), at: place } : undefined;
    const ready =
      at === undefined
        ? await waitUntil(`printed ${readyForm(transports)}`, printed, waiting)
        : await waitUntil(`served ${at.transport.served(at.address)}`, () => serves(at), waiting);
    if (control !== undefined) {
      const accepted = async () => (await acceptsControl(control)) || undefined;
      await waitUntil(`served its control API at ${control}`, accepted, waiting);
    }
    return ready;
  }

  get #output(): string {
    return this.stderr.trim() || this.stdout;
  }
}

/** On failure ends the command and throws StartFailed. */
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
