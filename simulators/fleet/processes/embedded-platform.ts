/** Runs Muster's own platform in a separate process, so that it shares no event loop with the fleet. */
import { constants, getPriority, setPriority } from 'node:os';
import type { PlatformAddress } from '../platform/client.ts';
import { killed, startProcess } from './hosts.ts';

/** Small, because generating thousands of longer keys takes minutes. */
const SMALLEST_KEY_BITS = 1024;

interface EmbeddedPlatform {
  readonly address: PlatformAddress;
  readonly pid: number;
  /** Resolves with a message if the process ends without `stop`. */
  readonly died: Promise<string>;
  stop(): Promise<void>;
}

/**
 * Nice value above the fleet's: with no core to spare the generator goes first, because a late request says nothing
 * about a platform.
 */
const BEHIND = 5;

/**
 * `devices`: existing devices without a robot. Resolves once the platform serves; rejects if its process ends first.
 */
export async function startEmbeddedPlatform(seed: number, devices = 0): Promise<EmbeddedPlatform> {
  const child = startProcess('embedded-platform');
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
    // State is in memory only, so nothing needs an orderly end.
    stop: () => {
      stopped = true;
      return killed(child);
    },
  };
}

async function serve(seed: number, devices: number): Promise<void> {
  try {
    setPriority(Math.min(getPriority() + BEHIND, constants.priority.PRIORITY_LOW));
  } catch {
    // Some sandboxes forbid it, and a machine with a core to spare does not need it.
  }
  // Loaded here only, to keep its code out of the parent process.
  const { simulatePlatform } = await import('../../platform/index.ts');
  const { url, agentUrl, mqttUrl, apiKey } = await simulatePlatform({
    seed,
    devices,
    minKeyBits: SMALLEST_KEY_BITS,
  });
  // A killed fleet cannot receive the address; its end ends this process.
  process.send?.({ url, agentUrl, mqttUrl, apiKey } satisfies PlatformAddress, () => {});
}

if (import.meta.main) {
  process.on('disconnect', () => process.exit());
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => {});
  process.once('message', (message) => {
    const { seed, devices } = message as { seed: number; devices: number };
    void serve(seed, devices);
  });
}
