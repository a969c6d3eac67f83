/** Where deployments come from, as a sync sees it: the agent API, or the public Platform API. */
import type { AgentConfigInstance, AgentDeployment, DeploymentReport } from '../../../harness/contract/agent.ts';

export interface DeploymentSource {
  /** Every deployment of this device that is queued or deployed, with release and config instances. */
  list(signal: AbortSignal): Promise<AgentDeployment[]>;
  /** Content of those config instances, in their order. */
  contents(instances: AgentConfigInstance[], signal: AbortSignal): Promise<Uint8Array[]>;
  /** Tells the platform what became of a deployment; undefined where it has no way to be told. */
  report: ((id: string, report: DeploymentReport, signal: AbortSignal) => Promise<void>) | undefined;
}

/** `read(offset)` until the platform has no more. */
export async function allPages<T>(read: (offset: number) => Promise<{ data: T[]; has_more: boolean }>): Promise<T[]> {
  const items: T[] = [];
  for (;;) {
    const page = await read(items.length);
    items.push(...page.data);
    // An empty page that promises more would never end.
    if (!page.has_more || page.data.length === 0) return items;
  }
}
