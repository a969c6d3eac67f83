import { isObject, jsonOf } from '../../../harness/common/lenient.ts';
import { CallFailed, type FailedJobOutput } from '../../client/behaviour.ts';
import { objectOf } from '../../client/reference.ts';
import { defect, variant } from '../define-client.ts';

const ENDLESS = ['client.errors.endless.list', 'client.errors.endless.ping', 'client.errors.endless.deploy'];
const SILENT: FailedJobOutput = { lines: [], complaint: '', code: 0 };
const EMPTY_PAGE = { limit: 10, offset: 0, has_more: false, data: [] };

export const defects = [
  defect('gap-hidden', 'Begins anew after 410, and tells nobody that events are lost.', ['client.expired.told'], {
    follow: { expired: () => ({ told: false, cursor: undefined }) },
  }),
  defect('dead-cursor', 'Asks with the cursor that has expired, for ever.', ['client.expired.goes-on'], {
    follow: ({ reconnect }) => ({
      expired: (cursor) => ({ told: true, cursor }),
      reconnect: (why) => (why.status === 410 ? 200 : reconnect(why)),
    }),
  }),
  defect('begins-anew-once', 'Begins anew after the first 410 alone.', ['client.expired.goes-on.again'], () => {
    let times = 0;
    return {
      follow: ({ reconnect }) => ({
        expired: (cursor) => ({ told: true, cursor: times++ > 0 ? cursor : undefined }),
        reconnect: (why) => (why.status === 410 ? 200 : reconnect(why)),
      }),
    };
  }),
  defect('gives-up-at-410', 'Gives up when its cursor has expired.', ['client.expired.goes-on'], {
    follow: ({ reconnect }) => ({ reconnect: (why) => (why.status === 410 ? undefined : reconnect(why)) }),
  }),
  defect('loops-at-410', 'Asks again at once after 410.', ['client.expired.no-loop'], {
    follow: ({ reconnect }) => ({ reconnect: (why) => (why.status === 410 ? 0 : reconnect(why)) }),
  }),
  defect(
    'errors-hidden',
    'Ends with success, whatever it is answered.',
    ['client.errors.told.list', 'client.errors.told.ping', 'client.errors.told.deploy', 'client.errors.told.current'],
    { calls: { failed: () => SILENT } },
  ),
  defect('repeats-when-refused', 'Asks again at once, for ever, when it is refused.', ENDLESS, {
    calls: ({ retry }) => ({ retry: (why) => ([400, 401, 403, 404].includes(Number(why.status)) ? 0 : retry(why)) }),
  }),
  defect('repeats-at-404', 'Asks again at once, for ever, for what is not there.', ENDLESS, {
    calls: ({ retry }) => ({ retry: (why) => (why.status === 404 ? 0 : retry(why)) }),
  }),
  defect('errors-as-results', 'Takes the body of a refusal for a result.', ['client.errors.told.ping'], {
    calls: { value: ({ text, status }) => objectOf(text, status) },
  }),
  defect('error-body-assumed', 'Breaks down at an error that has another body.', ['client.errors.bodies'], {
    calls: ({ value, failed }) => ({
      value: (answer, job) => {
        if (answer.status < 300) return value(answer, job);
        const { error } = JSON.parse(answer.text);
        throw new CallFailed(error.message.trim(), answer.status);
      },
      failed: (error, access) =>
        error instanceof CallFailed ? failed(error, access) : { lines: [], complaint: String(error), code: 70 },
    }),
  }),
  defect('status-from-body', 'Takes the status of an error from its body.', ['client.errors.bodies'], {
    calls: ({ value }) => ({
      value: (answer, job) => {
        if (answer.status < 300) return value(answer, job);
        const body = jsonOf(answer.text);
        throw new CallFailed('refused', isObject(body) && 'error' in body ? answer.status : 500);
      },
    }),
  }),
  defect('garbage-as-end', 'Takes what is no page for an empty one.', ['client.errors.garbage'], {
    calls: ({ page, value }) => ({
      value: (answer, job) =>
        answer.status < 300 && job === 'list' ? (jsonOf(answer.text) ?? EMPTY_PAGE) : value(answer, job),
      page: (value) => {
        try {
          return page(value);
        } catch {
          return EMPTY_PAGE;
        }
      },
    }),
  }),
  defect('torn-as-end', 'Takes a connection that is torn for the end of the list.', ['client.errors.garbage'], {
    calls: ({ failed }) => ({
      failed: (error, access) =>
        error instanceof CallFailed && error.status === undefined ? SILENT : failed(error, access),
    }),
  }),
  defect(
    'later-pages-optional',
    'Ends with success when a later page is refused.',
    ['client.errors.later-page'],
    () => {
      let pages = 0;
      return {
        calls: ({ page, failed }) => ({
          page: (value) => {
            pages += 1;
            return page(value);
          },
          failed: (error, access) => (pages > 0 ? SILENT : failed(error, access)),
        }),
      };
    },
  ),
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
  variant('everything-after-410', 'Asks for all that is retained after 410.', {
    follow: { expired: () => ({ told: true, cursor: '0' }) },
  }),
  variant('asks-once-more', 'Asks with the cursor that has expired once more, to be sure.', () => {
    let refused = 0;
    return {
      follow: { expired: (cursor) => (refused++ > 0 ? { told: true, cursor: undefined } : { told: false, cursor }) },
    };
  }),
  variant('errors-by-exit-code', 'Tells errors by its exit code alone.', {
    calls: ({ failed }) => ({
      failed: (error, access) => {
        const output = failed(error, access);
        // Keeps the line of a client that exits with 0, because only the line shows the error.
        return output.code === 0 ? output : { ...output, lines: [] };
      },
    }),
  }),
  variant('errors-by-line', 'Tells errors by a line, and ends with success.', {
    calls: ({ failed }) => ({
      failed: (error, access) => {
        const output = failed(error, access);
        return output.lines.length === 0 ? output : { ...output, code: 0 };
      },
    }),
  }),
  variant('errors-with-body', 'Repeats the body of an error.', {
    calls: ({ value }) => ({
      value: (answer, job) => {
        if (answer.status >= 300) throw new CallFailed(`refused: ${answer.text}`, answer.status);
        return value(answer, job);
      },
    }),
  }),
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
