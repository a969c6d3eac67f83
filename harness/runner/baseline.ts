import { existsSync } from 'node:fs';
import type { Static } from 'typebox';
import { isCollection, isNode, stringify } from 'yaml';
import { writingTo } from '../client/errors.ts';
import { printable } from '../common/terminal.ts';
import { UsageError } from '../common/usage.ts';
import { writeWhole } from '../common/user-files.ts';
import { readYaml } from '../common/yaml.ts';
import { DAY_FORM, exact, oneOf, shape, Type } from '../contract/shape.ts';
import { isFinding, rateInWords } from './attempts.ts';
import { comparableText, type FindingText } from './causes.ts';
import { ALSO_WHEN_ASKED } from './form-variation.ts';
import type { CheckResult } from './types.ts';

const words = (description: string) => Type.String({ minLength: 1, description });

/** Published as `fixtures/schemas/baseline.schema.json`. */
export const baselineFile = shape(
  'baseline',
  Type.Object(
    {
      $schema: Type.Optional(Type.String()),
      known: Type.Array(
        exact({
          check: words('Id of a check (`muster list`)'),
          finding: Type.Optional(
            Type.Object(
              { expected: Type.String(), actual: Type.String() },
              {
                additionalProperties: false,
                description:
                  'The finding that is excused, as a report has it; ids and numbers do not count. Without it, ' +
                  'whatever the check finds is excused, as in files of older versions',
              },
            ),
          ),
          kind: Type.Optional(
            oneOf(
              ['bug', 'waiver', 'erratum', 'flaky'],
              'bug (the default): to be mended. waiver: accepted. erratum: the specification is to change. flaky: ' +
                'fails now and then, so that the check may pass as well',
            ),
          ),
          reason: words('Why it fails, for the readers of reports'),
          owner: Type.Optional(words('Who answers for it')),
          expires: Type.String({ pattern: DAY_FORM, description: 'Last day on which it is excused (YYYY-MM-DD)' }),
        }),
      ),
    },
    {
      additionalProperties: false,
      title: 'Muster baseline',
      description: 'Findings that are known, with a reason and for a time',
    },
  ),
);

export interface Baseline extends Readonly<Pick<Static<typeof baselineFile.schema>, 'known'>> {
  /** Position of each entry in the file, e.g. `lines 3-9 of muster.baseline.yaml`. */
  readonly places?: ReadonlyMap<BaselineEntry, string>;
}
export type BaselineEntry = Static<typeof baselineFile.schema>['known'][number];

interface Scope {
  api: string;
  ids: readonly string[];
}

/**
 * Sets excused findings to `known` or `flaky`, and checks that pass despite an entry to `fixed`, or to `flaky` if all
 * their entries are flaky and not expired. Adds a `fixed` result for an entry of an unknown check, and for an expired
 * entry of a warning.
 * @param today YYYY-MM-DD
 */
export function applyBaseline(
  results: readonly CheckResult[],
  baseline: Baseline,
  today: string,
  suite: Scope,
): CheckResult[] {
  const entries = Map.groupBy(baseline.known, ({ check }) => check);
  const settled = new Map(
    results.map((result) => [result.id, settle(result, entries.get(result.id) ?? [], today, baseline)]),
  );
  const extra = [...entries].flatMap(([check, [entry]]) => {
    if (entry === undefined || apiOf(check) !== suite.api) return [];
    if (isUnknown(check, suite))
      return [complaint(entry, `no check has this id: correct or remove ${placeOf(entry, baseline)}`)];
    const expired = entries.get(check)?.find((each) => isOver(each, today));
    if (expired === undefined || settled.get(check)?.outcome !== 'warn') return [];
    return [complaint(entry, expiredOn(expired))];
  });
  return [
    ...[...settled.values()].map((result) => {
      const cause = settled.get(result.blocked_by ?? '')?.outcome;
      return cause === 'known' || cause === 'flaky'
        ? { ...result, reason: `${result.reason}, whose failure the baseline excuses` }
        : result;
    }),
    ...extra,
  ];
}

