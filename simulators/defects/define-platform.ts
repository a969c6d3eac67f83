import type { ResourceKind } from '../../harness/contract/platform/operation.ts';
import type { Problem } from '../../harness/contract/shape.ts';
import type { ErrorFacts, PlatformBehaviour, Resource } from '../platform/behaviour.ts';
import { type Change, changed, declaring, effectsOf } from './define.ts';

/** A function runs once per platform, so that its changes may keep state. */
export type PlatformChange = Change<PlatformBehaviour>;

export const { variant, defect } = declaring<PlatformBehaviour, PlatformChange>('platform', { changed, effectsOf });

export const resources =
  (kind: ResourceKind, change: (resource: Resource) => Resource) =>
  ({ resource }: PlatformBehaviour): Required<Pick<PlatformBehaviour, 'resource'>> => ({
    resource: (shown, given, version) => {
      const before = resource?.(shown, given, version) ?? given;
      return shown === kind ? change(before) : before;
    },
  });

export const answers =
  (operation: string, change: (body: Resource, status: number) => unknown) =>
  ({ answer }: PlatformBehaviour): Required<Pick<PlatformBehaviour, 'answer'>> => ({
    answer: (asked, given) => {
      const { status, body } = answer?.(asked, given) ?? given;
      return { status, body: asked === operation ? change(body as Resource, status) : body };
    },
  });

export const errors =
  (match: (facts: ErrorFacts) => boolean, status: number): PlatformChange =>
  ({ error }) => ({ error: (facts) => error(match(facts) ? { ...facts, status } : facts) });

/** Passes each body to `seen`, which may change the body, throw, or return problems, for which the body is refused. */
export const bodies =
  (seen: (operation: string, body: Resource) => readonly Problem[]) =>
  ({ bodyProblems }: PlatformBehaviour): Pick<PlatformBehaviour, 'bodyProblems'> => ({
    bodyProblems: (operation, value, check) => [
      ...seen(operation, Object(value)),
      ...bodyProblems(operation, value, check),
    ],
  });

export const unless = (holds: boolean, path: string, message: string) => (holds ? [] : [{ path, message }]);

export const unchecked =
  (operation: string) =>
  ({ bodyProblems }: PlatformBehaviour): Pick<PlatformBehaviour, 'bodyProblems'> => ({
    bodyProblems: (asked, value, check) => (asked === operation ? [] : bodyProblems(asked, value, check)),
  });

/** The operation `read` shows the name that each resource had in the response to `created`. */
export const keepsFirstNames = (created: string, read: string) => (): Required<Pick<PlatformBehaviour, 'answer'>> => {
  const names = new Map<unknown, unknown>();
  return {
    answer: (operation, { status, body }) => {
      const item = (body ?? {}) as Resource;
      if (operation === created) names.set(item['id'], item['name']);
      if (operation !== read) return { status, body };
      return { status, body: { ...item, name: names.get(item['id']) ?? item['name'] } };
    },
  };
};
