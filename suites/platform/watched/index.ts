/**
 * Rules of a platform that is watched at work. Each decides a requirement of this suite as far as the traffic of others
 * shows it: those that need to know what was asked for, and with which credential and version. What holds of any answer
 * is a rule of the suite itself.
 */
import type { Check } from '../../../harness/runner/types.ts';
import { isPing, watchedRule } from '../../watched.ts';
import { success } from '../2.5-ping.ts';
import { pingCode } from '../support/ping.ts';
import { rules as lists } from './8-lists.ts';
import { rules as versions } from './9-versions.ts';
import { judgeByModel } from './judged.ts';
import { answerIn } from './support.ts';

/** Other outcomes are not shown. */
const ping = watchedRule(success, [success.id], () => (seen, judge) => {
  const { request, answer } = answerIn(seen) ?? {};
  if (request === undefined || answer === undefined || !isPing(request) || pingCode(answer) !== 'success') return;
  judgeByModel(judge, seen, success.id);
});

export const watchedRules: readonly Check<unknown>[] = [...lists, ...versions, ping];
