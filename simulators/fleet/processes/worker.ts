import { flushCompileCache } from 'node:module';
import type { HostConfig, HostNotice } from '../host/host.ts';
import { RobotHost } from '../host/robot-host.ts';
import { ALIVE_EVERY_MS, type Call, type Reply, SIGN_OF_LIFE } from './hosts.ts';

let host: RobotHost | undefined;

function send(message: Reply | HostNotice | typeof SIGN_OF_LIFE): void {
  if (process.connected) process.send?.(message, () => {});
}

async function answer({ call, method, args }: Call): Promise<void> {
  try {
    if (method === 'configure') host = new RobotHost(args[0] as HostConfig, send);
    const called = method === 'configure' ? undefined : host?.[method];
    send({ reply: call, result: await (called as ((...given: unknown[]) => unknown) | undefined)?.apply(host, args) });
    // Writes the compile cache now, because a killed process cannot write the cache at its exit.
    if (method === 'prepare') flushCompileCache();
  } catch (error) {
    send({ reply: call, error: error instanceof Error ? error.message : String(error) });
  }
}

send(SIGN_OF_LIFE);
setInterval(send, ALIVE_EVERY_MS, SIGN_OF_LIFE).unref();
process.on('message', (message) => void answer(message as Call));
// Removes the robots' files, because a killed coordinator cannot.
process.on('disconnect', async () => {
  await host?.stop('abandon').catch(() => {});
  host?.removeFiles();
  process.exit();
});
// Ignores interrupts, which a terminal sends to every process; only the coordinator reacts.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => {});
