/** Rules for watched traffic that need the request, its credential or its version. */
import type { Check } from '../../../harness/runner/types.ts';
import { isPing, watchedRule } from '../../watched.ts';
import { success } from '../2.5-ping.ts';
import { pingCode } from '../support/ping.ts';
import { rules as lists } from './8-lists.ts';
import { rules as versions } from './9-versions.ts';
import { judgeByModel } from './judged.ts';
import { answerIn } from './support.ts';

/** Judges only successful pings, because section 2.5 documents no refusal. */
const ping = watchedRule(success, [success.id], () => (seen, judge) => {
  const { request, answer } = answerIn(seen) ?? {};
  if (request === undefined || answer === undefined || !isPing(request) || pingCode(answer) !== 'success') return;
  judgeByModel(judge, seen, success.id);
});

export const watchedRules: readonly Check<unknown>[] = [...lists, ...versions, ping];
