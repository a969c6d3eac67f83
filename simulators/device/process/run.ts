import process from 'node:process';
import pino from 'pino';
import { EXIT, untilSignal } from '../../../harness/common/usage.ts';
import type { Deviation } from '../../console/page/device/document.ts';
import { type ControlOption, type ControlServer, serveControl } from '../control/server.ts';
import { asStartError } from '../options.ts';
import type { DeviceConsole } from './device-console.ts';
import { type ProcessSettings, type Ready, readyOf, startDevice } from './start.ts';
import { SupervisedDevice } from './supervisor.ts';

export interface Outside {
  control?: ControlOption;
  /** 0 picks a free port. */
  uiPort?: number;
  deviations?: readonly Deviation[];
}

/**
 * Command `muster simulate device`; resolves with the exit code after a signal. With `control` or a console, the agent
 * runs in a child process. Rejects with StartError or DirectoryInUseError.
 */
export async function runDevice(settings: ProcessSettings, outside: Outside): Promise<number> {
  const stopped = untilSignal();
  const log = pino({ level: settings.logLevel, base: { pid: process.pid } }, pino.destination({ dest: 2, sync: true }));
  const driven = outside.control !== undefined || outside.uiPort !== undefined;
  const running = driven ? await supervised(settings, outside, log, stopped) : await alone(settings, log, stopped);
  if (running.ready !== undefined) process.stdout.write(`${JSON.stringify(running.ready)}\n`);
  const { signal, code } = await stopped;
  log.info({ signal }, 'stopping');
  try {
    await running.close();
    return code;
  } catch (error) {
    log.error({ err: error }, 'did not end cleanly');
    return EXIT.harness;
  }
}

async function alone(settings: ProcessSettings, log: pino.Logger, stopped: Promise<unknown>) {
  const device = await startDevice(settings, log);
  return { ready: await readyOf(device, stopped), close: () => device[Symbol.asyncDispose]() };
}

async function supervised(settings: ProcessSettings, outside: Outside, log: pino.Logger, stopped: Promise<unknown>) {
  const { control, uiPort, deviations = [] } = outside;
  let page: DeviceConsole | undefined;
  if (uiPort !== undefined) {
    const { DeviceConsole } = await import('./device-console.ts');
    page = new DeviceConsole(settings, deviations);
  }
  const device = new SupervisedDevice(
    { ...settings, watched: page !== undefined },
    { log, ...(page !== undefined && { onSeen: page.seen, onChange: page.changed }) },
  );
  let server: ControlServer | undefined;
  const close = async (): Promise<void> => {
    await page?.[Symbol.asyncDispose]();
    await server?.close();
    await device[Symbol.asyncDispose]();
  };
  try {
    if (control !== undefined) server = await asStartError('control', serveControl(device, control));
    const started = await Promise.race([device.start().then(() => true), stopped.then(() => false)]);
    if (!started) return { ready: undefined, close };
    const ui = await page?.serve(device, uiPort ?? 0);
    const ready = { ...(device.ready as Ready), ...placeOf(server, control), ...(ui !== undefined && { ui }) };
    return { ready, close };
  } catch (error) {
    await close();
    throw error;
  }
}

function placeOf(server: ControlServer | undefined, asked: ControlOption | undefined) {
  if (server === undefined) return {};
  const { address, token } = server;
  if ('path' in address) return { control: address.path };
  const known = asked !== undefined && 'token' in asked;
  return { control: address.port, ...(!known && { control_token: token }) };
}
