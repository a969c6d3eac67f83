import { variant } from '../define-platform.ts';
import { FIRST_ANSWER_MS, SLOW_ANSWER_MS, warmUp, writesBytesAlone } from '../slowness.ts';

export const variants = [
  variant('slow-answers', 'Answers everything 300 ms late.', { delayMs: () => SLOW_ANSWER_MS }),
  variant(
    'slow-first-answer',
    'Answers nothing in the 20 s after the first request, and everything after them.',
    () => ({ delayMs: warmUp(FIRST_ANSWER_MS) }),
  ),
  variant('byte-by-byte', 'Writes every byte by itself, heads too.', { connected: writesBytesAlone }),
];
