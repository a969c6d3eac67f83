/** `--command LINE`: started, waited for, restarted on request, ended with its children. */
import { rmSync } from 'node:fs';
import type { DiscoveryFile } from '../../contract/discovery.ts';
import { endpointOf } from '../control/control.ts';
import { accepts } from '../transports/reach.ts';
import { type DeviceAddress, readDiscovery } from '../transports/transport.ts';
import { ProcessGroup } from './process-group.ts';
import { lastWords, type ReadyLine, readyLine, StartFailed, waitFor } from './ready.ts';
import type { Started, StartOptions } from './started.ts';

export interface CommandOptions extends StartOptions {
  line: string;
  cwd?: string | undefined;
  /** Where it is expected to serve; without one its ready line says where. */
  address: DeviceAddress;
  /** Address of its control API, which has to answer too. */
  control?: string | undefined;
}

/** Throws StartFailed; nothing is left running then. */
export async function startCommand(options: CommandOptions): Promise<Started> {
  options.notify(`starting \`${options.line}\``);
  let group = await launch(options);
  let ready: ReadyLine;
  try {
    ready = await serving(group, options);
    await controllable(group, options);
  } catch (error) {
    await group.stop();
    throw error;
  }
  const address: DeviceAddress = hasPlace(options.address)
    ? options.address
    : { ...options.address, ...placeOf(ready) };
  return {
    kind: 'command',
    address,
    ...(ready.control === undefined ? {} : { control: ready.control }),
    restart: {
      stop: (signal) => group.stop(signal),
      start: async () => {
        if (group.running) return;
        group = await launch(options);
        await serving(group, { ...options, address });
        await controllable(group, options);
      },
    },
    diagnostics: () => (group.running ? group.stderr : `\`${group.line}\` ${group.how}${lastWords(group)}`),
    close: () => group.stop(),
  };
}

async function launch(options: CommandOptions): Promise<ProcessGroup> {
  const { socket, discovery } = options.address;
  if (socket !== undefined && (await accepts({ path: socket }))) {
    throw new StartFailed(`--command: something else already serves ${socket}`);
  }
  // Left from an earlier run, it would name a port of the past.
  if (discovery !== undefined) rmSync(discovery, { force: true });
  return new ProcessGroup(options.line, options.env, options.cwd);
}

function serving(group: ProcessGroup, options: CommandOptions): Promise<ReadyLine> {
  const { socket, discovery, url } = options.address;
  const limits = { timeoutMs: options.timeoutMs, signal: options.signal };
  const announced = (): ReadyLine => readyLine(group.stdout) ?? {};
  if (socket !== undefined) {
    const probe = async () => ((await accepts({ path: socket })) ? announced() : undefined);
    return waitFor(`it served ${socket}`, group, probe, limits);
  }
  if (discovery !== undefined) {
    const probe = async () => {
      const found = tryDiscovery(discovery);
      return found !== undefined && (await accepts({ host: '127.0.0.1', port: found.port })) ? announced() : undefined;
    };
    return waitFor(`it served what ${discovery} names`, group, probe, limits);
  }
  if (url !== undefined) {
    const { hostname, port, protocol } = new URL(url);
    const place = { host: hostname, port: Number(port || (protocol === 'https:' ? 443 : 80)) };
    return waitFor(`it served ${url}`, group, async () => ((await accepts(place)) ? announced() : undefined), limits);
  }
  const what = 'it printed {"ready":true,"socket"|"discovery"|"url":…} (or give --socket, --discovery or --url)';
  return waitFor(what, group, () => withPlace(readyLine(group.stdout)), limits);
}

async function controllable(group: ProcessGroup, options: CommandOptions): Promise<void> {
  const { control, timeoutMs, signal } = options;
  if (control === undefined) return;
  const { origin, socketPath } = endpointOf(control);
  const { hostname, port } = new URL(origin);
  const place = socketPath === undefined ? { host: hostname, port: Number(port || 80) } : { path: socketPath };
  const probe = async () => ((await accepts(place)) ? true : undefined);
  await waitFor(`its control API served ${control}`, group, probe, { timeoutMs, signal });
}

const withPlace = (ready: ReadyLine | undefined): ReadyLine | undefined =>
  ready !== undefined && hasPlace(ready) ? ready : undefined;

const hasPlace = ({ socket, discovery, url }: DeviceAddress): boolean =>
  socket !== undefined || discovery !== undefined || url !== undefined;

function placeOf({ socket, discovery, url }: ReadyLine): DeviceAddress {
  if (socket !== undefined) return { socket };
  return discovery !== undefined ? { discovery } : url === undefined ? {} : { url };
}

function tryDiscovery(file: string): DiscoveryFile | undefined {
  try {
    return readDiscovery(file);
  } catch {
    return undefined;
  }
}
