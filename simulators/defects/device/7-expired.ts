import type { Retained } from '../../device/behaviour.ts';
import { defect, onRequest, onRestart, resolving, variant } from '../define-device.ts';

const EXPIRED_410 = ['device.events.expired.410'];
const BOUNDARY = ['device.events.expired.boundary'];

const expires = (match: (cursor: number, retained: Retained) => boolean) =>
  resolving((after, cursor, retained) => (typeof cursor === 'number' && match(cursor, retained) ? 'expired' : after));

const serves = (from: (retained: Retained) => number, active = () => true) =>
  resolving((after, _cursor, retained) => (after === 'expired' && active() ? from(retained) : after));

const fromEarliest = ({ earliest }: Retained): number => earliest - 1;

export const defects = [
  defect(
    'expired-replays-earliest',
    'Replays from the earliest retained event when the cursor is older.',
    EXPIRED_410,
    { stream: serves(fromEarliest) },
  ),
  defect('expired-is-live', 'Sends live events only when the cursor is expired.', EXPIRED_410, {
    stream: serves(({ latest }) => latest),
  }),
  defect(
    'expired-by-query-only',
    'Answers an expired cursor with 410 only when it is given as after.',
    EXPIRED_410,
    () => {
      let byHeader = false;
      return {
        stream: (reference) => ({
          chooseCursor: (request) => {
            byHeader = request.after.length === 0;
            return reference.chooseCursor(request);
          },
          resolveCursor: (cursor, retained) => {
            const after = reference.resolveCursor(cursor, retained);
            return after === 'expired' && byHeader ? fromEarliest(retained) : after;
          },
        }),
      };
    },
  ),
  defect(
    'boundary-too-lenient',
    'Serves cursors up to three events before the earliest retained one, though the events after them are lost.',
    EXPIRED_410,
    {
      stream: resolving((after, cursor, { earliest }) =>
        typeof cursor === 'number' && cursor < earliest && cursor >= earliest - 4 ? earliest - 1 : after,
      ),
    },
  ),
  defect('expired-with-types-is-live', 'Never answers 410 when types are listed.', EXPIRED_410, () => {
    let listed = false;
    return {
      http: onRequest(({ url = '' }) => (listed = url.includes('types='))),
      stream: serves(fromEarliest, () => listed),
    };
  }),
  defect(
    'expired-until-restart',
    'Forgets at a restart that events were compacted away, and serves cursors that had been refused.',
    EXPIRED_410,
    () => {
      let restarted = false;
      return {
        log: onRestart(() => (restarted = true)),
        stream: serves(fromEarliest, () => restarted),
      };
    },
  ),
  defect(
    'expired-header-wins',
    'Answers 410 when Last-Event-ID is expired, though after is not.',
    ['device.events.after-wins.expired'],
    () => {
      let header: number | undefined;
      return {
        stream: ({ chooseCursor, resolveCursor }) => ({
          chooseCursor: (request) => {
            header = request.lastEventId === undefined ? undefined : Number(request.lastEventId);
            return chooseCursor(request);
          },
          resolveCursor: (cursor, retained) =>
            header !== undefined && resolveCursor(header, retained) === 'expired'
              ? 'expired'
              : resolveCursor(cursor, retained),
        }),
      };
    },
  ),
  defect('boundary-off-by-one', 'Answers 410 for the id of the earliest retained event.', BOUNDARY, {
    stream: expires((cursor, { earliest }) => cursor <= earliest && earliest > 1),
  }),
  defect(
    'retained-refused',
    'Answers 410 for cursors that could still be served, once there has been a compaction.',
    BOUNDARY,
    { stream: expires((cursor, { earliest, latest }) => cursor < (earliest + latest) / 2 && earliest > 1) },
  ),
  defect(
    'boundary-by-types',
    'Treats a cursor as expired when none of the listed types is retained after it.',
    ['device.events.expired.boundary', 'device.events.types'],
    () => {
      let listed = '';
      return {
        http: onRequest(({ url = '/' }) => (listed = new URL(url, 'http://device').searchParams.get('types') ?? '')),
        // Treats `deployment.removed` as never retained, because the check never causes that event.
        stream: expires((cursor, { latest }) => listed === 'deployment.removed' && cursor < latest),
      };
    },
  ),
  defect('future-cursor-expired', 'Answers 410 to a cursor beyond the newest event.', ['device.events.expired.only'], {
    stream: expires((cursor, { latest }) => cursor > latest),
  }),
];

export const variants = [
  variant('other-error-bodies', 'Answers errors with bodies of another shape (section 7 shows none).', {
    http: { errorBody: ({ status, code, message }) => ({ type: `urn:agent:${code}`, title: message, status }) },
  }),
  variant(
    'before-earliest-expired',
    'Answers 410 also for the id just before the earliest retained event, as section 7 can be read.',
    { stream: expires((cursor, { earliest }) => cursor < earliest && earliest > 1) },
  ),
  variant('zero-means-earliest', 'Reads after=0 as "from the earliest retained event", even after a compaction.', {
    stream: resolving((after, cursor, { earliest }) => (cursor === 0 ? earliest - 1 : after)),
  }),
];
