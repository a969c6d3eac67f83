/** Failures of actions: those that differ only in the robot are one, with a count. */

export interface FailedAction {
  /** Kind of action, or `by hand`. */
  kind: string;
  robot?: string;
  message: string;
  count: number;
}

/** Adds to the count of an equal failure, or keeps a copy of one of the first few. */
export function addFailure(failures: FailedAction[], failure: FailedAction): void {
  const equal = failures.find(({ kind, message }) => kind === failure.kind && message === failure.message);
  if (equal !== undefined) equal.count += failure.count;
  else if (failures.length < 5) failures.push({ ...failure });
}

export function failureText({ kind, robot, message, count }: FailedAction): string {
  const who = robot === undefined ? kind : `${kind} of ${robot}`;
  return `${who}: ${message}${count === 1 ? '' : ` (${count.toLocaleString('en')} times)`}`;
}
