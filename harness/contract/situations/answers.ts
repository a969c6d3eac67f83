/** Answers other than a stream that a client meets, as the suite gives them. */

/** An answer without a stream; header names in lower case. */
export interface Refusal {
  status: number;
  headers: Readonly<Record<string, string>>;
  body: object;
}

/** Section 7: the cursor is older than the earliest retained event. */
export const EXPIRED: Refusal = {
  status: 410,
  headers: {},
  body: { error: { code: 'cursor_expired', message: 'events are gone' } },
};

export const UNAVAILABLE: Refusal = { status: 503, headers: {}, body: { error: 'starting' } };

/** Seconds that a client is asked to wait. */
export const ASKED_FOR = 4;
export const UNAVAILABLE_FOR: Refusal = { ...UNAVAILABLE, headers: { 'retry-after': String(ASKED_FOR) } };
