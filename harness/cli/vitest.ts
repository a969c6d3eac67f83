/**
 * Library entry `muster-conformance/vitest`: the same checks as vitest tests.
 *
 *     import { deviceSuite, openDevice } from 'muster-conformance';
 *     import { describeSuite } from 'muster-conformance/vitest';
 *     describeSuite(deviceSuite, () => openDevice({ socket: '/run/agent.sock' }), { fast: true });
 */
import { randomInt } from 'node:crypto';
import { afterAll, beforeAll, describe, type TestContext, test } from 'vitest';
import { Recorder } from '../client/recorder.ts';
import { Redactor } from '../common/redact.ts';
import { printable } from '../common/terminal.ts';
import { findingText } from '../reports/findings.ts';
import { differenceInWords, differences } from '../runner/declarations.ts';
import { makePlan, type Planned } from '../runner/plan.ts';
import { presentableResult } from '../runner/results.ts';
import { CHECK_LIMIT_MS, runCheck } from '../runner/run-check.ts';
import { Session } from '../runner/session.ts';
import { CAPABILITIES, type Check, type Sharing, type Suite } from '../runner/types.ts';
import type { OpenedTarget } from '../targets/opened.ts';
import type { CheckOptions } from './library.ts';

/**
 * Registers each check as a test. A failed MUST or a blocked check fails the test, a failed SHOULD adds an annotation,
 * and a check that decided nothing is skipped with its reason.
 */
export function describeSuite<Context>(
  suite: Suite<Context>,
  open: () => Promise<OpenedTarget<Context>>,
  options: CheckOptions = {},
): void {
  const { seed = randomInt(2 ** 31), signal = new AbortController().signal, ...planOptions } = options;
  // Plans with all capabilities, because the target opens later; each test skips itself if the target lacks one.
  const plan = makePlan(suite, { ...planOptions, capabilities: new Set(CAPABILITIES) });
  const { runs = plan.runs } = options;
  describe(`muster ${suite.api} (seed ${seed})`, () => {
    let target: OpenedTarget<Context> | undefined;
    const session = new Session();
    beforeAll(async () => {
      target = await open();
      if (target.unreachable !== undefined) throw new Error(printable(target.unreachable));
    }, CHECK_LIMIT_MS);
    afterAll(async () => {
      await target?.[Symbol.asyncDispose]();
      // Fails if the target is not as declared, because checks that rely on the declaration then mean nothing.
      const untrue = differences(session.declarations.all).map(differenceInWords);
      if (untrue.length > 0) throw new Error(printable(`not as declared: ${untrue.join('; ')}`));
    });

    const one = (planned: Planned<Context>) => async (context: TestContext) => {
      if (target === undefined) throw new Error('the target was not opened');
      const { check, skip } = planned;
      const missing = (check.needs ?? []).filter((need) => target?.capabilities.has(need) !== true);
      if (skip !== undefined) return context.skip(skip);
      if (missing.length > 0) return context.skip(`needs ${missing.join(', ')}, which the target does not declare`);
      await decide(check, target, context, { session, seed, runs, signal: AbortSignal.any([signal, context.signal]) });
    };
    for (const [sharing, concurrent] of Object.entries(CONCURRENT)) {
      const members = plan.checks.filter(({ check }) => (check.sharing ?? 'shared') === sharing);
      if (members.length === 0) continue;
      describe(sharing, { concurrent }, () => {
        for (const planned of members) {
          const { id, requirement } = planned.check;
          test(`${requirement.section} ${id}`, one(planned), CHECK_LIMIT_MS + 10_000);
        }
      });
    }
  });
}

/** True for checks that run at the same time; checks that disturb the target come last, as in `muster check`. */
const CONCURRENT: Readonly<Record<Sharing, boolean>> = {
  shared: true,
  publishing: false,
  exclusive: false,
  disruptive: false,
};

async function decide<Context>(
  check: Check<Context>,
  target: OpenedTarget<Context>,
  test: TestContext,
  run: { session: Session; seed: number; runs: number; signal: AbortSignal },
): Promise<void> {
  const { redactor = new Redactor() } = target;
  const recorder = new Recorder(redactor);
  const context = (signal: AbortSignal): Context => target.context(recorder, signal);
  const ended = await runCheck({ ...run, check, context, recorder, limitMs: CHECK_LIMIT_MS });
  const result = presentableResult(redactor.value(ended));
  for (const observation of result.observations ?? []) await test.annotate(printable(observation), 'observed');
  switch (result.outcome) {
    case 'not_applicable':
    case 'undecided':
      return test.skip(printable(result.reason ?? ''));
    case 'warn':
      await test.annotate(findingText(result), 'warning');
      return;
    case 'fail':
    case 'blocked': {
      const failure = new Error(`${result.outcome === 'fail' ? '' : 'blocked: '}${findingText(result)}`);
      // Removes the stack, which points into Muster and not into the target.
      failure.stack = failure.message;
      throw failure;
    }
  }
}
