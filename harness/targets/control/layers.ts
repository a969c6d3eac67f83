/** A layer handles some calls of a control, and passes all others to the inner control. */
import { errorOf } from '../../client/errors.ts';
import { pollWithin } from '../../common/waiting.ts';
import type { ControlCapability, ControlCompacted, ControlInfo } from '../../contract/control.ts';
import type { TargetFiles } from '../files/target-files.ts';
import type { Restarter } from '../launch/started.ts';
import {
  AgentEnded,
  type CallName,
  Control,
  type ControlAnswer,
  type ControlCall,
  ControlError,
  type Exact,
  eventIn,
  noControl,
} from './control.ts';
import { type LineOptions, runControlLine } from './ends.ts';

export interface Layer {
  kind?: string;
  info?(signal?: AbortSignal): Promise<ControlInfo>;
  /** Undefined passes the call to the inner control. */
  call?(call: ControlCall, signal?: AbortSignal): Promise<ControlAnswer> | undefined;
  line?(call: ControlCall): string | undefined;
  close?(): Promise<void>;
}

export function layered(inner: Control, layer: Layer): Control {
  return new (class extends Control {
    override readonly kind = layer.kind ?? inner.kind;
    override readonly seesDevice = inner.seesDevice;

    override info(signal?: AbortSignal): Promise<ControlInfo> {
      return layer.info?.(signal) ?? inner.info(signal);
    }
    override async call(call: ControlCall, signal?: AbortSignal): Promise<ControlAnswer> {
      return await (layer.call?.(call, signal) ?? inner.call(call, signal));
    }
    override line(call: ControlCall): string | undefined {
      return layer.line === undefined ? inner.line(call) : layer.line(call);
    }
    override close(): Promise<void> {
      return layer.close?.() ?? inner.close();
    }
  })();
}

export const CAPABILITY_FOR: { readonly [Name in CallName]: ControlCapability } = {
  deploy: 'drive',
  remove: 'drive',
  publish: 'drive',
  compact: 'compact',
  stop: 'restart',
  start: 'restart',
};

/** `first` handles each call unless only `second` has the capability. */
export function combinedControl(first: Control, second: Control): Control {
  if (first === noControl) return second;
  if (second === noControl) return first;
  const ofSecondAlone = new Set<string>();
  const madeBy = ({ name }: ControlCall): Control => (ofSecondAlone.has(CAPABILITY_FOR[name]) ? second : first);
  return layered(first, {
    kind: `${first.kind} + ${second.kind}`,
    info: async (signal) => {
      const [one, other] = [await first.info(signal), await second.info(signal)];
      for (const name of other.capabilities) if (!one.capabilities.includes(name)) ofSecondAlone.add(name);
      return { ...other, ...one, capabilities: [...new Set([...one.capabilities, ...other.capabilities])] };
    },
    call: (call, signal) => madeBy(call).call(call, signal),
    line: (call) => madeBy(call).line(call),
    close: async () => void (await Promise.all([first.close(), second.close()])),
  });
}

export function processControl(restarter: Restarter): Control {
  const start = (signal?: AbortSignal): Promise<void> =>
    restarter.start(signal).catch((error: unknown) => {
      const Kind = restarter.endedByItself?.() === undefined ? ControlError : AgentEnded;
      throw new Kind(errorOf(error).message, { cause: error });
    });
  return layered(noControl, {
    kind: 'process',
    info: async () => ({ capabilities: ['restart'] }),
    call: (call, signal) => {
      if (call.name === 'stop') return restarter.stop(call.signal).then(() => undefined);
      return call.name === 'start' ? start(signal).then(() => undefined) : undefined;
    },
  });
}

export interface Filling extends Pick<LineOptions, 'env' | 'cwd'> {
  log: string;
  line: string;
  files: TargetFiles;
}

export const canFill = ({ capabilities }: ControlInfo): boolean =>
  (['drive', 'restart', 'log'] as const).every((name) => capabilities.includes(name));

export const withCompaction = (info: ControlInfo): ControlInfo => ({
  ...info,
  capabilities: [...new Set([...info.capabilities, 'compact'])],
  compact_restarts: true,
});

/**
 * Makes an agent compact: fills the stopped agent's log, starts the agent, and publishes an event. Waits for the
 * compaction, because the agent may show the event first.
 */
export function withFilling(inner: Control, { log, line, env, cwd, files }: Filling): Control {
  const firstLine = async (): Promise<string> =>
    // Reads 1 MiB to get the first line, because a whole log may not fit into memory.
    ((await files.readPart(log, 0, 2 ** 20))?.toString('utf8') ?? '').split('\n', 1)[0] ?? '';
  const compact = async (signal?: AbortSignal): Promise<Exact<ControlCompacted>> => {
    await inner.stop('SIGTERM', signal);
    const before = await firstLine();
    try {
      await runControlLine('fill', line, { env, cwd, timeoutMs: 60_000, signal, stdin: '', until: 'exited' });
    } finally {
      await inner.start(signal);
    }
    const { last_id } = await inner.publish(1, signal);
    const hasChanged = async (): Promise<true | undefined> => ((await firstLine()) === before ? undefined : true);
    await pollWithin('the agent to compact its log', hasChanged, { timeoutMs: 5000, signal });
    // First line of the log: the earliest event that the compaction left.
    const event = eventIn(await firstLine());
    if (event !== undefined) return { earliest_id: event.id, latest_id: last_id };
    throw new ControlError(`control: the first line of ${log} has no \`id\`, so what a compaction left is not known`);
  };
  return layered(inner, {
    info: async (signal) => withCompaction(await inner.info(signal)),
    call: ({ name }, signal) => (name === 'compact' ? compact(signal) : undefined),
    line: (call) => (call.name === 'compact' ? undefined : inner.line(call)),
  });
}
