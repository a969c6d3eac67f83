import { setTimeout } from 'node:timers/promises';
import { variant } from '../define-device.ts';
import { FIRST_ANSWER_MS, SLOW_ANSWER_MS, warmUp, writesBytesAlone } from '../slowness.ts';

export const variants = [
  variant('slow-answers', 'Answers everything 300 ms late.', { http: { delayMs: () => SLOW_ANSWER_MS } }),
  variant('slow-first-answer', 'Answers nothing in the 20 s after the first request, and everything after them.', {
    http: () => ({ delayMs: warmUp(FIRST_ANSWER_MS) }),
  }),
  variant('byte-by-byte', 'Writes every byte by itself, heads and event streams too.', {
    transport: { connected: writesBytesAlone },
  }),
  variant('one-event-a-second', 'Sends at most one event a second on a stream, stored or live.', {
    stream: { eventPauseMs: 1000 },
  }),
  variant('slow-deployments', 'Takes 5 s to put a deployment in place.', {
    deployments: ({ enter }) => ({
      enter: async (steps) => {
        await setTimeout(5000);
        await enter(steps);
      },
    }),
  }),
];
