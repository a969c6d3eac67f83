/**
 * What a transport of the Device API consists of (specification section 5). Those of Muster are in `index.ts`;
 * the options of the command line, the fields of a target file, of the ready line and of a command are derived from
 * that list.
 */
import { connect } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { nothingListens, Unreachable } from '../../client/errors.ts';
import type { HttpClient } from '../../client/http.ts';
import type { Recorder } from '../../client/recorder.ts';
import type { Redactor } from '../../common/redact.ts';
import { Patience } from '../../common/waiting.ts';
import type { Capability } from '../../contract/capabilities.ts';

/**
 * A field by which a user names a target: an option of `muster check device`, and a field of `device` in a target file.
 */
export interface TransportField {
  /** Help text of the option. */
  readonly help: string;
  /** Description in the schema of target files. */
  readonly description: string;
  /** Holds a path, which is relative to the target file that names it. */
  readonly isPath?: boolean;
  /** Holds a secret; `curl` lines in a report take it from this environment variable. */
  readonly variable?: string;
}

/** What a user said about the target. */
export interface Given {
  /** Value of the transport's address field. */
  readonly address: string;
  /** Values of all fields, of other transports too. */
  readonly fields: Readonly<Record<string, string | undefined>>;
  /** Certificate authorities to trust besides the system's, as PEM text, and the file that they came from. */
  readonly ca?: string | undefined;
  readonly caFile?: string | undefined;
  /** Sent with every request, beside credentials. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  readonly redactor: Redactor;
}

/** One way to reach a Device API. */
export interface Transport<Field extends string = string> {
  /** `kind` of a target in reports. */
  readonly name: string;
  readonly fields: Readonly<Record<Field, TransportField>>;
  /** The field that names the target; the ready line of a started agent has it too. */
  readonly addressField: Field;
  /** The option with its value, e.g. `--socket PATH`. */
  readonly usage: string;
  /**
   * File name, in a private folder of the run, that `{<addressField>}` in a command stands for. Absent: no such
   * placeholder.
   */
  readonly placeholder?: string;
  /** Called before an agent is started that is to serve at `address`. Throws Error when it could not serve there. */
  prepare?(address: string): Promise<void>;
  /** Whether something accepts connections at `address` now. */
  accepts(address: string): Promise<boolean>;
  /** What an agent serves that accepts connections at `address`, in words. */
  served(address: string): string;
  /** Throws UsageError for an address of the wrong form. Anything else that is wrong is the connection's `problem`. */
  open(given: Given): Connection;
}

/** A Device API as one transport reaches it. */
export interface Connection {
  /** Name of the transport. */
  readonly kind: string;
  /** As reports show it, e.g. `unix:/run/agent.sock`. */
  readonly address: string;
  /** Why this leads to no Device API; undefined when it may. */
  readonly problem?: string | undefined;
  /** What to try when the target does not answer; ends with a `curl` line. */
  readonly hint: string;
  /** Capabilities of a target that is reached this way. */
  readonly capabilities: readonly Capability[];
  /** More bytes than the operating system buffers between an agent and a client that does not read. */
  readonly bufferBytes: number;
  /** A client with the base path and the credentials that this transport needs. */
  client(recorder: Recorder): HttpClient;
  /** The connection to the agent after it may have been restarted; this one when nothing changed. */
  relocate(redactor: Redactor): Promise<Connection>;
}

/** Where an agent serves, or is to serve. */
export interface TransportAddress {
  readonly transport: Transport;
  readonly address: string;
}

const LOOK_AGAIN_MS = 50;

/**
 * Undefined when a connection can be made. The suite decides whether the answers are right. Looks again for
 * `listensWithinMs` while nothing listens.
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

/** Whether a unix socket or a TCP port accepts a connection now. */
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
