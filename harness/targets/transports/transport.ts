/** Interface of a transport of the Device API (section 5 of the specification). */
import { connect } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { nothingListens, Unreachable } from '../../client/errors.ts';
import type { HttpClient } from '../../client/http.ts';
import type { Recorder } from '../../client/recorder.ts';
import type { Redactor } from '../../common/redact.ts';
import { Patience } from '../../common/waiting.ts';
import type { Capability } from '../../contract/capabilities.ts';

export interface TransportField {
  readonly help: string;
  readonly description: string;
  readonly isPath?: boolean | ((value: string) => boolean);
  readonly variable?: string;
}

export interface Given {
  readonly address: string;
  readonly fields: Readonly<Record<string, string | undefined>>;
  /** Trusted certificate authorities beside the system's, as PEM text; `caFile` is their file. */
  readonly ca?: string | undefined;
  readonly caFile?: string | undefined;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  readonly redactor: Redactor;
}

export interface Transport<Field extends string = string> {
  readonly name: string;
  readonly fields: Readonly<Record<Field, TransportField>>;
  readonly addressField: Field;
  readonly usage: string;
  /** File name that replaces `{<addressField>}` in a command; undefined if the transport has no placeholder. */
  readonly placeholder?: string;
  /** Prepares an agent's start. Throws Error if the agent cannot serve at `address`. */
  prepare?(address: string): Promise<void>;
  accepts(address: string): Promise<boolean>;
  served(address: string): string;
  /** Throws UsageError for a malformed address; the connection's `problem` names all other failures. */
  open(given: Given): Connection;
}

export interface Connection {
  readonly kind: string;
  readonly address: string;
  readonly problem?: string | undefined;
  readonly hint: string;
  readonly capabilities: readonly Capability[];
  /** Number of bytes that exceeds all buffers between an agent and a client that does not read. */
  readonly bufferBytes: number;
  client(recorder: Recorder): HttpClient;
  relocate(redactor: Redactor): Promise<Connection>;
}

export interface TransportAddress {
  readonly transport: Transport;
  readonly address: string;
}

const LOOK_AGAIN_MS = 50;

/** Reason why no connection succeeds, or undefined. While nothing listens, retries for `listensWithinMs`. */
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
