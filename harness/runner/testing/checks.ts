import type { Happening } from '../../client/happening.ts';
import { defined } from '../../common/defined.ts';
import { Redactor } from '../../common/redact.ts';
import { checks, requirement, suite } from '../define.ts';
import { makePlan } from '../plan.ts';
import { type RunOptions, runSuite } from '../run.ts';
import type { Capability, Check, CheckContext, Level, Report, TargetDescription } from '../types.ts';

const target: TargetDescription = { kind: 'test', address: 'nowhere', capabilities: [], control: 'none' };
const define = checks<object>();

export const declared = (
  id: string,
  { section = '6.2', ...options }: Parameters<typeof define>[1] & { section?: string } = {},
  body: Check<object>['run'] = async () => {},
  level: Level = 'MUST',
): Check<object> =>
  define(requirement({ id, level, section, since: '2026-11-21', text: 'It holds.' }), { least: {}, ...options }, body);

export const one = (body: Check<object>['run'], level: Level = 'MUST'): Check<object> =>
  declared(`test.${level}`, {}, body, level);

type Failing = Parameters<typeof define>[1] & { id?: string; level?: Level; how?: (run: number) => string | Error };

/** Check that fails in the given runs, by default in all; `how` gives the finding's `actual`, or an error to throw. */
export function failing(
  runs?: readonly number[],
  { id = 'test.counted', level = 'MUST', how = (at) => `run ${at}`, ...options }: Failing = {},
) {
  const seen = { runs: 0 };
  const body = async (t: CheckContext): Promise<void> => {
    seen.runs += 1;
    if (runs?.includes(seen.runs) === false) return;
    const what = how(seen.runs);
    if (what instanceof Error) throw what;
    t.must(false, { expected: 'an answer', actual: what });
  };
  return { check: declared(id, options, body, level), seen };
}

export const answered = (text: string): Happening => ({
  kind: 'answer',
  asked: { method: 'GET', url: `http://target/${text}`, duration_ms: 1, curl: `curl http://target/${text}` },
  path: `/${text}`,
  answer: { status: 200, headers: {}, text, json: undefined },
});

type Given = Partial<RunOptions<object>> & { capabilities?: Capability[]; fast?: boolean };

export function run(list: Check<object>[], { capabilities, fast, ...options }: Given = {}): Promise<Report> {
  const all = suite<object>('device', [list]);
  const plan = makePlan(all, { capabilities: new Set(capabilities), ...defined({ fast }) });
  const usual = { target, redactor: new Redactor(), seed: 1, version: '0', varied: false };
  return runSuite(all, { plan, ...usual, context: () => ({}), ...options });
}

export const planOf = <C extends { id: string }>(checks: readonly C[]) => ({
  size: checks.length,
  profileSize: checks.length,
  profile: { name: 'full' },
  narrowedBy: [],
  checks: checks.map((check) => ({ check, inProfile: true })),
});
