import { mkdirSync } from 'node:fs';
import process from 'node:process';
import { type SimulatedDevice, simulateDevice } from '../index.ts';
import type { Logger } from '../options.ts';
import { startErrorOf } from '../start-error.ts';
import { deviceOptions, type ProcessSettings } from './settings.ts';

/** Starts the device that a process is there for. */
export async function startDevice(settings: ProcessSettings, log: Logger): Promise<SimulatedDevice> {
  const onCrash = () => process.kill(process.pid, 'SIGKILL');
  const options = await deviceOptions(settings, log);
  // Made now, not with the first event: another simulator must find it taken from the beginning.
  try {
    mkdirSync(options.dir, { recursive: true });
  } catch (error) {
    throw startErrorOf('dir', error);
  }
  return simulateDevice({ ...options, onCrash });
}
