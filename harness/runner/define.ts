/** How a suite writes down requirements and checks, so that the requirement stands above its check. */
import type { Api, Check, Requirement, Suite } from './types.ts';

/** The newest requirement set. A requirement with a later date never enters a certificate of an earlier set. */
export const REQUIREMENTS_VERSION = '2026-11-21';

export function requirement(declared: Requirement): Requirement {
  return Object.freeze(declared);
}

type Options<Context> = Omit<Check<Context>, 'id' | 'requirement' | 'run'> & {
  /** Distinguishes several checks of one requirement: the check's id becomes `<requirement>.<aspect>`. */
  aspect?: string;
};

/** Typed by API: `const check = checks<DeviceContext>()`. */
export function checks<Context>() {
  return (requirement: Requirement, options: Options<Context>, run: Check<Context>['run']): Check<Context> => {
    const { aspect, ...rest } = options;
    return Object.freeze({
      ...rest,
      id: aspect === undefined ? requirement.id : `${requirement.id}.${aspect}`,
      requirement,
      run,
    });
  };
}

/** Refuses two checks of one name, so that a baseline or `--only` always means one thing. */
export function suite<Context>(api: Api, all: readonly (readonly Check<Context>[])[]): Suite<Context> {
  const list = all.flat();
  const seen = new Set<string>();
  for (const { id } of list) {
    if (seen.has(id)) throw new Error(`two checks are called ${id}`);
    seen.add(id);
  }
  return Object.freeze({ api, requirementsVersion: REQUIREMENTS_VERSION, checks: list });
}
