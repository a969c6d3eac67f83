/** Runs a simulated device until a signal ends it: the body of `muster simulate device`. */
import process from 'node:process';
import pino from 'pino';
import { type ControlAddress, type ControlServer, serveControl } from '../control/server.ts';
import { asStartError } from '../start-error.ts';
import { type ProcessSettings, type Ready, readyOf, startDevice } from './start.ts';
import { SupervisedDevice } from './supervisor.ts';

/**
 * Prints the ready line, and resolves with the exit code when SIGTERM or SIGINT has ended the device. With `control`, the agent
 * is a child process, so that it can be killed and started again. Rejects with StartError or DirectoryInUseError when something
 * that an option names cannot be used.
 */
export async function runDevice(settings: ProcessSettings, control: ControlAddress | undefined): Promise<number> {
  const stopped = untilSignal();
  const log = pino({ level: settings.logLevel, base: { pid: process.pid } }, pino.destination({ dest: 2, sync: true }));
  const running = await (control ? supervised(settings, control, log) : alone(settings, log));
  process.stdout.write(`${JSON.stringify(running.ready)}\n`);
  const signal = await stopped;
  log.info({ signal }, 'stopping');
  try {
    await running.close();
    return 0;
  } catch (error) {
    log.error({ err: error }, 'did not end cleanly');
    return 1;
  }
}

async function alone(settings: ProcessSettings, log: pino.Logger) {
  const device = await startDevice(settings, log);
  return { ready: await readyOf(device), close: () => device[Symbol.asyncDispose]() };
}

async function supervised(settings: ProcessSettings, where: ControlAddress, log: pino.Logger) {
  const device = new SupervisedDevice(settings, { log });
  let server: ControlServer | undefined;
  const close = async (): Promise<void> => {
    await server?.close();
    await device[Symbol.asyncDispose]();
  };
  try {
    server = await asStartError('control', serveControl(device, where));
    await device.start();
  } catch (error) {
    await close();
    throw error;
  }
  const { address } = server;
  const ready = { ...(device.ready as Ready), control: 'path' in address ? address.path : address.port };
  return { ready, close };
}

function untilSignal(): Promise<NodeJS.Signals> {
  return new Promise((resolve) => {
    // Never removed: a second signal must not end this process before it has tidied up.
    for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, resolve);
  });
}
