import type { ResourceKind } from '../../../harness/contract/platform/operation.ts';
import { RESOURCES } from '../../../harness/contract/platform/operations.ts';
import { timestamp } from '../../common/clock.ts';
import type { Core } from '../core.ts';
import { PlatformError } from '../ports.ts';
import type { Values } from '../store/collection.ts';
import type { Rows } from '../store/rows.ts';

/** Throws PlatformError 404 for an unknown row, and for an invisible row, to hide that the row exists. */
export function findRow<K extends ResourceKind>(
  core: Core,
  kind: K,
  id: string,
  visible: (row: Rows[K]) => boolean = () => true,
): Rows[K] {
  const row = core.store.collections[kind].byId(id) as Rows[K] | undefined;
  if (row !== undefined && visible(row)) return row;
  const what = kind.replaceAll('_', ' ');
  throw new PlatformError(404, `${kind}_not_found`, `there is no ${what} ${JSON.stringify(id.slice(0, 64))}`, {
    collection: RESOURCES[kind].collection,
    id: id.slice(0, 64),
  });
}

type NewRows = { [K in ResourceKind]: Omit<Rows[K], 'seq' | 'id'> };

export const insert = <K extends ResourceKind>(
  core: Core,
  kind: K,
  fields: NewRows[K] | ((id: string) => NewRows[K]),
): Rows[K] =>
  core.store.write(() =>
    core.store.collections[kind].insert((seq) => {
      const id = core.newId(kind, seq);
      return { ...(typeof fields === 'function' ? fields(id) : fields), seq, id } as Rows[K];
    }),
  );

export function createdNow(core: Core): { created_at: string; updated_at: string } {
  const now = timestamp(core.clock);
  return { created_at: now, updated_at: now };
}

export const conflict = (code: string, message: string, params: Record<string, unknown> = {}) =>
  new PlatformError(409, code, message, params);

export const invalid = (code: string, message: string, params: Record<string, unknown> = {}) =>
  new PlatformError(400, code, message, params);

export function refuseTaken<K extends ResourceKind>(core: Core, kind: K, values: Values<Rows[K]>, message: string) {
  if (core.behaviour.allowsDuplicates || core.store.collections[kind].first(values) === undefined) return;
  throw conflict(`${kind}_exists`, message, values as Record<string, unknown>);
}

export const change = <K extends 'config_type' | 'device' | 'group'>(
  core: Core,
  kind: K,
  row: Rows[K],
  changes: Partial<Rows[K]>,
): Rows[K] =>
  core.store.write(() =>
    core.store.collections[kind].update(row, { updated_at: timestamp(core.clock), ...changes } as Partial<Rows[K]>),
  );
