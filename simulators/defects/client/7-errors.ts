/** Defects of clients that hide an error from their caller. */
import { type Answer, CallFailed, isObject, type Told } from '../../client/behaviour.ts';
import { objectOf } from '../../client/reference.ts';
import { defect, variant } from '../define-client.ts';

const ENDLESS = ['client.errors.endless.list', 'client.errors.endless.ping', 'client.errors.endless.deploy'];
const SILENT: Told = { lines: [], complaint: '', code: 0 };
const EMPTY_PAGE = { limit: 10, offset: 0, has_more: false, data: [] };

function jsonOf({ text }: Answer): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

export const defects = [
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
        const body = jsonOf(answer);
        throw new CallFailed('refused', isObject(body) && 'error' in body ? answer.status : 500);
      },
    }),
  }),
  defect('garbage-as-end', 'Takes what is no page for an empty one.', ['client.errors.garbage'], {
    calls: ({ page, value }) => ({
      value: (answer, job) =>
        answer.status < 300 && job === 'list' ? (jsonOf(answer) ?? EMPTY_PAGE) : value(answer, job),
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
];

export const variants = [
  variant('errors-by-exit-code', 'Tells errors by its exit code alone.', {
    calls: ({ failed }) => ({ failed: (error, access) => ({ ...failed(error, access), lines: [] }) }),
  }),
  variant('errors-by-line', 'Tells errors by a line, and ends with success.', {
    calls: ({ failed }) => ({ failed: (error, access) => ({ ...failed(error, access), code: 0 }) }),
  }),
  variant('errors-with-body', 'Repeats the body of an error.', {
    calls: ({ value }) => ({
      value: (answer, job) => {
        if (answer.status >= 300) throw new CallFailed(`refused: ${answer.text}`, answer.status);
        return value(answer, job);
      },
    }),
  }),
];
