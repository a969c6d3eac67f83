/** An admitted request as the routes see it, and the answers they may give. */

import type { Operation } from '../../../harness/contract/platform/operation.ts';
import type { SupportedVersion } from '../../../harness/contract/versions.ts';
import type { Core } from '../core.ts';
import type { ApiKey } from '../keys.ts';
import { PlatformError } from '../ports.ts';
import type { Renderer } from '../render.ts';
import type { Query } from './query.ts';

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
