/** The machine is too small, or an option is unusable; the message names the remedy. */
export class PreflightError extends Error {
  override name = 'PreflightError';
}

/** The platform does not answer, or is busy. */
export class UnreachableError extends Error {
  override name = 'UnreachableError';
}
