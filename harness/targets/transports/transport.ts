/**
 * Transport of the Device API (specification section 5). `index.ts` lists those of Muster, from which follow options,
 * fields of a target file and of the ready line, and placeholders of a command.
 */
import { connect } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { nothingListens, Unreachable } from '../../client/errors.ts';
import type { HttpClient } from '../../client/http.ts';
import type { Recorder } from '../../client/recorder.ts';
import type { Redactor } from '../../common/redact.ts';
import { Patience } from '../../common/waiting.ts';
import type { Capability } from '../../contract/capabilities.ts';

/** Field of a target: an option of `muster check device`, and a field of `device` in a target file. */
export interface TransportField {
  readonly help: string;
  readonly description: string;
  readonly isPath?: boolean | ((value: string) => boolean);
  /** Environment variable for this secret in the `curl` lines of a report. */
  readonly variable?: string;
}

export interface Given {
  readonly address: string;
  /** Values of all fields, of other transports too. */
  readonly fields: Readonly<Record<string, string | undefined>>;
  /** Certificate authorities to trust besides the system's, as PEM text, and their file. */
  readonly ca?: string | undefined;
  readonly caFile?: string | undefined;
  /** Sent with every request, beside credentials. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  readonly redactor: Redactor;
}

export interface Transport<Field extends string = string> {
  /** `kind` of a target in reports. */
  readonly name: string;
  readonly fields: Readonly<Record<Field, TransportField>>;
  /** Field with the address, also in the ready line of a started agent. */
  readonly addressField: Field;
  readonly usage: string;
  /** File name in a private folder of the run for `{<addressField>}` in a command. Absent: no such placeholder. */
  readonly placeholder?: string;
  /** Called before the start of an agent at `address`. Throws Error if the agent could not serve there. */
  prepare?(address: string): Promise<void>;
  accepts(address: string): Promise<boolean>;
  /** Name for messages of an agent's service at `address`. */
  served(address: string): string;
  /** Throws UsageError for an address of the wrong form; any other failure is the connection's `problem`. */
  open(given: Given): Connection;
}

export interface Connection {
  readonly kind: string;
  /** Address in reports, e.g. `unix:/run/agent.sock`. */
  readonly address: string;
  /** Reason why there is no Device API; undefined if there may be one. */
  readonly problem?: string | undefined;
  /** Advice for a target without an answer; ends with a `curl` line. */
  readonly hint: string;
  readonly capabilities: readonly Capability[];
  /** Bytes above all that the operating system buffers between an agent and a client that does not read. */
  readonly bufferBytes: number;
  client(recorder: Recorder): HttpClient;
  /** Connection after a possible restart of the agent; this one if nothing changed. */
  relocate(redactor: Redactor): Promise<Connection>;
}

export interface TransportAddress {
  readonly transport: Transport;
  readonly address: string;
}

const LOOK_AGAIN_MS = 50;

/**
 * Reason why no connection can be made; undefined if one can. Tries again for `listensWithinMs` milliseconds while
 * nothing listens.
 */
export async function whyUnreachable(http: HttpClient, hint: string, listensWithinMs = 0): Promise<string | undefined> {
  const patience = new Patience(listensWithinMs);
  for (;;) {
    try {
      (await http.connect()).destroy();
      return undefined;
    } catch (error) {
      if (!nothingListens(error) || patience.leftMs <= 0) {
        const why = error instanceof Unreachable ? error.message : `${http.describe()}: ${String(error)}`;
        return `${why}. ${hint}`;
      }
    }
    await delay(LOOK_AGAIN_MS);
  }
}

export function accepts(address: { path: string } | { host: string; port: number }): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(address);
    socket.once('connect', () => {
      socket.destroy();
      resolve(true);
    });
    socket.once('error', () => resolve(false));
  });
}
