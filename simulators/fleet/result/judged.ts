/** Shape of the field `answers` in `result.json`: findings in the platform's answers under load. */
import type { Static } from 'typebox';
import { oneOf } from '../../../harness/contract/shape.ts';
import { Type } from '../../../harness/contract/type.ts';
import { thousands } from '../measure/costs.ts';

const finding = Type.Object({
  id: Type.String({ description: 'Of the rule; muster explain has its words' }),
  level: oneOf(['MUST', 'SHOULD']),
  requirement: Type.String(),
  count: Type.Integer({ description: 'Judged answers that broke it' }),
  phase: Type.String({ description: 'In which the first of them came' }),
  expected: Type.String(),
  actual: Type.String(),
  counterexample: Type.Optional(Type.String()),
  request: Type.String({ description: 'Method and address of the first one' }),
  curl: Type.String({ description: 'A shell line that asks the same again' }),
});
type JudgedFinding = Static<typeof finding>;

export const judged = Type.Object(
  {
    seen: Type.Integer({ description: 'Whole answers of the Platform API to the fleet' }),
    judged: Type.Integer({ description: 'Those of them that the rules were given: a sample' }),
    dropped: Type.Integer({ description: 'Those that were in the sample, and not judged in time' }),
    cpu_share: Type.Number({ description: 'Of one processor, that the judging took; of shards, the largest' }),
    findings: Type.Array(finding, { description: 'One for each rule that was broken' }),
  },
  { description: 'Of a run with --judge' },
);
export type Judged = Static<typeof judged>;

export const isWrong = (of: Judged | undefined): boolean => of?.findings.some(({ level }) => level === 'MUST') === true;

export function mergeJudged(parts: readonly (Judged | undefined)[]): Judged | undefined {
  const all = parts.filter((part) => part !== undefined);
  if (all.length === 0) return undefined;
  const sum = (figure: (part: Judged) => number): number => all.reduce((total, part) => total + figure(part), 0);
  const findings = new Map<string, JudgedFinding>();
  for (const each of all.flatMap((part) => part.findings)) {
    const first = findings.get(each.id) ?? { ...each, count: 0 };
    findings.set(each.id, { ...first, count: first.count + each.count });
  }
  return {
    seen: sum((part) => part.seen),
    judged: sum((part) => part.judged),
    dropped: sum((part) => part.dropped),
    cpu_share: Math.max(...all.map((part) => part.cpu_share)),
    findings: [...findings.values()],
  };
}

export function judgedText({ seen, judged: read, dropped, cpu_share }: Judged): string {
  const share = seen === 0 ? '' : ` (${percent(read / seen)})`;
  const late = dropped === 0 ? '' : `, ${thousands(dropped)} dropped`;
  return `${thousands(read)} of ${thousands(seen)} answers${share}${late} · ${percent(cpu_share)} of a processor`;
}

export const foundText = ({ level, id, count, phase, expected, actual }: JudgedFinding): string =>
  `${level} ${id}: ${count === 1 ? 'one answer' : `${thousands(count)} answers`}, first in ${phase}: ` +
  `expected ${expected}; got ${actual}`;

const percent = (share: number): string => `${Number((100 * share).toPrecision(2))} %`;
