/** Errors of the network, in words. */

/** A host with several addresses fails with one error for all of them, which has no words of its own. */
export function wordsOf(error: Error): string {
  if (error.message !== '') return error.message;
  const [first]: unknown[] = error instanceof AggregateError ? error.errors : [];
  return first instanceof Error ? first.message : String((error as NodeJS.ErrnoException).code ?? error.name);
}
