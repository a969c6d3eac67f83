import type { DeploymentPort, Uplink } from '../ports.ts';
import { AgentUplink } from './agent.ts';
import { type AgentUplinkOptions, createAgentHub } from './agent-api.ts';
import type { UplinkIdentity } from './lifecycle.ts';
import { createPollingHub, PollingUplink, type PollingUplinkOptions } from './polling.ts';

export type { AgentHabits, AgentUplinkOptions } from './agent-api.ts';
export { ensureKey } from './identity.ts';
export type { UplinkIdentity } from './lifecycle.ts';
export type { PollingUplinkOptions } from './polling.ts';

/** Options by kind of uplink: `agent` speaks the protocol of published agents, `polling` the public Platform API. */
export type UplinkOptions = AgentUplinkOptions | PollingUplinkOptions;

/** All uplinks that the function makes share connections and timers. Throws for an invalid `platform` or `mqtt` URL. */
export function createUplink(options: UplinkOptions): (port: DeploymentPort, identity: UplinkIdentity) => Uplink {
  if (options.kind === 'polling') {
    const hub = createPollingHub(options);
    return (port, identity) => new PollingUplink(hub, port, identity);
  }
  const hub = createAgentHub(options);
  return (port, identity) => new AgentUplink(hub, port, identity);
}
