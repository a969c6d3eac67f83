/** What is wrong with a platform or an agent is found, and the report says what it is. */
import { describe, expect, it } from 'vitest';
import type { CheckResult, Report } from '../../harness/runner/types.ts';
import { systemDefects } from '../../simulators/defects/platform/index.ts';
import { referenceBehaviour } from '../../simulators/platform/index.ts';
import { simulatePair } from '../../simulators/platform/testing/pair.ts';
import { lines } from '../platform/testing/run.ts';
import { systemSuite } from './index.ts';
import { runSystemSuite } from './testing/run.ts';

/** The suite waits four times as long for an effect. */
const IMPATIENT_MS = 1500;

/** What the report has to say of each defect, so that a reader finds the fault. */
const TELLS: Record<string, RegExp> = {
  'sync-not-requested':
    /deployment\.deployed of dpl_\w+ on the device's event stream.* on the platform: .*activity queued/,
  'reports-dropped': /dpl_\w+ to be deployed on the platform.*activity queued/,
  'failure-not-archived': /to end failed and archived.*activity queued, error failed, target deployed/,
  'target-not-replaced': /to be archived on the platform.*activity queued, error none, target deployed/,
  'replaced-stays-deployed': /to be archived on the platform.*activity deployed, error none, target archived/,
  'queued-is-deployed': /to be queued on the platform.*activity deployed/,
  'ping-not-sent': /code "success" from the device, which is online.*"code":"timeout"/,
  'ping-answered-in-its-place': /no success from a device that is offline.*"code":"success"/,
};

const isRed = ({ outcome, level }: CheckResult): boolean =>
  level !== 'INFO' && (outcome === 'fail' || outcome === 'warn');

describe('the suite', () => {
  const caught = new Map<string, Report>();

  const defects = systemDefects.map(({ name, breaks, behaviour }) => {
    return { name, breaks, start: () => simulatePair({ platform: behaviour(referenceBehaviour) }) };
  });

  describe.concurrent('against a platform or an agent that', () => {
    it.for(defects)('has the defect $name fails what it breaks, and the report says why', async (defect) => {
      await using pair = await defect.start();
      const report = await runSystemSuite(pair, { only: defect.breaks, patienceMs: IMPATIENT_MS });
      caught.set(defect.name, report);
      const red = report.checks.filter(isRed);
      // Every requirement that the defect names fails in at least one of its checks.
      expect(new Set(red.map((check) => check.requirement_id))).toEqual(new Set(defect.breaks));
      const findings = lines({ ...report, checks: red }, ['fail', 'warn']).join('\n');
      expect(findings).toMatch(TELLS[defect.name] ?? /^no defect/);
      const undecided = report.checks.filter((check) => check.blocked_by === undefined);
      expect(lines({ ...report, checks: undecided }, ['blocked', 'not_applicable'])).toEqual([]);
    });
  });

  describe.concurrent('against an agent that', () => {
    it('goes on retrying does not call that a failure', async () => {
      await using pair = await simulatePair({ habits: { retriesForEver: true } });
      const report = await runSystemSuite(pair, { only: ['system.failed'], patienceMs: IMPATIENT_MS });
      expect(lines(report, ['not_applicable']).join()).toMatch(/goes on retrying.*error retrying/);
    });
  });

  it('has no check that passes on all of these defects', () => {
    const red = new Set([...caught.values()].flatMap(({ checks }) => checks.filter(isRed)).map(({ id }) => id));
    expect(systemSuite.checks.map(({ id }) => id).filter((id) => !red.has(id))).toEqual([]);
  });
});
