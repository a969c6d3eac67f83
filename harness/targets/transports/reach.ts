/** Whether a target answers at all, and what to try when it does not. */
import { connect } from 'node:net';
import { Unreachable } from '../../client/errors.ts';
import type { HttpClient } from '../../client/http.ts';
import type { DeviceTransport } from '../contexts.ts';

/** Undefined when a connection could be made; whatever is answered is the suite's business. */
export async function whyUnreachable(http: HttpClient, hint: string): Promise<string | undefined> {
  try {
    (await http.connect()).destroy();
    return undefined;
  } catch (error) {
    if (!(error instanceof Unreachable)) return `${http.describe()}: ${String(error)}. ${hint}`;
    return `${error.message}. ${hint}`;
  }
}

export function hintFor(transport: DeviceTransport): string {
  switch (transport.kind) {
    case 'unix':
      return `Is the agent running, and may this user open the socket? Try: curl --unix-socket ${transport.socketPath} http://localhost/v0.2/deployments/current`;
    case 'loopback':
      return `Is the agent running, and does ${transport.discovery} belong to this start of it? Try: curl -H "Authorization: Bearer $MUSTER_TOKEN" http://127.0.0.1:${transport.port}/v0.2/deployments/current`;
    case 'url':
      return `Try: curl -i ${transport.url}/deployments/current`;
  }
}

/** Whether a unix socket or a loopback port accepts a connection now. */
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
