import { parseYaml } from '../../harness/common/yaml.ts';
import type { DeploymentErrorStatus } from '../../harness/contract/enums.ts';
import type { InstanceContent } from '../../harness/contract/platform/config-instance.ts';
import type { InstanceSlot } from '../../harness/contract/platform/config-schema.ts';
import { inVersion, RESOURCE_KINDS, type ResourceKind } from '../../harness/contract/platform/operation.ts';
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
import type { Core } from './core.ts';
import { contentOf } from './domain/configs.ts';
import { VIEWS } from './domain/views.ts';
import type { BaseRow, ConfigInstanceRow, ConfigSchemaRow } from './store/rows.ts';

/** Conversion between an API version and the previous version (section 9 of the specification). */
interface Change {
  resources?: Partial<Record<ResourceKind, (resource: Resource, behaviour: PlatformBehaviour) => Resource>>;
  content?(content: InstanceContent): InstanceContent;
  /** Newer values that a filter value of the older version selects. */
  filterValues?(kind: ResourceKind, field: string, value: string): string[];
}

const CHANGES: Partial<Record<SupportedCodename, Change>> = {
  everglades: {
    resources: {
      config_schema: (schema) => ({
        ...schema,
        // Older versions have one path per schema: the path of the first slot.
        instance_filepath: (schema['instance_slots'] as InstanceSlot[])[0]?.filepath ?? '',
        // Older versions lack `opaque`.
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
      // Versions before rainier show `removing` as `deployed`, because the files are still on the device.
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

type DownStep = Change & { to: SupportedVersion; dropped: Readonly<Record<ResourceKind, readonly string[]>> };

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

export function filterUp(kind: ResourceKind, field: string, values: readonly string[], version: SupportedVersion) {
  let meant = [...values];
  for (const { filterValues } of stepsTo(version).reverse())
    if (filterValues !== undefined) meant = meant.flatMap((value) => filterValues(kind, field, value));
  return meant;
}

export interface ExpandTree {
  [name: string]: ExpandTree;
}

/** Caches rendered texts, because clients read the same pages repeatedly. */
export class Renderer {
  readonly #core: Core;
  readonly #texts = new Map<ResourceKind, Map<number, string>>();

  constructor(core: Core) {
    this.#core = core;
    for (const kind of RESOURCE_KINDS) {
      const texts = new Map<number, string>();
      this.#texts.set(kind, texts);
      core.store.collections[kind].onChange = (seq) => {
        if (seq === undefined) texts.clear();
        else for (const at of SUPPORTED_VERSIONS.keys()) texts.delete(seq * SUPPORTED_VERSIONS.length + at);
        if (kind !== 'config_type') return;
        // Drops the texts of schemas and instances too, because they contain the name of the config type.
        this.#texts.get('config_schema')?.clear();
        this.#texts.get('config_instance')?.clear();
      };
    }
  }

  text(kind: ResourceKind, seq: number, version: SupportedVersion): string {
    const { behaviour } = this.#core;
    const texts = this.#texts.get(kind) as Map<number, string>;
    const key = seq * SUPPORTED_VERSIONS.length + SUPPORTED_VERSIONS.indexOf(version);
    const kept = texts.get(key);
    if (kept !== undefined) return kept;
    const row = this.#core.store.collections[kind].bySeq(seq);
    if (row === undefined) return 'null';
    const text = JSON.stringify(this.value(kind, row, version, {}));
    if (behaviour.resource !== undefined || behaviour.expandsAlways) return text;
    if (texts.size >= 50_000) texts.clear();
    texts.set(key, text);
    return text;
  }

  value(kind: ResourceKind, row: BaseRow, version: SupportedVersion, expand: ExpandTree): Resource {
    const { behaviour } = this.#core;
    const view = VIEWS[kind] as (core: Core, row: BaseRow) => object;
    let shown = view(this.#core, row) as Resource;
    for (const { to, dropped, resources } of stepsTo(version)) {
      const change = resources?.[kind];
      if ((change === undefined && dropped[kind].length === 0) || !behaviour.downStep(kind, to)) continue;
      shown = change === undefined ? { ...shown } : { ...change(shown, behaviour) };
      for (const name of dropped[kind]) delete shown[name];
    }
    const names = new Set(Object.keys(expand));
    if (behaviour.expandsAlways) {
      for (const [name, expansion] of Object.entries(RESOURCES[kind].expansions)) {
        const cannotRecurse = expansion.kind === 'release' || expansion.kind === 'config_type';
        if (cannotRecurse && inVersion(expansion, version)) names.add(name);
      }
    }
    for (const name of names)
      shown = { ...shown, [name]: this.#expanded(kind, row, version, name, expand[name] ?? {}) };
    return behaviour.resource === undefined ? shown : behaviour.resource(kind, shown, version);
  }

  /** Resource in column `<name>_id`, or resources in the JSON array `<kind>_ids`. */
  #expanded(kind: ResourceKind, row: BaseRow, version: SupportedVersion, name: string, tree: ExpandTree): unknown {
    const { kind: other, many = false } = RESOURCES[kind].expansions[name] ?? {};
    if (other === undefined) {
      if (name === 'documents') return JSON.parse((row as ConfigSchemaRow).documents);
      if (name !== 'content') return null;
      const data = new TextDecoder().decode(contentOf(this.#core, row.id));
      let content: InstanceContent = { format: (row as ConfigInstanceRow).content_format, data };
      for (const step of stepsTo(version))
        if (step.content !== undefined && this.#core.behaviour.downStep('config_instance', step.to))
          content = step.content(content);
      return content;
    }
    const found = (id: string): BaseRow | undefined => this.#core.store.collections[other].byId(id);
    const shown = (each: BaseRow): Resource => this.value(other, each, version, tree);
    const columns = row as unknown as Readonly<Record<string, string | null>>;
    if (many) {
      const ids = JSON.parse(columns[`${other}_ids`] ?? '[]') as string[];
      return ids.flatMap((id) => found(id) ?? []).map(shown);
    }
    const id = columns[`${name}_id`] ?? null;
    const only = id === null ? undefined : found(id);
    return only === undefined ? null : shown(only);
  }
}
