/** Entry point of an agent process, which a supervisor drives over IPC and can kill without ending the control API. */

import { createRequire, flushCompileCache } from 'node:module';
import process from 'node:process';
import { defined } from '../../../harness/common/defined.ts';
import { controlError } from '../control/target.ts';
import type { SimulatedDevice } from '../index.ts';
import { type Logger, optionOf } from '../options.ts';
import type { Seen } from '../ports.ts';
import { type Call, type ProcessSettings, type Reply, readyOf, startDevice } from './start.ts';

let device: SimulatedDevice | undefined;
let begun: Promise<void> | undefined;
const stopped = Promise.withResolvers<void>();

const reply = (message: Reply): void => {
  if (process.connected) process.send?.(message, () => {});
};

process.once('message', (settings: ProcessSettings) => (begun = begin(settings)));
// A terminal signals all processes, but the supervisor ends this process itself.
for (const signal of ['SIGINT', 'SIGHUP'] as const) process.on(signal, () => {});
process.once('SIGTERM', () => void end());
process.once('disconnect', () => void end());
reply({ kind: 'loaded' });

async function begin(settings: ProcessSettings): Promise<void> {
  let made: SimulatedDevice;
  try {
    const watch = settings.watched === true ? (seen: Seen): void => reply({ kind: 'seen', seen }) : undefined;
    made = await startDevice(settings, loggerOf(settings), watch);
    device = made;
  } catch (error) {
    const option = optionOf(error);
    const message = error instanceof Error ? error.message : String(error);
    reply({ kind: 'broken', message, ...defined({ option }) });
    process.exitCode = 1;
    process.disconnect?.();
    return;
  }
  process.on('message', async ({ id, name, given }: Call) => {
    try {
      reply({ kind: 'result', id, value: await made.call(name, given) });
    } catch (error) {
      const { status, code, message } = controlError(error);
      reply({ kind: 'error', id, status, code, message });
    }
  });
  reply({ kind: 'ready', ready: await readyOf(made, stopped.promise), info: made.info() });
  // Writes the compile cache now, because a process that is killed later cannot write it at its exit.
  flushCompileCache();
}

const require = createRequire(import.meta.url);

/** Loads pino late: pino takes a fifth of the start time, and agents rarely log. */
function loggerOf({ logLevel: level }: ProcessSettings): Logger {
  let opened: Logger | undefined;
  const open = (): Logger => {
    const { pino } = require('pino') as typeof import('pino');
    return pino({ level, base: { pid: process.pid } }, pino.destination({ dest: 2, sync: true }));
  };
  const line =
    (name: keyof Logger): Logger[keyof Logger] =>
    (about, message) => {
      opened ??= open();
      opened[name](about, message);
    };
  return { debug: line('debug'), info: line('info'), warn: line('warn'), error: line('error') };
}

async function end(): Promise<void> {
  stopped.resolve();
  try {
    // Waits for a pending start, so that the stop leaves no socket file or lock.
    await begun;
    await device?.stop();
    process.exit(0);
  } catch {
    process.exit(1);
  }
}
