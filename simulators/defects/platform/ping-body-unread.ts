import type { PlatformDefect } from './types.ts';

export const pingBodyUnread: PlatformDefect = {
  name: 'ping-body-unread',
  side: 'platform',
  summary: 'Takes any body for a ping of one second.',
  breaks: ['platform.ping.bad-body'],
  behaviour: (right) => ({
    ...right,
    pingTimeout: (asked) => (Number.isInteger(asked) ? right.pingTimeout(asked) : 1_000_000_000),
    readBody: (bytes, strict) => {
      try {
        return strict(bytes);
      } catch (error) {
        if (bytes.length > 1000) throw error;
        return {};
      }
    },
    bodyProblems: (operation, value, check) =>
      operation === 'pingDevice' ? [] : right.bodyProblems(operation, value, check),
  }),
};