function settle(result: CheckResult, entries: BaselineEntry[], today: string, baseline: Baseline): CheckResult {
  if (entries.length === 0) return result;
  if (isFinding(result)) {
    const fitting = entries.filter((entry) => isEntryFor(entry, result));
    const excuse = fitting.find((entry) => !isOver(entry, today));
    const { fails_by: _, ...excused } = result;
    if (excuse?.kind === 'flaky') return { ...excused, outcome: 'flaky', reason: `failed this time: ${about(excuse)}` };
    if (excuse !== undefined) return { ...excused, outcome: 'known', reason: about(excuse) };
    const [expired] = fitting;
    const others = entries.map(({ finding }) => inWords(finding)).join(', or ');
    const reason = expired ? expiredOn(expired) : `the baseline excuses another finding of this check: ${others}`;
    return { ...result, reason };
  }
  if (result.outcome !== 'pass') return result;
  const stale = entries.filter((entry) => isStale(entry, today));
  const [flaky] = entries;
  if (stale.length === 0 && flaky) return { ...result, outcome: 'flaky', reason: `passed this time: ${about(flaky)}` };
  const where = stale.map((entry) => placeOf(entry, baseline)).join(' and ');
  const excused = stale.map(({ reason }) => reason).join('; ');
  return {
    ...result,
    outcome: 'fixed',
    reason: `holds now: remove ${where}, or run this again with --update-baseline (was excused: ${excused})`,
  };
}

/**
 * False also for `<requirement>.watched`, a rule that only `muster watch` has, because one baseline may serve `check`
 * too.
 */
const isUnknown = (id: string, { ids }: Scope): boolean =>
  !ids.includes(id) &&
  !(id.endsWith('.watched') && ids.some((known) => `${known}.`.startsWith(id.slice(0, -'watched'.length))));

const placeOf = (entry: BaselineEntry, { places }: Baseline): string =>
  places?.get(entry) ?? 'its entry in the baseline';

function complaint(entry: BaselineEntry, reason: string): CheckResult {
  return {
    id: `baseline:${entry.check}`,
    level: 'MUST',
    section: '',
    requirement: 'Every entry of the baseline excuses a check that fails.',
    requirement_id: 'baseline',
    outcome: 'fixed',
    duration_ms: 0,
    reason,
  };
}

function isEntryFor({ finding }: BaselineEntry, result: CheckResult): boolean {
  if (finding === undefined) return true;
  const found = inWords(comparableText(result));
  return found === inWords(finding) || found === inWords(comparableText(finding));
}

export const isExcused = ({ known }: Baseline, result: CheckResult, today: string): boolean =>
  known.some((entry) => entry.check === result.id && !isOver(entry, today) && isEntryFor(entry, result));

/** Ids of checks whose entry names no finding, and so excuses every failure. */
export const oldEntries = ({ known }: Baseline): string[] =>
  known.filter(({ finding }) => finding === undefined).map(({ check }) => check);

const isOver = (entry: BaselineEntry, today: string): boolean => entry.expires < today;
const isStale = (entry: BaselineEntry, today: string): boolean => entry.kind !== 'flaky' || isOver(entry, today);
const expiredOn = (entry: BaselineEntry): string => `its excuse ended on ${entry.expires} (${entry.reason})`;
const apiOf = (id: string): string => id.split('.', 1)[0] ?? '';
const inWords = (finding: FindingText | undefined): string =>
  finding === undefined ? 'any' : `expected ${finding.expected}; actual: ${finding.actual}`;
const about = ({ kind = 'bug', reason, owner, expires }: BaselineEntry): string =>
  `${reason} (${kind}${owner === undefined ? '' : `, owner ${owner}`}, excused until ${expires})`;

export const UNASSIGNED = 'unassigned';

export interface BaselineUpdate extends Baseline {
  readonly changes: readonly string[];
}

