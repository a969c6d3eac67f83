import { ConflictError } from '../../../simulators/defects/define.ts';
import { FLOODS } from '../../../simulators/defects/null.ts';
import { defined } from '../../common/defined.ts';
import { behavioursWith, type Changes } from '../subjects/simulators.ts';
import { evaluateSubject, type RunConditions, type Verdict } from './evaluate.ts';
import type { Subject } from './subjects.ts';

export function sampleOf(subjects: readonly Subject[], share: number, next: () => number): readonly Subject[] {
  if (share === 1) return subjects;
  const quick = subjects.filter(({ slow }) => slow !== true);
  const families = Map.groupBy(shuffled(quick, next), ({ api, kind, name, breaks }) => {
    // Keeps all correct targets, because only they reveal false findings.
    if (kind === 'reference' || kind === 'variant') return undefined;
    const floods = kind === 'null' && FLOODS.some((flood) => flood === name);
    return [api, kind, floods, breaks?.[0]].join(' ');
  });
  const drawn = [...families].flatMap(([family, members]) =>
    members.slice(0, family === undefined ? members.length : Math.ceil(members.length / share)),
  );
  return subjects.filter((subject) => drawn.includes(subject));
}

export const shuffled = <T>(items: readonly T[], next: () => number): T[] =>
  items
    .map((item) => ({ item, order: next() }))
    .toSorted((a, b) => a.order - b.order)
    .map(({ item }) => item);

// A bundle combines several variants in one run; after a finding, its halves run again.

export function bundlesOf(subjects: readonly Subject[], next: () => number): Subject[] {
  const bundles: Subject[][] = [];
  for (const subject of shuffled(subjects, next)) {
    // Six variants at most, because in larger bundles variants hide the effects of others.
    const open = bundles.find((members) => members.length < 6 && fits(subject, members));
    if (open === undefined) bundles.push([subject]);
    else open.push(subject);
  }
  return bundles.map(bundleOf);
}

function fits(subject: Subject, members: readonly Subject[]): boolean {
  const all = [subject, ...members];
  if (all.some(({ api, together, slow }) => together === undefined || slow === true || api !== subject.api))
    return false;
  if (new Set(all.flatMap(({ together }) => together?.changes.transport ?? [])).size > 1) return false;
  try {
    behavioursWith(changesOf(all));
    return true;
  } catch (error) {
    if (error instanceof ConflictError) return false;
    throw error;
  }
}

function changesOf(members: readonly Subject[]): Changes {
  const all = members.map(({ together }) => together?.changes ?? {});
  return {
    device: all.flatMap(({ device = [] }) => device),
    platform: all.flatMap(({ platform = [] }) => platform),
    agent: all.flatMap(({ agent = [] }) => agent),
    client: all.flatMap(({ client = [] }) => client),
    ...defined({ transport: all.find(({ transport }) => transport !== undefined)?.transport }),
  };
}

function bundleOf(members: readonly Subject[]): Subject {
  const [first] = members;
  if (first?.together === undefined || members.length === 1) return first as Subject;
  const { run } = first.together;
  const changes = changesOf(members);
  return {
    api: first.api,
    kind: first.kind,
    name: members.map(({ name }) => name).join(' + '),
    members,
    ...(first.breaks === undefined ? {} : { breaks: members.flatMap(({ breaks = [] }) => breaks) }),
    run: (narrowed) => run(changes, narrowed),
  };
}

export function pairsOf(defects: readonly Subject[], next: () => number, most: number): Subject[] {
  const all = defects.flatMap((one, index) => defects.slice(index + 1).map((other) => ({ one, other })));
  return shuffled(all, next)
    .values()
    .filter(({ one, other }) => !isSameRequirement(one, other) && fits(one, [other]))
    .take(most)
    .map(({ one, other }) => bundleOf([one, other]))
    .toArray();
}

const isSameRequirement = ({ breaks = [] }: Subject, other: Subject): boolean =>
  breaks.some((broken) => other.breaks?.some((id) => id.startsWith(broken) || broken.startsWith(id)));

export async function evaluateApart(subject: Subject, manner?: RunConditions): Promise<Verdict[]> {
  const verdict = await evaluateSubject(subject, manner);
  const { members = [] } = subject.kind === 'variant' ? subject : {};
  if (verdict.problems.length === 0 || members.length === 0) return [verdict];
  const middle = Math.ceil(members.length / 2);
  const parts: Verdict[] = [];
  for (const half of [members.slice(0, middle), members.slice(middle)])
    parts.push(...(await evaluateApart(bundleOf(half), manner)));
  if (parts.some(({ problems }) => problems.length > 0)) return parts;
  const problems = verdict.problems.map(({ what, todo }) => ({ what: `only together: ${what}`, todo }));
  return [{ ...verdict, problems }];
}
