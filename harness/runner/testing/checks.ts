import { Redactor } from '../../client/redact.ts';
import { defined } from '../../common/defined.ts';
import { checks, requirement, suite } from '../define.ts';
import { makePlan } from '../plan.ts';
import { type RunOptions, runSuite } from '../run.ts';
import type { Capability, Check, CheckContext, Level, Report, TargetDescription } from '../types.ts';

export const target: TargetDescription = { kind: 'test', address: 'nowhere', capabilities: [], control: 'none' };
export const define = checks<object>();

export function one(run: (context: CheckContext) => Promise<void>, level: Level = 'MUST'): Check<object> {
  return define(
    requirement({
      id: `test.${level}`,
      level,
      section: '6.2',
      since: '2026-11-21',
      text: 'Something holds.',
    }),
    {},
    run,
  );
}

export function run(
  list: Check<object>[],
  {
    capabilities,
    fast,
    ...options
  }: Partial<RunOptions<object>> & { capabilities?: Capability[]; fast?: boolean } = {},
): Promise<Report> {
  const all = suite<object>('device', [list]);
  const plan = makePlan(all, { capabilities: new Set(capabilities), ...defined({ fast }) });
  return runSuite(all, {
    plan,
    target,
    context: () => ({}),
    redactor: new Redactor(),
    seed: 1,
    version: '0',
    ...options,
  });
}

export const outcome = async (check: Check<object>): Promise<string | undefined> =>
  (await run([check])).checks[0]?.outcome;
