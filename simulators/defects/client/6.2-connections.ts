import { defect, variant } from '../define-client.ts';

const RETRY_FIELD = ['client.back-off.retry-field'];

const REFUSED = ['400', '401', '403', '404', '429'].map((status) => `client.back-off.refused.${status}`);
const isRefusal = ({ status = 0 }: { status: number | undefined }): boolean =>
  status >= 400 && status < 500 && status !== 410;

export const defects = [
  defect('heartbeat-clears-cursor', 'Forgets its cursor at a heartbeat.', ['client.heartbeat.cursor'], () => {
    let beaten = false;
    return {
      stream: ({ field }) => ({
        field: (line) => {
          const found = field(line);
          beaten = found === undefined;
          return found;
        },
      }),
      follow: ({ request }) => ({ request: (path, cursor) => request(path, beaten ? undefined : cursor) }),
    };
  }),
  defect('heartbeat-moves-cursor', 'Counts a heartbeat as an event.', ['client.heartbeat.cursor'], () => {
    let beats = 0n;
    return {
      stream: ({ field }) => ({
        field: (line) => {
          const found = field(line);
          if (found === undefined) beats += 1n;
          return found;
        },
      }),
      follow: ({ request }) => ({
        request: (path, cursor) => request(path, cursor === undefined ? undefined : String(BigInt(cursor) + beats)),
      }),
    };
  }),
  defect('waits-forever', 'Waits on a silent connection for ever.', ['client.heartbeat.silence'], {
    follow: { silenceMs: () => undefined },
  }),
  defect('refused-ends', 'Gives up when nobody listens.', ['client.back-off.restart', 'client.loopback.half-written'], {
    follow: ({ reconnect }) => ({ reconnect: (why) => (why.status === undefined ? undefined : reconnect(why)) }),
  }),
  defect('refused-forgets', 'Forgets its cursor when nobody listens.', ['client.back-off.restart'], () => {
    let away = false;
    return {
      follow: ({ request, reconnect }) => ({
        reconnect: (why) => {
          away ||= why.status === undefined;
          return reconnect(why);
        },
        request: (path, cursor) => request(path, away ? undefined : cursor),
      }),
    };
  }),
  defect('gives-up-at-503', 'Gives up when it is answered 503.', ['client.back-off.unavailable'], {
    follow: ({ reconnect }) => ({ reconnect: (why) => (why.status === 503 ? undefined : reconnect(why)) }),
  }),
  defect('503-forgets', 'Begins anew, without its cursor, after 503.', ['client.back-off.unavailable'], () => {
    let refused = false;
    return {
      follow: ({ reconnect, request }) => ({
        reconnect: (why) => {
          refused = why.status === 503;
          return reconnect(why);
        },
        request: (path, cursor) => request(path, refused ? undefined : cursor),
      }),
    };
  }),
  defect('retry-after-ignored', 'Does not read Retry-After.', ['client.back-off.retry-after'], {
    follow: ({ reconnect }) => ({ reconnect: (why) => reconnect({ ...why, retryAfterMs: undefined }) }),
  }),
  defect('retry-after-as-ms', 'Takes Retry-After for milliseconds.', ['client.back-off.retry-after'], {
    follow: ({ reconnect }) => ({
      reconnect: (why) =>
        reconnect({ ...why, retryAfterMs: why.retryAfterMs === undefined ? undefined : why.retryAfterMs / 1000 }),
    }),
  }),
  defect('retry-field-ignored', 'Does not read the retry field.', RETRY_FIELD, {
    follow: ({ reconnect }) => ({ reconnect: (why) => reconnect({ ...why, retryMs: undefined }) }),
  }),
  defect('retry-field-as-seconds', 'Takes the retry field for seconds, and caps it at a tenth of one.', RETRY_FIELD, {
    follow: { reconnect: ({ retryMs, retryAfterMs }) => Math.max(retryAfterMs ?? 0, Math.min(retryMs ?? 200, 200)) },
  }),
  defect('hammers', 'Asks again at once when it is cut off.', ['client.back-off.hammering'], {
    follow: ({ reconnect }) => ({ reconnect: (why) => (why.status === undefined ? 0 : reconnect(why)) }),
  }),
  defect('hammers-when-ended', 'Asks again at once when its stream ends.', ['client.back-off.hammering.ended'], {
    follow: ({ reconnect }) => ({ reconnect: (why) => (why.status === 200 ? 0 : reconnect(why)) }),
  }),
  defect(
    'retry-nonsense-as-zero',
    'Takes a retry field that is no number for 0, and asks again at once.',
    ['client.back-off.hammering.retry-nonsense'],
    {
      stream: ({ field }) => ({
        field: (line) => (/^retry: ?\D/.test(line) ? { name: 'retry', value: '0' } : field(line)),
      }),
      follow: ({ reconnect }) => ({ reconnect: (why) => (why.retryMs === 0 ? 0 : reconnect(why)) }),
    },
  ),
  defect('hammers-when-refused', 'Asks again at once when it is refused by a 4xx.', REFUSED, {
    follow: ({ reconnect }) => ({ reconnect: (why) => (isRefusal(why) ? 0 : reconnect(why)) }),
  }),
  defect(
    'gives-up-soon',
    'Gives up after three attempts.',
    ['client.back-off.hammering', 'client.loopback.half-written'],
    { follow: ({ reconnect }) => ({ reconnect: (why) => (why.attempt > 2 ? undefined : reconnect(why)) }) },
  ),
];

export const variants = [
  variant('patient-with-silence', 'Waits for ten heartbeats.', {
    follow: { silenceMs: (seconds) => 10 * seconds * 1000 },
  }),
  variant('gives-up-when-refused', 'Gives up when it is refused by a 4xx other than 410.', {
    follow: ({ reconnect }) => ({ reconnect: (why) => (isRefusal(why) ? undefined : reconnect(why)) }),
  }),
  variant('steady-wait', 'Waits for three seconds before each attempt, as event sources do.', {
    follow: { reconnect: ({ retryMs, retryAfterMs }) => Math.max(retryMs ?? 3000, retryAfterMs ?? 0) },
  }),
  variant('quick-first-attempt', 'Asks again at once after a stream that has brought something, and then waits.', {
    follow: ({ reconnect }) => ({
      reconnect: (why) =>
        why.attempt === 0 && why.retryMs === undefined && why.retryAfterMs === undefined ? 0 : reconnect(why),
    }),
  }),
];
