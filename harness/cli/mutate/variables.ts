/**
 * Environment variables with which tests find their server, beside those of `harness/contract/client.ts`. Their
 * documentation is `fixtures/mutate/README.md`.
 */
import { CLIENT_VARIABLES } from '../../contract/client.ts';

export const VARIABLES = {
  /** Address of the API under test. */
  url: 'MUSTER_URL',
  socket: 'MUSTER_SOCKET',
  controlUrl: 'MUSTER_CONTROL_URL',
  controlToken: 'MUSTER_CONTROL_TOKEN',
  controlSocket: 'MUSTER_CONTROL_SOCKET',
  agentUrl: 'MUSTER_AGENT_URL',
  mqttUrl: 'MUSTER_MQTT_URL',
  /** Provisioning token of an agent. */
  token: 'MUSTER_TOKEN',
} as const;

const OURS: ReadonlySet<string> = new Set([...Object.values(VARIABLES), ...Object.values(CLIENT_VARIABLES)]);

/** Environment without variables of a server, so that tests of one without a socket inherit no other's. */
export const withoutOurs = (env: Readonly<Record<string, string | undefined>>): Record<string, string | undefined> =>
  Object.fromEntries(Object.entries(env).filter(([name]) => !OURS.has(name)));
