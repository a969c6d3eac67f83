/** Renders resources as JSON in the requested version, with the requested expansions. */

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
import type { BaseRow, ConfigInstanceRow, ConfigSchemaRow } from './store/rows.ts';
import { contentDown, down } from './versions.ts';

export interface ExpandTree {
  [name: string]: ExpandTree;
}

const KEPT = 50_000;

/** Renders rows as JSON and caches the texts, because clients read the same pages repeatedly. */
export class Renderer {
  readonly #core: Core;
  readonly #texts = new Map<ResourceKind, Map<number, string>>();

  constructor(core: Core) {
    this.#core = core;
    for (const kind of RESOURCE_KINDS) {
      this.#texts.set(kind, new Map());
      core.store.collections[kind].onChange = (seq) => this.#changed(kind, seq);
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
    if (texts.size >= KEPT) texts.clear();
    texts.set(key, text);
    return text;
  }

  value(kind: ResourceKind, row: BaseRow, version: SupportedVersion, expand: ExpandTree): Resource {
    const { behaviour } = this.#core;
    const view = VIEWS[kind] as (core: Core, row: BaseRow) => object;
    let shown = down(kind, view(this.#core, row) as Resource, version, behaviour);
    const names = new Set(Object.keys(expand));
    if (behaviour.expandsAlways) for (const name of this.#plainExpansions(kind, version)) names.add(name);
    for (const name of names) {
      shown = { ...shown, [name]: this.#expanded(kind, row, version, name, expand[name] ?? {}) };
    }
    return behaviour.resource === undefined ? shown : behaviour.resource(kind, shown, version);
  }

  /** Renders an expansion: the resource in column `<name>_id`, or the resources in the JSON array `<kind>_ids`. */
  #expanded(kind: ResourceKind, row: BaseRow, version: SupportedVersion, name: string, tree: ExpandTree): unknown {
    const { kind: other, many = false } = RESOURCES[kind].expansions[name] ?? {};
    if (other === undefined) {
      if (name === 'documents') return JSON.parse((row as ConfigSchemaRow).documents);
      if (name !== 'content') return null;
      const data = new TextDecoder().decode(contentOf(this.#core, row.id));
      return contentDown({ format: (row as ConfigInstanceRow).content_format, data }, version, this.#core.behaviour);
    }
    const found = (id: string): BaseRow | undefined => this.#core.store.collections[other].byId(id);
    const shown = (each: BaseRow): Resource => this.value(other, each, version, tree);
    const columns = row as unknown as Readonly<Record<string, string | null>>;
    if (many) {
      const ids = JSON.parse(columns[`${other}_ids`] ?? '[]') as string[];
      return ids
        .map(found)
        .filter((each) => each !== undefined)
        .map(shown);
    }
    const id = columns[`${name}_id`] ?? null;
    const only = id === null ? undefined : found(id);
    return only === undefined ? null : shown(only);
  }

  /** Returns the expansions that cannot recurse, for a planted defect that always expands. */
  #plainExpansions(kind: ResourceKind, version: SupportedVersion): string[] {
    return Object.entries(RESOURCES[kind].expansions)
      .filter(([, expansion]: [string, Expansion]) => inVersion(expansion, version))
      .filter(([, expansion]) => expansion.kind === 'release' || expansion.kind === 'config_type')
      .map(([name]) => name);
  }

  #changed(kind: ResourceKind, seq: number | undefined): void {
    const texts = this.#texts.get(kind) as Map<number, string>;
    if (seq === undefined) texts.clear();
    else SUPPORTED_VERSIONS.forEach((_version, index) => void texts.delete(seq * SUPPORTED_VERSIONS.length + index));
    // Clears cached schemas and instances, which contain the name of the config type.
    if (kind === 'config_type') {
      this.#texts.get('config_schema')?.clear();
      this.#texts.get('config_instance')?.clear();
    }
  }
}
