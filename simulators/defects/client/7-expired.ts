/** Defects of clients that handle an expired cursor wrongly. */
import { defect, variant } from '../define-client.ts';

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
        expired: (cursor) => {
          times += 1;
          return { told: true, cursor: times > 1 ? cursor : undefined };
        },
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
];

export const variants = [
  variant('everything-after-410', 'Asks for all that is retained after 410.', {
    follow: { expired: () => ({ told: true, cursor: '0' }) },
  }),
  variant('asks-once-more', 'Asks with the cursor that has expired once more, to be sure.', () => {
    let refused = 0;
    return {
      follow: {
        expired: (cursor) => {
          refused += 1;
          return { told: refused > 1, cursor: refused > 1 ? undefined : cursor };
        },
      },
    };
  }),
];
