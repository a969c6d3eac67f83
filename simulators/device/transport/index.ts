/** The transports that a simulated device can serve on. */
import { type LoopbackOptions, loopback } from './loopback.ts';
import type { Endpoint } from './transport.ts';
import { type UnixOptions, unix } from './unix.ts';

/** In the order in which a device opens them. */
export const TRANSPORTS = [unix, loopback] as const;
export type TransportName = (typeof TRANSPORTS)[number]['name'];

/** Options of a device that choose its transports. */
export interface TransportOptions extends UnixOptions, LoopbackOptions {}

/** Options of `muster simulate device` that choose its transports. */
export const transportArguments = { ...unix.commandLine, ...loopback.commandLine };
type TransportArguments = Parameters<typeof unix.fromArguments>[0] & Parameters<typeof loopback.fromArguments>[0];

/** The arguments that choose a transport, in words. */
export const transportUsage = TRANSPORTS.map(({ usage }) => usage).join(', or ');

/** Options of a device from those of the command line; empty when they choose no transport. Throws UsageError. */
export const transportOptions = (args: TransportArguments): TransportOptions =>
  Object.assign({}, ...TRANSPORTS.map((transport) => transport.fromArguments(args)));

/** Options to serve on the transport of that name in a folder of the caller's. Throws RangeError for an unknown name. */
export function transportInFolder(name: TransportName, folder: string): TransportOptions {
  const transport = TRANSPORTS.find((one) => one.name === name);
  if (transport === undefined) throw new RangeError(`there is no transport ${name}`);
  return transport.inFolder(folder);
}

/** Every endpoint that the options ask for. */
export const endpointsOf = (options: TransportOptions): Endpoint[] =>
  TRANSPORTS.map((transport) => transport.endpoint(options)).filter((endpoint) => endpoint !== undefined);
