/** An admitted request as the routes see it, and the answers they may give. */

import type { Operation, ResourceKind } from '../../../harness/contract/platform/operation.ts';
import type { SupportedVersion } from '../../../harness/contract/versions.ts';
import type { Core } from '../core.ts';
import { find } from '../domain/find.ts';
import type { ApiKey } from '../keys.ts';
import { PlatformError } from '../ports.ts';
import type { Renderer } from '../render.ts';
import type { Rows } from '../store/rows.ts';
import { type Query, readExpand } from './query.ts';

export interface Call {
  core: Core;
  renderer: Renderer;
  operation: Operation;
  version: SupportedVersion;
  key: ApiKey;
  params: Readonly<Record<string, string>>;
  query: Query;
  /** Valid for the operation and version; `undefined` where none is needed and none was sent. */
  body: unknown;
}

export interface Answered {
  status?: number;
  /** Text of a JSON document. */
  json?: string;
  bytes?: Uint8Array;
  headers?: Record<string, string>;
}

export type Handler = (call: Call) => Answered | Promise<Answered>;

/** By operation id. */
export type Handlers = Record<string, Handler>;

/** Throws PlatformError 403 when the key lacks the scope. */
export function requireScope(call: Call, scope: string): void {
  if (call.core.behaviour.permits(call.key, scope)) return;
  throw new PlatformError(403, 'missing_scope', `the API key lacks the scope ${scope}`, { scope });
}

/** The path parameter of that name. */
export const param = (call: Call, name: string): string => call.params[name] ?? '';

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
