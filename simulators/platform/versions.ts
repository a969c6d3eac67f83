/** Converts resources and filters for older API versions, one version at a time (section 9 of the specification). */
import { parseYaml } from '../../harness/common/yaml.ts';
import type { DeploymentErrorStatus } from '../../harness/contract/enums.ts';
import type { InstanceContent } from '../../harness/contract/platform/config-instance.ts';
import type { InstanceSlot } from '../../harness/contract/platform/config-schema.ts';
import { RESOURCE_KINDS, type ResourceKind } from '../../harness/contract/platform/operation.ts';
import { RESOURCES } from '../../harness/contract/platform/operations.ts';
import {
  atLeast,
  codenameOf,
  SUPPORTED_VERSIONS,
  type SupportedCodename,
  type SupportedVersion,
} from '../../harness/contract/versions.ts';
import type { PlatformBehaviour, Resource } from './behaviour.ts';
import { parseJsonc } from './checks.ts';

interface Change {
  resources: Partial<Record<ResourceKind, (resource: Resource, behaviour: PlatformBehaviour) => Resource>>;
  content?(content: InstanceContent): InstanceContent;
  /** Returns the newer values that a filter value of the older version selects. */
  filterValues?(kind: ResourceKind, field: string, value: string): string[];
}

const CHANGES: Partial<Record<SupportedCodename, Change>> = {
  everglades: {
    resources: {
      config_schema: (schema) => ({
        ...schema,
        // Adds the path of the first slot, because older versions have one path per schema.
        instance_filepath: (schema['instance_slots'] as InstanceSlot[])[0]?.filepath ?? '',
        // Shows `opaque` as `jsonschema`, because older versions lack `opaque`.
        ...(schema['language'] === 'opaque' && { language: 'jsonschema' }),
      }),
      device: (device) =>
        device['status'] === 'archived'
          ? { ...device, status: device['agent_version'] === null ? 'inactive' : 'offline' }
          : device,
    },
    content: (content) =>
      content.format === 'xml' || content.format === 'text'
        ? { format: 'json', data: JSON.stringify(content.data) }
        : content,
  },
  rainier: {
    resources: {
      // Shows `removing` as `deployed` in versions before rainier, because the files are still on the device.
      deployment: (deployment, behaviour) =>
        deployment['activity_status'] === 'removing'
          ? {
              ...deployment,
              activity_status: 'deployed',
              status: behaviour.mergeStatus('deployed', deployment['error_status'] as DeploymentErrorStatus),
            }
          : deployment,
    },
    content: (content) => {
      if (content.format === 'yaml')
        return { format: 'json', data: JSON.stringify(parseYaml(content.data).value ?? null) };
      if (content.format === 'jsonc') return { format: 'json', data: JSON.stringify(parseJsonc(content.data)) };
      return content;
    },
    filterValues: (kind, field, value) =>
      kind === 'deployment' && field === 'activity_status' && value === 'deployed' ? ['deployed', 'removing'] : [value],
  },
};

type DownStep = Partial<Change> & { to: SupportedVersion; dropped: Readonly<Record<ResourceKind, readonly string[]>> };

const STEPS: readonly DownStep[] = SUPPORTED_VERSIONS.flatMap((from, index): DownStep[] => {
  const to = SUPPORTED_VERSIONS[index - 1];
  if (to === undefined) return [];
  const dropped = RESOURCE_KINDS.map((kind) => {
    const { fields } = RESOURCES[kind];
    const kept = fields(to);
    return [kind, Object.keys(fields(from)).filter((name) => !(name in kept))];
  });
  return [{ ...CHANGES[codenameOf(from)], to, dropped: Object.fromEntries(dropped) }];
}).reverse();

const stepsTo = (version: SupportedVersion): DownStep[] => STEPS.filter(({ to }) => atLeast(to, codenameOf(version)));

export function down(
  kind: ResourceKind,
  resource: Resource,
  version: SupportedVersion,
  behaviour: PlatformBehaviour,
): Resource {
  let shown = resource;
  for (const { to, dropped, resources } of stepsTo(version)) {
    const change = resources?.[kind];
    if ((change === undefined && dropped[kind].length === 0) || !behaviour.downStep(kind, to)) continue;
    shown = change === undefined ? { ...shown } : { ...change(shown, behaviour) };
    for (const name of dropped[kind]) delete shown[name];
  }
  return shown;
}

export function contentDown(
  content: InstanceContent,
  version: SupportedVersion,
  behaviour: PlatformBehaviour,
): InstanceContent {
  let shown = content;
  for (const step of stepsTo(version))
    if (step.content !== undefined && behaviour.downStep('config_instance', step.to)) shown = step.content(shown);
  return shown;
}

export function filterUp(
  kind: ResourceKind,
  field: string,
  values: readonly string[],
  version: SupportedVersion,
): readonly string[] {
  let meant = [...values];
  for (const { filterValues } of stepsTo(version).reverse())
    if (filterValues !== undefined) meant = meant.flatMap((value) => filterValues(kind, field, value));
  return meant;
}

/** Returns the only slot of a schema that a client created without slots, or with `instance_filepath`. */
export const defaultSlot = (filepath: string): InstanceSlot => ({
  key: 'default',
  name: 'Default',
  filepath,
  required: true,
});
