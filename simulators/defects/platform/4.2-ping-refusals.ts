import { defect, unchecked } from '../define-platform.ts';

export const defects = [
  defect(
    'ping-unknown-device',
    'Answers as after a timeout whatever names an unknown device.',
    ['platform.ping.unknown-device', 'platform.robust.references'],
    ({ error }) => ({
      error: (facts) => (facts.code === 'device_not_found' ? { status: 200, body: { code: 'timeout' } } : error(facts)),
    }),
  ),
  defect('ping-body-unread', 'Treats any body as a ping of one second.', ['platform.ping.bad-body'], (reference) => ({
    pingTimeout: (asked) => (Number.isInteger(asked) ? reference.pingTimeout(asked) : 1_000_000_000),
    readBody: (bytes, strict) => {
      try {
        return strict(bytes);
      } catch (error) {
        if (bytes.length > 1000) throw error;
        return {};
      }
    },
    ...unchecked('pingDevice')(reference),
  })),
];
