/** Uplinks of a simulated device: how it hears from a platform what to deploy. */
import type { DeploymentPort, Uplink } from '../ports.ts';
import { AgentUplink, type UplinkIdentity } from './agent.ts';
import { type AgentUplinkOptions, createHub } from './hub.ts';

export type { UplinkIdentity } from './agent.ts';
export type { AgentUplinkOptions, UplinkLogger } from './hub.ts';
export { ensureKey } from './identity.ts';

export type UplinkOptions = AgentUplinkOptions;

/** Makes the uplinks of one or of thousands of robots; those made by one factory share connections and timers. */
export type UplinkFactory = (port: DeploymentPort, identity: UplinkIdentity) => Uplink;

export function createUplink(options: UplinkOptions): UplinkFactory {
  const hub = createHub(options);
  return (port, identity) => new AgentUplink(hub, port, identity);
}
