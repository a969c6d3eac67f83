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
import { coverageOf, openOfProfile, unmetDemands } from '../runner/coverage.ts';
import { differenceInWords, differences } from '../runner/declarations.ts';
import { makePlan, type Plan, refuseWriting } from '../runner/plan.ts';
import { presentableResult, resultOf } from '../runner/results.ts';
import { History } from '../runner/rules.ts';
import { CHECK_LIMIT_MS, type CheckRun, runCheck } from '../runner/run-check.ts';
import { Session } from '../runner/session.ts';
import { CAPABILITIES, type Check, type CheckResult, type Sharing, type Suite } from '../runner/types.ts';
import type { OpenedTarget } from '../targets/opened.ts';
import type { CheckOptions } from './library.ts';

/**
 * Registers each check as a test. A failed MUST or a blocked check fails the test, a failed SHOULD adds an annotation
 * and fails the test only by `failOn` or by the profile, and a check that decided nothing is skipped with its reason.
 * The suite fails if a demand is unmet, or if `profile` is given and not decided.
 */
export function describeSuite<Context>(
  suite: Suite<Context>,
  open: () => Promise<OpenedTarget<Context>>,
  options: Omit<CheckOptions, 'repeat'> = {},
): void {
  const { seed = randomInt(2 ** 31), signal = new AbortController().signal, demands, ...planOptions } = options;
  // Registers with all capabilities, because the target opens later; each test skips itself if the target lacks one.
  const all = makePlan(suite, { ...planOptions, capabilities: new Set(CAPABILITIES) });
  const { runs = all.runs } = options;
  // Keeps the order of the groups, because rules judge the traffic of the groups before them.
  describe(`muster ${suite.api} (seed ${seed})`, { shuffle: false }, () => {
    let target: OpenedTarget<Context> | undefined;
    let plan: Plan<Context> | undefined;
    const history = new History(all.checks.map(({ check }) => check));
    const session = new Session(undefined, undefined, all.shrinkMs, history);
    const results = new Map<string, CheckResult>();
    beforeAll(async () => {
      target = await open();
      const { capabilities } = target;
      refuseWriting(planOptions, capabilities);
      if (target.unreachable !== undefined) throw new Error(printable(target.unreachable));
      plan = makePlan(suite, { ...planOptions, capabilities, readOnly: !capabilities.has('write') });
    }, CHECK_LIMIT_MS);
    afterAll(async () => {
      await target?.[Symbol.asyncDispose]();
      // Fails if the target is not as declared, because checks that rely on the declaration then mean nothing.
      const untrue = differences(session.declarations.all).map(differenceInWords);
      if (untrue.length > 0) throw new Error(printable(`not as declared: ${untrue.join('; ')}`));
      if (target === undefined || plan === undefined) return;
      const capabilities = [...target.capabilities];
      const ended = [...results.values()];
      // A filter of vitest, such as -t, leaves checks without a result.
      const filtered = ended.length < plan.checks.length ? ['a filter of vitest'] : [];
      const ran = { ...plan, narrowedBy: [...plan.narrowedBy, ...filtered] };
      const unmet = [
        ...unmetDemands(demands ?? {}, coverageOf(ran, ended, capabilities), capabilities),
        ...openOfProfile(ran, coverageOf(ran, ended, capabilities, { ofProfile: true })),
      ];
      if (unmet.length > 0) throw new Error(printable(unmet.join('; ')));
    });

    const one = (check: Check<Context>) => async (context: TestContext) => {
      const planned = plan?.checks.find((each) => each.check === check);
      if (target === undefined || planned === undefined) throw new Error('the target was not opened');
      const { skip, failsBy } = planned;
      if (skip !== undefined) {
        results.set(check.id, resultOf(check, { outcome: 'not_applicable', duration_ms: 0, reason: skip }));
        return context.skip(skip);
      }
      const limits = { session, seed, runs, signal: AbortSignal.any([signal, context.signal]) };
      await decide(check, target, context, { ...limits, isFailing: failsBy !== undefined, results });
    };
    for (const [sharing, concurrent] of Object.entries(CONCURRENT)) {
      const members = all.checks.filter(
        ({ check }) => (check.rule ? 'rules' : (check.sharing ?? 'shared')) === sharing,
      );
      if (members.length === 0) continue;
      describe(sharing, { concurrent }, () => {
        for (const { check } of members)
          test(`${check.requirement.section} ${check.id}`, one(check), CHECK_LIMIT_MS + 10_000);
      });
    }
  });
}

/** Groups of checks in the order of their run; true for a group whose checks run at the same time. */
const CONCURRENT: Readonly<Record<Sharing | 'rules', boolean>> = {
  shared: true,
  publishing: false,
  exclusive: false,
  disruptive: false,
  rules: false,
};

async function decide<Context>(
  check: Check<Context>,
  target: OpenedTarget<Context>,
  test: TestContext,
  run: Pick<CheckRun<Context>, 'session' | 'seed' | 'runs' | 'signal'> & {
    isFailing: boolean;
    results: Map<string, CheckResult>;
  },
): Promise<void> {
  const { redactor = new Redactor() } = target;
  const recorder = new Recorder(redactor, check.outsideApi === true ? undefined : run.session.history.of(check.id));
  const context = (signal: AbortSignal): Context => target.context(recorder, signal);
  const ended = await runCheck({ ...run, check, context, recorder, limitMs: CHECK_LIMIT_MS });
  const result = presentableResult(redactor.value(ended));
  run.results.set(check.id, result);
  for (const observation of result.observations ?? []) await test.annotate(printable(observation), 'observed');
  const { outcome, reason = '' } = result;
  if (outcome === 'not_applicable' || outcome === 'undecided') return test.skip(printable(reason));
  if (outcome === 'warn') await test.annotate(findingText(result), 'warning');
  if (outcome !== 'fail' && outcome !== 'blocked' && !(outcome === 'warn' && run.isFailing)) return;
  const failure = new Error(`${outcome === 'blocked' ? 'blocked: ' : ''}${findingText(result)}`);
  // Removes the stack, which points into Muster and not into the target.
  failure.stack = failure.message;
  throw failure;
}
