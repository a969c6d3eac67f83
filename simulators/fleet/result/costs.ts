/** What the processes of a run cost: memory and processor by what they are for, and of one robot. */
import Type, { type Static } from 'typebox';
import { oneOf } from '../../../harness/contract/shape.ts';
import { mebibytes } from '../measure/cgroup.ts';
import { MEMORY_KINDS } from '../measure/processes.ts';

export const ROLES = ['parent', 'workers', 'platform'] as const;
/** What a process of a run is for. The platform is Muster's own, where the run started it. */
export type Role = (typeof ROLES)[number];

const part = Type.Object({
  processes: Type.Integer({ description: 'At the same time, at most' }),
  peak_bytes: Type.Integer({ description: 'The most that was seen. Parts have theirs at different moments' }),
  end_bytes: Type.Integer({ description: 'At the end, before the robots are stopped' }),
  cpu_seconds: Type.Number({ description: 'User and system time, from the start of the processes' }),
  robot_whole_bytes: Type.Union([Type.Integer(), Type.Null()], {
    description: 'Memory at the peak of all processes together, over the robots that had been online by then',
  }),
  robot_marginal_bytes: Type.Union([Type.Integer(), Type.Null()], {
    description: 'Of one robot more: growth over the ramp, from the first robot to the last',
  }),
});
export type CostPart = Static<typeof part>;

/** Sampled by the parent while the run goes on: /proc on Linux, `ps` elsewhere. The kernel's memory and files are not in it. */
export const runCosts = Type.Object({
  memory: oneOf(MEMORY_KINDS, 'PSS: shared pages count once. RSS, where PSS cannot be read: in each process'),
  robots: Type.Integer({ description: 'Robots that had been online by the peak' }),
  parts: Type.Object({
    parent: part,
    workers: Type.Optional(part),
    platform: Type.Optional(part),
    whole: part,
  }),
});
export type RunCosts = Static<typeof runCosts>;

/**
 * The sum over shards, whose peaks need not have been at the same moment: no less than what all of them took. What one robot costs is
 * the mean over robots. Undefined when a shard has none, as results of older versions.
 */
export function mergeCosts(all: readonly (RunCosts | undefined)[]): RunCosts | undefined {
  const known = all.filter((costs) => costs !== undefined);
  if (known.length === 0 || known.length < all.length) return undefined;
  const merged = (name: Role | 'whole'): CostPart | undefined => {
    const parts = known.flatMap(({ parts: { [name]: of }, robots }) => (of === undefined ? [] : [{ of, robots }]));
    if (parts.length === 0) return undefined;
    const sum = (of: (part: CostPart) => number): number => parts.reduce((total, { of: each }) => total + of(each), 0);
    return {
      processes: sum((of) => of.processes),
      peak_bytes: sum((of) => of.peak_bytes),
      end_bytes: sum((of) => of.end_bytes),
      cpu_seconds: sum((of) => of.cpu_seconds),
      robot_whole_bytes: mean(parts.map(({ of, robots }) => [of.robot_whole_bytes, robots])),
      robot_marginal_bytes: mean(parts.map(({ of, robots }) => [of.robot_marginal_bytes, robots])),
    };
  };
  const [parent, workers, platform, whole] = [merged('parent'), merged('workers'), merged('platform'), merged('whole')];
  if (parent === undefined || whole === undefined) return undefined;
  return {
    memory: known.some(({ memory }) => memory === 'RSS') ? 'RSS' : 'PSS',
    robots: known.reduce((total, { robots }) => total + robots, 0),
    parts: { parent, ...(workers && { workers }), ...(platform && { platform }), whole },
  };
}

/** Weighted; null without a value. */
function mean(values: readonly (readonly [value: number | null, weight: number])[]): number | null {
  const known = values.flatMap(([value, weight]) => (value === null || weight === 0 ? [] : [{ value, weight }]));
  const weight = known.reduce((total, of) => total + of.weight, 0);
  return weight === 0 ? null : Math.round(known.reduce((total, of) => total + of.value * of.weight, 0) / weight);
}

/** The parts that there are, in the order in which people ask for them; `whole` last. */
export const costParts = ({ parts }: RunCosts): [name: Role | 'whole', part: CostPart][] =>
  ([...ROLES, 'whole'] as const).flatMap((name) => (parts[name] === undefined ? [] : [[name, parts[name]]]));

/** For people. */
export const kibibytes = (bytes: number): string => `${(bytes / 1024).toFixed(1)} KiB`;

/** One line for people. */
export function costLine(costs: RunCosts): string {
  const { whole } = costs.parts;
  const parts = costParts(costs).filter(([name]) => name !== 'whole');
  const each = [
    ...(whole.robot_whole_bytes === null ? [] : [`a robot ${kibibytes(whole.robot_whole_bytes)}`]),
    // Too few robots to see it beside what the processes do anyway.
    ...((whole.robot_marginal_bytes ?? 0) > 0 ? [`one more ${kibibytes(whole.robot_marginal_bytes ?? 0)}`] : []),
  ].join(', ');
  return [
    `${mebibytes(whole.peak_bytes)} ${costs.memory} (${parts.map(([name, of]) => `${name} ${Math.round(of.peak_bytes / 2 ** 20)}`).join(', ')})`,
    ...(each === '' ? [] : [each]),
    `${whole.cpu_seconds.toFixed(1)} CPU s`,
  ].join(' · ');
}
