/** Ends of everything that was opened: all of it, whatever fails, and also when opening fails half-way. */
export type Closer = () => Promise<void> | undefined;

/** Closes everything, whatever fails; throws what failed, together. */
async function closeAll(closers: readonly Closer[]): Promise<void> {
  const results = await Promise.allSettled(closers.map((close) => close()));
  const errors = results.flatMap((result) => (result.status === 'rejected' ? [result.reason] : []));
  if (errors.length > 0) throw new AggregateError(errors, 'the target could not be closed cleanly');
}

/**
 * Calls `open`, which adds a closer for whatever it opens. When it throws (an interrupt, say, while an agent that was started
 * is waited for), that is closed, and the error is thrown on. `close` is idempotent.
 */
export async function opening<T>(open: (closers: Closer[], close: () => Promise<void>) => Promise<T>): Promise<T> {
  const closers: Closer[] = [];
  let closing: Promise<void> | undefined;
  const close = (): Promise<void> => {
    closing ??= closeAll(closers);
    return closing;
  };
  try {
    return await open(closers, close);
  } catch (error) {
    await close().catch(() => {});
    throw error;
  }
}
