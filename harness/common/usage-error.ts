/** Wrong use of the command line (exit code 64). The message names the option and what is accepted. */
export class UsageError extends Error {
  override name = 'UsageError';
}
