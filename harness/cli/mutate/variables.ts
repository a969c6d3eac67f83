/**
 * Names of the environment variables by which tests learn where their server is, beside those of
 * `harness/contract/client.ts`. `fixtures/mutate/README.md` is the page for those who write the tests.
 */
import { CLIENT_VARIABLES } from '../../contract/client.ts';

export const VARIABLES = {
  /** Of whichever API is under test. */
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

/** An environment without what only the server of a run says: one that has no socket must not inherit another's. */
export const withoutOurs = (env: Readonly<Record<string, string | undefined>>): Record<string, string | undefined> =>
  Object.fromEntries(Object.entries(env).filter(([name]) => !OURS.has(name)));
