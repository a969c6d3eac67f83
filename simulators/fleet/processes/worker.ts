/** Entry of a worker process: hosts its share of the robots for the coordinator that forked it, and ends with it. */

import { flushCompileCache } from 'node:module';
import type { HostConfig, HostNotice } from '../host/host.ts';
import { RobotHost } from '../host/robot-host.ts';
import { ALIVE_EVERY_MS, type Call, type Reply, SIGN_OF_LIFE } from './hosts.ts';

let host: RobotHost | undefined;

function send(message: Reply | HostNotice | typeof SIGN_OF_LIFE): void {
  // Ignores a coordinator that has ended.
  if (process.connected) process.send?.(message, () => {});
}

async function answer({ call, method, args }: Call): Promise<void> {
  try {
    if (method === 'configure') host = new RobotHost(args[0] as HostConfig, send);
    const called = method === 'configure' ? undefined : host?.[method];
    send({ reply: call, result: await (called as ((...given: unknown[]) => unknown) | undefined)?.apply(host, args) });
    // Writes the cache of compiled code now, because a killed process cannot at its exit.
    if (method === 'prepare') flushCompileCache();
  } catch (error) {
    send({ reply: call, error: error instanceof Error ? error.message : String(error) });
  }
}

/** Removes the robots' files in place of a killed coordinator. */
async function end(): Promise<void> {
  await host?.stop('abandon').catch(() => {});
  host?.removeFiles();
  process.exit();
}

const giveSignOfLife = (): void => send(SIGN_OF_LIFE);
giveSignOfLife();
setInterval(giveSignOfLife, ALIVE_EVERY_MS).unref();
process.on('message', (message) => void answer(message as Call));
process.on('disconnect', () => void end());
// Leaves signals to the coordinator, because a terminal interrupts every process.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => {});
