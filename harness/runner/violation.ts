/** How a check ends early. Anything else that is thrown is trouble with set-up or harness, and ends as `blocked`. */
import type { Redactor } from '../client/redact.ts';
import type { Finding } from './types.ts';

/** The requirement does not hold. */
export class Violation extends Error {
  override name = 'Violation';
  readonly finding: Finding;
  constructor(finding: Finding) {
    super(`expected ${finding.expected}; actual: ${finding.actual}`);
    this.finding = finding;
  }
}

export class NotApplicable extends Error {
  override name = 'NotApplicable';
}

export class Blocked extends Error {
  override name = 'Blocked';
}

/**
 * A value as a report shows it: JSON, with what JSON can't say spelled out, cut to a readable length. Where the value may hold a
 * secret, `redactor` masks it before the text is cut.
 */
export function show(value: unknown, limit = 600, redactor?: Pick<Redactor, 'excerpt'>): string {
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
