/** Closes everything, whatever fails; throws what failed, together. */
export async function closeAll(closers: readonly (() => Promise<void> | undefined)[]): Promise<void> {
  const results = await Promise.allSettled(closers.map((close) => close()));
  const errors = results.flatMap((result) => (result.status === 'rejected' ? [result.reason] : []));
  if (errors.length > 0) throw new AggregateError(errors, 'the target could not be closed cleanly');
}
