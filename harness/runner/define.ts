/** How a suite writes down requirements and checks, so that the requirement stands above its check. */
import type { Api, Check, Level, Requirement, Suite } from './types.ts';

/** The newest requirement set. A requirement with a later date never enters a certificate of an earlier set. */
export const REQUIREMENTS_VERSION = '2026-11-21';

export function requirement(
  id: string,
  level: Level,
  section: string,
  text: string,
  since = REQUIREMENTS_VERSION,
): Requirement {
  return Object.freeze({ id, level, section, text, since });
}

type Options<Context> = Omit<Check<Context>, 'id' | 'requirement' | 'run'> & {
  /** Distinguishes several checks of one requirement: the check's id becomes `<requirement>.<aspect>`. */
  aspect?: string;
};

/** Typed by API: `const check = checks<DeviceContext>()`. */
export function checks<Context>() {
  return (holds: Requirement, options: Options<Context>, run: Check<Context>['run']): Check<Context> => {
    const { aspect, ...rest } = options;
    return Object.freeze({
      ...rest,
      id: aspect === undefined ? holds.id : `${holds.id}.${aspect}`,
      requirement: holds,
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
