/** How routes answer with one resource. */
import type { ResourceKind } from '../../../harness/contract/platform/operation.ts';
import { find } from '../domain/find.ts';
import type { Rows } from '../store/rows.ts';
import { type Answered, type Call, param } from './call.ts';
import { readExpand } from './query.ts';

/** The resource that the path names. */
export function get(call: Call, kind: ResourceKind): Answered {
  return shown(call, kind, (core) => find(core, kind, param(call, `${kind}_id`)));
}

/** Runs a change and answers with the result. Expansions are read first, so that a wrong one changes nothing. */
export function shown<K extends ResourceKind>(call: Call, kind: K, act: (core: Call['core']) => Rows[K]): Answered {
  const { tree } = readExpand(call.query, kind, call.version, false);
  const row = act(call.core);
  if (Object.keys(tree).length === 0) return { json: call.renderer.text(kind, row.seq, call.version) };
  return { json: JSON.stringify(call.renderer.value(kind, row, call.version, tree)) };
}

/** Runs `act` and answers with the resource that it created. */
export function created<K extends ResourceKind>(call: Call, kind: K, act: (core: Call['core']) => Rows[K]): Answered {
  return { ...shown(call, kind, act), status: call.core.behaviour.createdStatus };
}
