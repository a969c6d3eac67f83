/** A device in a folder of its own below the system's temporary one, which goes with it. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { SimulatedDevice } from './device.ts';
import type { DeviceOptions } from './options.ts';
import { endpointsOf, transportInFolder } from './transport/index.ts';

export class TemporaryDevice extends SimulatedDevice {
  readonly #folder: string;

  constructor(options: Omit<DeviceOptions, 'dir'>) {
    const folder = mkdtempSync(join(tmpdir(), 'muster-device-'));
    try {
      const somewhere = endpointsOf(options).length > 0 || options.endpoints !== undefined;
      const own = somewhere ? {} : transportInFolder('unix', folder);
      // The directory's name is another one each time, and must not be what drives ids and data.
      super({ seed: 1, ...options, dir: join(folder, 'robot'), ...own });
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
