import type { IncomingMessage } from 'node:http';
import { defect, onRequest } from '../define-device.ts';

export const defects = [
  defect('log-with-comments', 'Writes comments between the events in the log.', ['device.log.jsonl'], {
    log: ({ lines }) => ({ lines: (events) => `${lines(events)}# ${events.length} stored\n` }),
  }),
  defect('log-never-compacted', 'Never compacts its log.', ['device.log.bounded'], { log: { keepFrom: () => 0 } }),
  defect('compaction-drops-newest', 'Drops the newest events when it compacts.', ['device.log.compaction'], {
    log: { keepFrom: ({ latest }) => latest + 1 },
  }),
  defect(
    'removed-not-stored',
    'Sends deployment.removed on live streams alone: it is not stored, and never replayed.',
    ['device.events.replay.complete'],
    { log: ({ lines }) => ({ lines: (events) => lines(events.filter(({ type }) => type !== 'deployment.removed')) }) },
    { tells: /published after them, and not|missing/ },
  ),
  defect(
    'stored-only-with-listeners',
    'Stores events only while a stream is open, and loses all others.',
    ['device.events.replay.complete.unheard'],
    () => {
      const listeners = new Set<IncomingMessage>();
      return {
        ...onRequest((request, response) => {
          if (request.method !== 'GET' || request.url?.includes('/events') !== true) return;
          listeners.add(request);
          // A stream ends with its connection, a refusal before it.
          const over = () => listeners.delete(request);
          response.once('finish', over);
          request.socket.once('close', over);
        }),
        log: ({ lines }) => ({ lines: (events) => (listeners.size > 0 ? lines(events) : '') }),
      };
    },
    { tells: /which was published after them, and not/ },
  ),
];
