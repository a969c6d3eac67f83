/** Runs Muster's simulated platform in a separate process, because a shared event loop would delay the fleet. */
import { flushCompileCache } from 'node:module';
import { constants, getPriority, setPriority } from 'node:os';
import type { PlatformAddress } from '../platform/client.ts';
import { killed, startProcess, WORKER_FLAGS } from './workers.ts';

/** Rejects if the process ends before the platform serves; `died` resolves if it ends later without `stop`. */
export async function startEmbeddedPlatform(seed: number, devices = 0) {
  const child = startProcess('embedded-platform', WORKER_FLAGS);
  const address = await new Promise<PlatformAddress>((resolve, reject) => {
    child.once('message', (message) => resolve(message as PlatformAddress));
    child.once('error', reject);
    child.once('exit', (code) => reject(new Error(`the embedded platform ended before it served (exit code ${code})`)));
    child.send({ seed, devices });
  });
  let stopped = false;
  const died = new Promise<string>((resolve) => {
    child.once('exit', (code, signal) => {
      if (!stopped) resolve(`the embedded platform died (${signal ?? `exit code ${code}`})`);
    });
  });
  return {
    address,
    pid: child.pid ?? 0,
    died,
    // Kills the process, because its state in memory needs no orderly end.
    stop: (): Promise<void> => {
      stopped = true;
      return killed(child);
    },
  };
}

async function serve({ seed, devices }: { seed: number; devices: number }): Promise<void> {
  try {
    // Lowers the priority of the platform, so that the load generator sends its requests on time.
    setPriority(Math.min(getPriority() + 5, constants.priority.PRIORITY_LOW));
  } catch {
    // A sandbox may forbid the change.
  }
  const { simulatePlatform } = await import('../../platform/index.ts');
  // Accepts short keys, because generating thousands of long keys takes minutes.
  const { url, agentUrl, mqttUrl, apiKey } = await simulatePlatform({ seed, devices, minKeyBits: 1024 });
  process.send?.({ url, agentUrl, mqttUrl, apiKey } satisfies PlatformAddress, () => {});
  // Writes the compile cache now, because a killed process cannot write the cache at its exit.
  flushCompileCache();
}

if (import.meta.main) {
  process.on('disconnect', () => process.exit());
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => {});
  process.once('message', (message) => void serve(message as Parameters<typeof serve>[0]));
}
