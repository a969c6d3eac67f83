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
import { coverageOf, unmetDemands } from '../runner/coverage.ts';
import { differenceInWords, differences } from '../runner/declarations.ts';
import { makePlan, type Planned, refuseWriting } from '../runner/plan.ts';
import { presentableResult } from '../runner/results.ts';
import { History } from '../runner/rules.ts';
import { CHECK_LIMIT_MS, runCheck } from '../runner/run-check.ts';
import { Session } from '../runner/session.ts';
import { CAPABILITIES, type Check, type CheckResult, type Sharing, type Suite } from '../runner/types.ts';
import type { OpenedTarget } from '../targets/opened.ts';
import type { CheckOptions } from './library.ts';

/**
 * Registers each check as a test. A failed MUST or a blocked check fails the test, a failed SHOULD adds an annotation
 * and fails the test only by `failOn`, and a check that decided nothing is skipped with its reason.
 */
export function describeSuite<Context>(
  suite: Suite<Context>,
  open: () => Promise<OpenedTarget<Context>>,
  options: CheckOptions = {},
): void {
  const { seed = randomInt(2 ** 31), signal = new AbortController().signal, demands, ...planOptions } = options;
  // Plans with all capabilities, because the target opens later; each test skips itself if the target lacks one.
  const plan = makePlan(suite, { ...planOptions, capabilities: new Set(CAPABILITIES) });
  const { runs = plan.runs } = options;
  // Keeps the order of the groups, because rules judge the traffic of the groups before them.
  describe(`muster ${suite.api} (seed ${seed})`, { shuffle: false }, () => {
    let target: OpenedTarget<Context> | undefined;
    const history = new History(plan.checks.map(({ check }) => check));
    const session = new Session(undefined, undefined, plan.shrinkMs, history);
    const results = new Map<string, CheckResult>();
    beforeAll(async () => {
      target = await open();
      refuseWriting(planOptions, target.capabilities);
      if (target.unreachable !== undefined) throw new Error(printable(target.unreachable));
    }, CHECK_LIMIT_MS);
    afterAll(async () => {
      await target?.[Symbol.asyncDispose]();
      // Fails if the target is not as declared, because checks that rely on the declaration then mean nothing.
      const untrue = differences(session.declarations.all).map(differenceInWords);
      if (untrue.length > 0) throw new Error(printable(`not as declared: ${untrue.join('; ')}`));
      const capabilities = [...(target?.capabilities ?? [])];
      const coverage = coverageOf(plan, [...results.values()], capabilities);
      const unmet = unmetDemands(demands ?? {}, coverage, capabilities);
      if (target !== undefined && unmet.length > 0) throw new Error(unmet.join('; '));
    });

    const one = (planned: Planned<Context>) => async (context: TestContext) => {
      if (target === undefined) throw new Error('the target was not opened');
      const { check, skip, failsBy } = planned;
      const needs = new Set([...(check.needs ?? []), ...(check.writes === true ? (['write'] as const) : [])]);
      const missing = [...needs].filter((need) => target?.capabilities.has(need) !== true);
      if (skip !== undefined) return context.skip(skip);
      if (missing.length > 0) return context.skip(`needs ${missing.join(', ')}, which the target does not declare`);
      // The plan has all capabilities, so that its profile says nothing about the target.
      const isFailing = failsBy?.startsWith('profile ') === false;
      const limits = { session, seed, runs, signal: AbortSignal.any([signal, context.signal]) };
      await decide(check, target, context, { ...limits, isFailing, results });
    };
    for (const [sharing, concurrent] of Object.entries(CONCURRENT)) {
      const members = plan.checks.filter(
        ({ check }) => (check.rule ? 'rules' : (check.sharing ?? 'shared')) === sharing,
      );
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

/** True for groups whose checks run at the same time; in the order of the groups. */
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
  run: {
    session: Session;
    seed: number;
    runs: number;
    signal: AbortSignal;
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
