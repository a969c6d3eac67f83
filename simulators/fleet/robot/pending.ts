/** A promise whose rejection may go unhandled. */
export function pending(): PromiseWithResolvers<void> {
  const created = Promise.withResolvers<void>();
  created.promise.catch(() => {});
  return created;
}
