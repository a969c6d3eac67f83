/**
 * What a transport of the simulated device consists of (specification section 5). There is one file for each transport; the
 * options of a device, of the command line and the ready line come from the list in `index.ts`.
 */
import { accessSync, constants, statSync } from 'node:fs';
import type net from 'node:net';
import { dirname, resolve } from 'node:path';
import { UsageError } from '../../../harness/common/usage.ts';
import type { TransportBehaviour } from '../behaviour.ts';

/** How a connection came in. */
export interface Entrance {
  /** Name of the transport. */
  readonly transport: string;
  /** Token that each request has to carry; undefined where none is needed. */
  readonly token?: string;
}

/** What an endpoint is opened for. */
export interface Serving {
  readonly rules: TransportBehaviour;
  onConnection(socket: net.Socket, entrance: Entrance): void;
  /** Throws when the agent was killed meanwhile. */
  check(): void;
}

/** Something that listens. */
export interface Listener {
  /** Ends listening and removes what was put on disk. */
  close(): void;
  /** Ends listening as a crash does: the files stay. */
  abandon(): void;
}

/** An endpoint that is open. */
export interface DeviceListener extends Listener {
  /** `http://127.0.0.1:<port>`, where clients need to know a port. */
  readonly url?: string;
  readonly token?: string;
}

/** One address at which an agent serves the Device API. */
export interface Endpoint {
  /** Option of the command line that names it; a StartError names the same. */
  readonly option: string;
  /** The address as the ready line names it, e.g. `{ socket: '/run/agent.sock' }`. */
  readonly address: Readonly<Record<string, string>>;
  listen(serving: Serving): Promise<DeviceListener>;
}

/** An option of `muster simulate device`, as the command line's parser takes it. */
interface CommandLineOption {
  readonly type: 'string' | 'boolean';
  readonly describe: string;
  readonly group: 'Where';
  readonly default?: string | boolean;
}

/** `Options`: the transport's part of DeviceOptions, with every field optional. `Arguments`: the same on the command line. */
export interface Transport<Options extends object, Arguments extends object> {
  readonly name: string;
  readonly commandLine: { readonly [Name in keyof Arguments]-?: CommandLineOption };
  /** The arguments that choose this transport, e.g. `--socket PATH`. */
  readonly usage: string;
  /** Empty when the arguments do not choose this transport. Throws UsageError. */
  fromArguments(args: Arguments): Options;
  /** Options to serve in a folder of the caller's. */
  inFolder(folder: string): Options;
  /** Undefined when the options do not choose this transport. */
  endpoint(options: Options): Endpoint | undefined;
}

/** Resolves when `server` listens; rejects with the system's error. */
export function listening(server: net.Server, options: net.ListenOptions): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(options, () => {
      server.off('error', reject);
      resolve();
    });
  });
}

/** Throws UsageError unless a file can be put where `--option` says. */
export function requireWritableParent(option: string, path: string): void {
  const parent = dirname(resolve(path));
  try {
    if (!statSync(parent).isDirectory()) throw new Error('it is no directory');
    accessSync(parent, constants.W_OK);
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new UsageError(`--${option} ${path}: the directory ${parent} must exist and be writable (${why})`);
  }
}
