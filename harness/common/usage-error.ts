/** Wrong use of the command line: the message names the option and what is accepted; the exit code is 64. */
export class UsageError extends Error {
  override name = 'UsageError';
}
