/** Defects of clients that retry a busy platform without pause. */
import { defect, variant } from '../define-client.ts';

export const defects = [
  defect(
    'busy-at-once',
    'Asks again soon, whatever it is asked to wait.',
    ['client.busy.retry-after.429', 'client.busy.retry-after.503', 'client.busy.retry-after.ping'],
    { calls: ({ retry }) => ({ retry: (why) => retry({ ...why, retryAfterMs: undefined }) }) },
  ),
  defect('busy-in-ms', 'Takes Retry-After for milliseconds.', ['client.busy.retry-after'], {
    calls: ({ retry }) => ({
      retry: ({ retryAfterMs, ...why }) =>
        retry({ ...why, retryAfterMs: retryAfterMs === undefined ? undefined : retryAfterMs / 1000 }),
    }),
  }),
  defect('busy-without-dates', 'Does not read a date in Retry-After.', ['client.busy.retry-after.date'], {
    calls: ({ askedToWait }) => ({
      askedToWait: (headers) => (/^\d+$/.test(headers['retry-after'] ?? '') ? askedToWait(headers) : undefined),
    }),
  }),
  defect(
    'busy-hammers',
    'Asks again at once, for ever, unless it is told when.',
    ['client.busy.hammering', 'client.busy.hammering.ping', 'client.busy.hammering.deploy'],
    {
      calls: ({ retry }) => ({
        retry: (why) => (why.status === 429 && why.retryAfterMs === undefined ? 0 : retry(why)),
      }),
    },
  ),
  defect(
    'busy-page-left-out',
    'Goes on to the next page when one is refused.',
    ['client.busy.resumes', 'client.busy.retry-after'],
    {
      calls: ({ retry, value }) => ({
        retry: (why) => (why.status === 503 ? undefined : retry(why)),
        value: (answer, job) =>
          answer.status === 503 ? { limit: 50, offset: 50, has_more: true, data: [] } : value(answer, job),
      }),
    },
  ),
];

export const variants = [
  variant(
    'never-again',
    'Gives up with an error at once.',
    { calls: { retry: () => undefined } },
    { alternative: 'kept-connections' },
  ),
  variant('waits-longer', 'Waits for three seconds before each attempt.', {
    calls: {
      retry: ({ status, attempt, retryAfterMs }) =>
        (status === undefined || status === 429 || status === 503) && attempt < 2
          ? Math.max(3000, retryAfterMs ?? 0)
          : undefined,
    },
  }),
];
