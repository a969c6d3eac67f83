/** Makes an agent compact its event log that does so by itself alone: fills the log while it is stopped, and publishes one event more. */
import type { ControlCapability, ControlCompacted, ControlInfo } from '../../contract/control.ts';
import type { TargetFiles } from '../files/target-files.ts';
import { type Control, type ControlCall, ControlError, type Exact, parseExact } from './control.ts';
import { RoutedControl } from './routed-control.ts';
import { runControlLine } from './shell-line.ts';

/** How a log is filled. */
export interface Filling {
  /** Shell line of the target file. */
  line: string;
  env: Record<string, string | undefined>;
  cwd: string | undefined;
  files: TargetFiles;
}

const LINE_MS = 60_000;
const NEEDED: readonly ControlCapability[] = ['drive', 'restart', 'log'];

/** Whether a log can be filled so: the agent has to be stopped and started, to be made to publish, and to have a log that is known. */
export const canFill = ({ capabilities }: ControlInfo): boolean => NEEDED.every((name) => capabilities.includes(name));

/** Every call but `compact` goes to the control inside, whose log lies at `log`. */
export const withFilling = (inner: Control, log: string, filling: Filling): Control =>
  new FillingControl(inner, filling, log, undefined);

/** What `info` says of a control that fills the log. */
export const withCompaction = (info: ControlInfo): ControlInfo => ({
  ...info,
  capabilities: [...new Set([...info.capabilities, 'compact'])],
  compact_restarts: true,
});

class FillingControl extends RoutedControl {
  readonly #inner: Control;
  readonly #filling: Filling;
  readonly #log: string;
  readonly #signal: AbortSignal | undefined;

  constructor(inner: Control, filling: Filling, log: string, signal: AbortSignal | undefined) {
    super(inner.kind, inner);
    this.#inner = inner;
    this.#filling = filling;
    this.#log = log;
    this.#signal = signal;
  }

  async info(): Promise<ControlInfo> {
    return withCompaction(await this.#inner.info());
  }
  override async compact(): Promise<Exact<ControlCompacted>> {
    const { line, env, cwd } = this.#filling;
    await this.#inner.stop('SIGTERM');
    try {
      const running = { env, cwd, timeoutMs: LINE_MS, signal: this.#signal };
      await runControlLine('fill', line, { ...running, stdin: '', end: 'exit' });
    } finally {
      await this.#inner.start();
    }
    const { last_id } = await this.#inner.publish(1);
    return { earliest_id: await this.#earliest(), latest_id: last_id };
  }
  override line(call: ControlCall): string | undefined {
    return call.name === 'compact' ? undefined : super.line(call);
  }
  protected maker(): Control {
    return this.#inner;
  }
  bound(signal: AbortSignal): Control {
    return new FillingControl(this.#inner.bound(signal), this.#filling, this.#log, signal);
  }
  close(): Promise<void> {
    return this.#inner.close();
  }

  /** The id of the first line: how a line is laid out beside that is the agent's own matter. */
  async #earliest(): Promise<number | bigint> {
    const log = (await this.#filling.files.read(this.#log))?.toString('utf8') ?? '';
    const [first = ''] = log.split('\n', 1);
    const id = idOf(first);
    if (id === undefined)
      throw new ControlError(
        `control: the first line of ${this.#log} has no \`id\`, so what a compaction left is not known`,
      );
    return id;
  }
}

function idOf(line: string): number | bigint | undefined {
  try {
    const { id } = parseExact(line) as { id?: unknown };
    return typeof id === 'number' || typeof id === 'bigint' ? id : undefined;
  } catch {
    return undefined;
  }
}
