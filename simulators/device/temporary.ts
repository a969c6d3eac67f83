/** A device in a folder of its own below the system's temporary one, which goes with it. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { SimulatedDevice } from './device.ts';
import type { DeviceOptions } from './options.ts';

export class TemporaryDevice extends SimulatedDevice {
  readonly #folder: string;

  constructor(options: Omit<DeviceOptions, 'dir'>) {
    const folder = mkdtempSync(join(tmpdir(), 'muster-device-'));
    try {
      const socket = options.socket ?? (options.loopback === undefined ? join(folder, 'agent.sock') : undefined);
      // The directory's name is another one each time, and must not be what drives ids and data.
      super({ seed: 1, ...options, dir: join(folder, 'robot'), ...(socket === undefined ? {} : { socket }) });
    } catch (error) {
      rmSync(folder, { recursive: true });
      throw error;
    }
    this.#folder = folder;
  }

  override async [Symbol.asyncDispose](): Promise<void> {
    try {
      await super[Symbol.asyncDispose]();
    } finally {
      rmSync(this.#folder, { recursive: true, force: true });
    }
  }
}
