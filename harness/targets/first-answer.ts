/** Waits for the very first answer of a target, which may take longer than all later ones: what it runs on may still be starting. */
import { NoAnswerInTime } from '../client/errors.ts';
import type { HttpClient, HttpRequest } from '../client/http.ts';
import { readableDuration } from '../common/durations.ts';

/** The very first answer may take so many times the patience. */
export const FIRST_ANSWER_PATIENCES = 3;

/**
 * Sends all `requests` at once. Undefined as soon as the target answers one of them, or closes the connection: the suite decides
 * whether that is right. Else why it cannot be checked.
 */
export async function whySilent(
  http: HttpClient,
  requests: readonly HttpRequest[],
  withinMs: number,
  hint: string,
): Promise<string | undefined> {
  const over = new AbortController();
  const asking = http.with({ timeoutMs: withinMs, signal: over.signal });
  const answered = requests.map((request) =>
    asking.open(request).then(
      (answer) => answer.abort(),
      (error: unknown) => {
        if (error instanceof NoAnswerInTime) throw error;
      },
    ),
  );
  try {
    await Promise.any(answered);
    return undefined;
  } catch {
    return `${http.describe()}: accepts connections and has answered nothing within ${readableDuration(withinMs)}. ${hint}`;
  } finally {
    over.abort();
  }
}
