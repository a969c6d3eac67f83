/** When each check of a run starts: in lanes, and after its premises. */
import type { Check, CheckResult, Sharing } from './types.ts';

type Lane = Sharing | 'slow';

const laneOf = ({ sharing = 'shared', slow = false }: Pick<Check<never>, 'sharing' | 'slow'>): Lane =>
  sharing === 'shared' && slow ? 'slow' : sharing;

/** As much of a check as decides which others it rests on. */
export type Premised = Pick<Check<never>, 'id' | 'premises'>;

/** The checks among `all` that one rests on. */
export const premisesOf = <C extends Premised>({ premises = [] }: C, all: readonly C[]): C[] =>
  premises.flatMap((premise) => all.filter(({ id }) => id === premise));

/** The checks with each premise before what rests on it, otherwise in their order. Throws Error for a circle. */
export function inOrder<C extends Premised>(checks: readonly C[]): C[] {
  const sorted = new Set<C>();
  const place = (check: C, path: readonly string[]): void => {
    if (sorted.has(check)) return;
    if (path.includes(check.id)) throw new Error(`premises form a circle: ${[...path, check.id].join(' → ')}`);
    for (const premise of premisesOf(check, checks)) place(premise, [...path, check.id]);
    sorted.add(check);
  };
  for (const check of checks) place(check, []);
  return [...sorted];
}

/**
 * Runs the checks: slow ones and `concurrency` shared ones at once, beside them one exclusive check at a time, disruptive ones alone at
 * the end. A check starts when the results of its premises are known, which `runOne` gets. It must not reject.
 */
export async function schedule<Context>(
  checks: readonly Check<Context>[],
  concurrency: number,
  runOne: (check: Check<Context>, premises: readonly CheckResult[]) => Promise<CheckResult>,
): Promise<void> {
  const ordered = inOrder(checks);
  const results = new Map(ordered.map((check) => [check, Promise.withResolvers<CheckResult>()]));
  const start = async (check: Check<Context>): Promise<void> => {
    // In this order no lane is full of checks that wait for one behind them.
    const premises = await Promise.all(
      premisesOf(check, ordered).map((premise) => results.get(premise)?.promise as Promise<CheckResult>),
    );
    results.get(check)?.resolve(await runOne(check, premises));
  };
  const lanes = Map.groupBy(ordered, laneOf);
  await Promise.all([
    ...(lanes.get('slow') ?? []).map(start),
    pool(lanes.get('shared') ?? [], concurrency, start),
    pool(lanes.get('exclusive') ?? [], 1, start),
  ]);
  await pool(lanes.get('disruptive') ?? [], 1, start);
}

async function pool<T>(items: readonly T[], width: number, work: (item: T) => Promise<void>): Promise<void> {
  const queue = items.values();
  await Promise.all(
    Array.from({ length: Math.min(width, items.length) }, async () => {
      for (const item of queue) await work(item);
    }),
  );
}

const ORDER: readonly Sharing[] = ['shared', 'exclusive', 'disruptive'];

/** What is wrong with the premises of a suite's checks: unknown ones, circles, and premises that start later than what rests on them. */
export function premiseProblems<Context>(checks: readonly Check<Context>[]): string[] {
  const place = ({ sharing = 'shared' }: Check<Context>): number => ORDER.indexOf(sharing);
  const problems = checks.flatMap((check) => [
    ...(check.premises ?? [])
      .filter((premise) => !checks.some(({ id }) => id === premise))
      .map((premise) => `${check.id} rests on ${premise}, which no check is called`),
    ...premisesOf(check, checks)
      .filter((premise) => place(premise) > place(check))
      .map((premise) => `${check.id} rests on ${premise.id}, which runs in a later lane`),
  ]);
  try {
    inOrder(checks);
  } catch (error) {
    problems.push(error instanceof Error ? error.message : String(error));
  }
  return problems;
}
