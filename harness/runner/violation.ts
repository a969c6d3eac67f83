/** Early ends of a check. Any other error, except NoAnswer, is a fault of the set-up or of Muster: `blocked`. */
import type { Redactor } from '../common/redact.ts';
import type { Finding } from './types.ts';

/** Ends a check as `fail`, `warn` or an observation, by the level of its requirement. */
export class Violation extends Error {
  override name = 'Violation';
  readonly finding: Finding;
  constructor(finding: Finding) {
    super(`expected ${finding.expected}; actual: ${finding.actual}`);
    this.finding = finding;
  }
}

/** Ends a check as `fail`, whatever its level: a target that ends by itself does not serve. */
export class TargetEnded extends Violation {
  override name = 'TargetEnded';
  constructor(actual: string) {
    super({ level: 'MUST', expected: 'a target that goes on serving', actual });
  }
}

export class NotApplicable extends Error {
  override name = 'NotApplicable';
}

/** Ends a check as `undecided`. The message is the reason. */
export class TooLittleSeen extends Error {
  override name = 'TooLittleSeen';
}

/** Ends a check as `blocked`, undecided by its set-up. The message is the reason. */
export class Blocked extends Error {
  override name = 'Blocked';
}

/** Ends an attempt that was cut off; the check runs again once its `prepare` resolves. */
export class AttemptCutOff extends Blocked {
  override name = 'AskAgain';
}

/** Ends an attempt in which the target or Muster stood still: lateness says nothing then. */
export class Standstill extends AttemptCutOff {
  override name = 'StoodStill';
}

/** Reason of the abort signal if a run ends early: unfinished checks are blocked with its message. */
export class RunOver extends Error {
  override name = 'RunOver';
  /** True if Muster itself went wrong. */
  readonly fault: boolean;
  constructor(message: string, { fault = false, ...options }: ErrorOptions & { fault?: boolean } = {}) {
    super(message, options);
    this.fault = fault;
  }
}

/** Text as it is, anything else as JSON, cut to `limit` characters. `redactor` masks secrets before the cut. */
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