export function updatedBaseline(
  results: readonly CheckResult[],
  baseline: Baseline,
  today: string,
  suite: Scope,
): BaselineUpdate {
  const byId = new Map(results.map((result) => [result.id, result]));
  const removed: string[] = [];
  const kept = baseline.known.flatMap((entry): BaselineEntry[] => {
    if (apiOf(entry.check) !== suite.api) return [entry];
    const result = byId.get(entry.check);
    const why = isUnknown(entry.check, suite) ? 'no check has this id' : whyRemoved(entry, result, today);
    if (why === undefined) {
      if (entry.finding !== undefined || result === undefined || !isFinding(result)) return [entry];
      return [{ kind: 'bug', ...entry, finding: comparableText(result) }];
    }
    removed.push(`- ${entry.check}: ${why} (was excused: ${entry.reason})`);
    return [];
  });
  const added = results
    .filter((result) => result.outcome === 'fail' || result.fails_by !== undefined)
    .filter((result) => !isExcused({ known: kept }, result, today))
    .map((result): BaselineEntry => {
      const { id, expected = 'the requirement to hold', actual = 'it does not', rate } = result;
      const isSeldom = rate !== undefined && rate.failed < rate.times;
      const when = isSeldom ? `${today}, ${rateInWords(rate)}` : today;
      // Marks a finding that shows in only one request form as flaky, because another seed may draw another form.
      const kind = isSeldom || expected.includes(ALSO_WHEN_ASKED) ? 'flaky' : 'bug';
      const reason = printable(`found on ${when}: ${inWords({ expected, actual })}`);
      const end = new Date(Date.parse(`${today}T00:00:00Z`) + 30 * 86_400_000);
      const expires = end.toISOString().slice(0, 10);
      return { check: id, finding: comparableText(result), kind, reason, owner: UNASSIGNED, expires };
    });
  const ours = kept.filter(({ check }) => apiOf(check) === suite.api);
  return {
    known: [...kept, ...added].sort((a, b) => a.check.localeCompare(b.check, 'en')),
    changes: [
      ...added.map(({ check, finding }) => `+ ${check}: ${inWords(finding)}`),
      ...ours.map((entry) => `= ${entry.check}: ${about(entry)}`),
      ...removed,
    ],
  };
}

function whyRemoved(entry: BaselineEntry, result: CheckResult | undefined, today: string): string | undefined {
  if (result?.outcome === 'pass' && isStale(entry, today)) return 'holds now';
  return result !== undefined && isFinding(result) && isOver(entry, today) ? 'its time is over' : undefined;
}

/** Throws UsageError for an invalid file, or for a missing file unless `mayBeMissing`. */
export function readBaseline(path: string, options: { mayBeMissing?: boolean } = {}): Baseline {
  if (!existsSync(path)) {
    if (options.mayBeMissing === true) return { known: [] };
    throw new UsageError(`--baseline ${path}: no such file; --update-baseline writes it`);
  }
  const { value: content, document, lines, text } = readYaml('--baseline', path);
  if (!baselineFile.is(content)) {
    const [problem] = baselineFile.problems(content);
    throw new UsageError(
      `--baseline ${path}: ${problem?.path || '/'} ${problem?.message ?? ''}; an entry is {check, finding: ` +
        '{expected, actual}, kind, reason, owner, expires: YYYY-MM-DD}',
    );
  }
  const { known } = content;
  const seen = new Set<string>();
  for (const { check, finding } of known) {
    const name = JSON.stringify([check, inWords(finding)]);
    if (seen.has(name)) throw new UsageError(`--baseline ${path}: ${check} is listed twice with one finding`);
    seen.add(name);
  }
  const nodes: unknown = document.get('known');
  const places = known.map((entry, index) => {
    const node = isCollection(nodes) ? nodes.items[index] : undefined;
    const [from = 0, to = 0] = (isNode(node) && node.range) || [];
    const end = from + text.slice(from, to).trimEnd().length;
    return [entry, `lines ${lines.linePos(from).line}-${lines.linePos(end).line} of ${path}`] as const;
  });
  return { known, places: new Map(places) };
}

const HEADING = `# Findings that are known, each until the day it expires. A check that passes: an error, if not flaky.
# Of new entries fill in the reason, the owner and the kind: bug, waiver, erratum, flaky.
# Written by: muster check … --baseline THIS --update-baseline
`;

/** Throws LimitReached, e.g. on a full disk. */
export function writeBaseline(path: string, baseline: Baseline): void {
  const content = { known: baseline.known };
  const text = path.endsWith('.json')
    ? `${JSON.stringify(content, null, 2)}\n`
    : HEADING + stringify(content, { lineWidth: 120 });
  writingTo(`--baseline: ${path}`, () => writeWhole(path, text));
}
