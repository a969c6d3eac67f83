/** One step down to an older version. Answers are built in the newest shape and taken down step by step. */
import type { InstanceContent } from '../../../harness/contract/platform/config-instance.ts';
import type { ResourceKind } from '../../../harness/contract/platform/operation.ts';
import type { SupportedCodename } from '../../../harness/contract/versions.ts';
import type { PlatformBehaviour, Resource } from '../behaviour.ts';

export interface DownStep {
  /** The version that the step leads to. */
  to: SupportedCodename;
  resources: Partial<Record<ResourceKind, (resource: Resource, behaviour: PlatformBehaviour) => Resource>>;
  /** The content of a config instance, expanded. */
  content?(content: InstanceContent): InstanceContent;
  /** What a filter value of the older version stands for in the newer one. */
  filterValues?(kind: ResourceKind, field: string, value: string): string[];
}

/** A copy without these fields. */
export function drop(resource: Resource, ...names: string[]): Resource {
  const kept = { ...resource };
  for (const name of names) delete kept[name];
  return kept;
}
