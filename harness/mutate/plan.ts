/** Subjects of a mutation run: servers that are correct or have one defect. */

import { literal } from '../common/redact.ts';
import { NamedError, nearest, UsageError } from '../common/usage.ts';
import { type MutationSubject, SUBJECT_KINDS } from '../reports/mutation/report.ts';

export interface Server extends AsyncDisposable {
  readonly env: Readonly<Record<string, string>>;
  readonly secrets: readonly string[];
}

export interface Subject {
  readonly name: string;
  readonly kind: (typeof SUBJECT_KINDS)[number];
  readonly summary: string;
  readonly section: string;
  readonly requirements: MutationSubject['requirements'];
  /** Decisions of the simulator that this subject changes. */
  readonly decisions: readonly string[];
  readonly file: string;
  readonly byHand: string;
  /** Rejects if the start fails, or with the reason of the signal. */
  start(signal: AbortSignal): Promise<Server>;
}

/** Cause outside Muster that prevents the start of a correct server. */
export class CannotStart extends NamedError {}

export interface SubjectSource {
  readonly subjects: readonly Subject[];
  readonly secrets?: readonly string[];
  /**
   * Starts a correct server; `taken`: decisions used by requests. Rejects with CannotStart or the reason of the signal.
   */
  faithful(signal: AbortSignal): Promise<Server & { readonly taken: ReadonlySet<string> }>;
}

interface Selection {
  readonly only?: readonly string[];
  readonly sections?: readonly string[];
  readonly kind?: Subject['kind'];
}

/** Throws UsageError for an unknown name or section, or if no subject is left. */
export function selectedSubjects(
  subjects: readonly Subject[],
  { only = [], sections = [], kind: wantedKind }: Selection,
): Subject[] {
  const patterns = only.flatMap((list) => list.split(',')).map((name) => name.trim());
  const names = subjects.map(({ name }) => name);
  for (const pattern of patterns) {
    if (names.some((name) => fits(pattern, name))) continue;
    const near = nearest(pattern, names);
    const hint = near === undefined ? '' : `; did you mean ${near}?`;
    throw new UsageError(`--only ${pattern}: no defect and no variant is called so${hint}`);
  }
  const known = [...new Set(subjects.map(({ section }) => section))].filter(Boolean).sort();
  for (const section of sections)
    if (!known.some((each) => isIn(section, each)))
      throw new UsageError(`--section ${section}: accepted are ${known.join(', ')}`);
  const wanted = subjects.filter(
    ({ name, section, kind }) =>
      (wantedKind === undefined || kind === wantedKind) &&
      (patterns.length === 0 || patterns.some((pattern) => fits(pattern, name))) &&
      (sections.length === 0 || sections.some((each) => isIn(each, section))),
  );
  if (wanted.length === 0) throw new UsageError('--only, --section and --kind: nothing fits all that were given');
  return wanted;
}

const fits = (pattern: string, name: string): boolean =>
  new RegExp(`^${pattern.split('*').map(literal).join('.*')}$`).test(name);

const isIn = (section: string, of: string): boolean => of === section || of.startsWith(`${section}.`);

/** Orders subjects so that a run that is cut short has still tried every section. */
export function inSectionOrder(subjects: readonly Subject[]): Subject[] {
  const kinds = byKind(subjects).map(inTurn);
  return byPlace(kinds.flatMap((kind) => kind.map((subject, at) => ({ subject, place: (at + 0.5) / kind.length }))));
}

const byKind = (subjects: readonly Subject[]): Subject[][] =>
  SUBJECT_KINDS.map((wanted) => subjects.filter(({ kind }) => kind === wanted));

function inTurn(subjects: readonly Subject[]): Subject[] {
  const queues = [...Map.groupBy(subjects, ({ section }) => section).values()];
  const longest = Math.max(0, ...queues.map(({ length }) => length));
  return Array.from({ length: longest }, (_, at) => queues.flatMap((queue) => queue.slice(at, at + 1))).flat();
}

const byPlace = (placed: readonly { subject: Subject; place: number }[]): Subject[] =>
  placed.toSorted((a, b) => a.place - b.place).map(({ subject }) => subject);

/** Draws up to `count` subjects of each kind from all sections; `next` returns random numbers from 0 to 1. */
export function sampleOf(subjects: readonly Subject[], count: number, next: () => number): Subject[] {
  const shuffled = (kind: readonly Subject[]) => byPlace(kind.map((subject) => ({ subject, place: next() })));
  const chosen = new Set(byKind(subjects).flatMap((kind) => inTurn(shuffled(kind)).slice(0, count)));
  return subjects.filter((subject) => chosen.has(subject));
}
