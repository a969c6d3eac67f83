/** Errors by which a check ends early. Any other error blocks the check, except NoAnswer, which is a violation. */

import type { Redactor } from '../common/redact.ts';
import { NamedError } from '../common/usage.ts';
import type { Finding } from './types.ts';

/** Ends a check as `fail`, `warn` or, for an INFO, `pass`, by the level of the finding or else of the requirement. */
export class Violation extends NamedError {
  readonly finding: Finding;
  constructor(finding: Finding) {
    super(`expected ${finding.expected}; actual: ${finding.actual}`);
    this.finding = finding;
  }
}

export const GOES_ON = 'a target that goes on serving';

/** Violation of a MUST, even in a check of a SHOULD: the target's process ended by itself. */
export class TargetEnded extends Violation {
  constructor(actual: string) {
    super({ level: 'MUST', expected: GOES_ON, actual });
  }
}

export class NotApplicable extends NamedError {}

export class TooLittleSeen extends NamedError {}

export class Blocked extends NamedError {}

/** Interrupted attempt at a check; the check then starts again. */
export class AttemptCutOff extends Blocked {}

/** The target or Muster stood still, so that late answers prove no fault. */
export class Standstill extends AttemptCutOff {}

/** Abort reason of a run; its message becomes the reason of blocked checks. */
export class RunOver extends NamedError {
  readonly fault: boolean;
  constructor(message: string, { fault = false, ...options }: ErrorOptions & { fault?: boolean } = {}) {
    super(message, options);
    this.fault = fault;
  }
}

/** Text of `value`, cut to `limit` characters after `redactor` has masked secrets. */
export function shortText(value: unknown, limit = 600, redactor?: Pick<Redactor, 'excerpt'>): string {
  const text =
    typeof value === 'string'
      ? value
      : value === undefined
        ? 'nothing'
        : value instanceof Error
          ? value.message
          : (JSON.stringify(value, (_, item: unknown) => (typeof item === 'bigint' ? String(item) : item)) ??
            String(value));
  if (redactor !== undefined) return redactor.excerpt(text, limit);
  return text.length <= limit ? text : `${text.slice(0, limit)}… (${text.length} characters)`;
}
