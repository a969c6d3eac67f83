/** Resources as text, in the version and with the expansions that a client asked for. */

import type { InstanceContent } from '../../harness/contract/platform/config-instance.ts';
import {
  type Expansion,
  inVersion,
  RESOURCE_KINDS,
  type ResourceKind,
} from '../../harness/contract/platform/operation.ts';
import { RESOURCES } from '../../harness/contract/platform/operations.ts';
import { SUPPORTED_VERSIONS, type SupportedVersion } from '../../harness/contract/versions.ts';
import type { Resource } from './behaviour.ts';
import type { Core } from './core.ts';
import { contentOf } from './domain/config-instances.ts';
import { VIEWS } from './domain/views.ts';
import type { BaseRow, Rows } from './store/rows.ts';
import { contentDown, down } from './versions.ts';

// How each expansion of a resource finds its value.

/** Another resource, several, none, or a plain value. */
export type Expanded =
  | { kind: ResourceKind; row: BaseRow | undefined }
  | { kind: ResourceKind; rows: readonly BaseRow[] }
  | { content: InstanceContent }
  | { value: unknown };

type Expander<K extends ResourceKind> = (core: Core, row: Rows[K]) => Expanded;

const one = (core: Core, kind: ResourceKind, id: string | null): Expanded => ({
  kind,
  row: id === null ? undefined : core.store.collections[kind].byId(id),
});

const many = (core: Core, kind: ResourceKind, ids: string): Expanded => ({
  kind,
  rows: (JSON.parse(ids) as string[])
    .map((id): BaseRow | undefined => core.store.collections[kind].byId(id))
    .filter((row) => row !== undefined),
});

export const EXPANDERS: { [K in ResourceKind]: Record<string, Expander<K>> } = {
  config_type: {},
  config_schema: {
    documents: (_core, row) => ({ value: JSON.parse(row.documents) }),
    config_type: (core, row) => one(core, 'config_type', row.config_type_id),
  },
  config_instance: {
    content: (core, row) => ({
      content: { format: row.content_format, data: new TextDecoder().decode(contentOf(core, row.id)) },
    }),
    config_schema: (core, row) => one(core, 'config_schema', row.config_schema_id),
    config_type: (core, row) => one(core, 'config_type', row.config_type_id),
  },
  release: { config_schemas: (core, row) => many(core, 'config_schema', row.config_schema_ids) },
  deployment: {
    device: (core, row) => one(core, 'device', row.device_id),
    release: (core, row) => one(core, 'release', row.release_id),
    parent: (core, row) => one(core, 'deployment', row.parent_id),
    config_instances: (core, row) => many(core, 'config_instance', row.config_instance_ids),
  },
  device: {
    current_deployment: (core, row) => one(core, 'deployment', row.current_deployment_id),
    current_release: (core, row) => one(core, 'release', row.current_release_id),
    group: (core, row) => one(core, 'group', row.group_id),
  },
  group: { parent: (core, row) => one(core, 'group', row.parent_id) },
  git_commit: {},
};

/** Names to expand, each with what to expand below it. */
export interface ExpandTree {
  readonly [name: string]: ExpandTree;
}

/** Texts in one generation of the cache; it holds two. */
const KEPT = 50_000;

/** Keeps the text of recent rows, since a page of 100 is asked for again and again. */
export class Renderer {
  readonly #core: Core;
  readonly #texts = new Map<ResourceKind, RecentTexts>();

  constructor(core: Core) {
    this.#core = core;
    for (const kind of RESOURCE_KINDS) this.#texts.set(kind, new RecentTexts());
    for (const kind of RESOURCE_KINDS) {
      core.store.collections[kind].onChange = (seq) => this.#changed(kind, seq);
    }
  }

  /** JSON of a row without expansions, kept until the row changes. */
  text(kind: ResourceKind, seq: number, version: SupportedVersion): string {
    const { behaviour } = this.#core;
    const texts = this.#texts.get(kind) as RecentTexts;
    const key = seq * SUPPORTED_VERSIONS.length + SUPPORTED_VERSIONS.indexOf(version);
    const kept = texts.get(key);
    if (kept !== undefined) return kept;
    const row = this.#core.store.collections[kind].bySeq(seq);
    if (row === undefined) return 'null';
    const text = JSON.stringify(this.value(kind, row, version, {}));
    if (behaviour.resource === undefined && !behaviour.expandsAlways) texts.set(key, text);
    return text;
  }

  value(kind: ResourceKind, row: BaseRow, version: SupportedVersion, expand: ExpandTree): Resource {
    const { behaviour } = this.#core;
    const view = VIEWS[kind] as (core: Core, row: BaseRow) => object;
    let shown = down(kind, view(this.#core, row) as Resource, version, behaviour);
    const names = new Set(Object.keys(expand));
    if (behaviour.expandsAlways) for (const name of this.#plainExpansions(kind, version)) names.add(name);
    for (const name of names) {
      const tree = expand[name] ?? {};
      shown = { ...shown, [name]: this.#expanded(kind, row, version, name, tree) };
    }
    return behaviour.resource === undefined ? shown : behaviour.resource(kind, shown, version);
  }

  #expanded(kind: ResourceKind, row: BaseRow, version: SupportedVersion, name: string, tree: ExpandTree): unknown {
    const expander = EXPANDERS[kind][name] as ((core: Core, row: BaseRow) => ReturnType<never>) | undefined;
    const expanded = expander?.(this.#core, row) as ReturnType<(typeof EXPANDERS)['group'][string]> | undefined;
    if (expanded === undefined) return null;
    if ('value' in expanded) return expanded.value;
    if ('content' in expanded) return contentDown(expanded.content, version, this.#core.behaviour);
    if ('rows' in expanded) return expanded.rows.map((each) => this.value(expanded.kind, each, version, tree));
    return expanded.row === undefined ? null : this.value(expanded.kind, expanded.row, version, tree);
  }

  /** Expansions that cannot recurse, for the defect that expands without being asked. */
  #plainExpansions(kind: ResourceKind, version: SupportedVersion): string[] {
    return Object.entries(RESOURCES[kind].expansions)
      .filter(([, expansion]: [string, Expansion]) => inVersion(expansion, version))
      .filter(([, expansion]) => expansion.kind === 'release' || expansion.kind === 'config_type')
      .map(([name]) => name);
  }

  #changed(kind: ResourceKind, seq: number | undefined): void {
    const texts = this.#texts.get(kind) as RecentTexts;
    if (seq === undefined) texts.clear();
    else SUPPORTED_VERSIONS.forEach((_version, index) => void texts.delete(seq * SUPPORTED_VERSIONS.length + index));
    // Schemas and instances show the name of their type.
    if (kind === 'config_type') {
      this.#texts.get('config_schema')?.clear();
      this.#texts.get('config_instance')?.clear();
    }
  }
}

/** A cache of two generations: when the young one is full it becomes the old one, and the old one is dropped. */
class RecentTexts {
  #young = new Map<number, string>();
  #old = new Map<number, string>();

  get(key: number): string | undefined {
    const young = this.#young.get(key);
    if (young !== undefined) return young;
    const old = this.#old.get(key);
    if (old !== undefined) this.set(key, old);
    return old;
  }

  set(key: number, text: string): void {
    if (this.#young.size >= KEPT) {
      this.#old = this.#young;
      this.#young = new Map();
    }
    this.#young.set(key, text);
  }

  delete(key: number): void {
    this.#young.delete(key);
    this.#old.delete(key);
  }

  clear(): void {
    this.#young.clear();
    this.#old.clear();
  }
}
