/** Subjects of the kill matrix: puts those of one API together, and runs its suite against one of them. */

import { FLOODS, NULL_SERVERS, type NullServerName } from '../../../simulators/defects/null.ts';
import type { Redactor } from '../../client/redact.ts';
import { defined } from '../../common/defined.ts';
import { makePlan } from '../../runner/plan.ts';
import { runSuite } from '../../runner/run.ts';
import type { Api, Capability, Report, Suite } from '../../runner/types.ts';
import type { OpenedTarget } from '../../targets/opened.ts';
import type { Changes } from './simulated.ts';

export const SUBJECT_KINDS = ['reference', 'defect', 'variant', 'null', 'unwilling', 'starved'] as const;
export type SubjectKind = (typeof SUBJECT_KINDS)[number];

/** What narrows a run: ids of requirements, all when left out, and whether to leave out the checks that have to wait. */
export interface Narrowed {
  only?: readonly string[] | undefined;
  fast?: boolean;
}

/** One implementation that a suite is run against. */
export interface Subject {
  api: Api;
  kind: SubjectKind;
  name: string;
  summary: string;
  /** Requirements that a defect breaks; a check of each of them must turn red. */
  breaks?: readonly string[];
  /** The file that declares it, where that is not the matrix. */
  file?: string;
  /** What a check that it hinders must give as its reason. */
  reason?: RegExp;
  /** It may take longer than the others: it is slow, and right. */
  slow?: boolean;
  /** Of a variant that may run together with others: what it differs by, and a run with these changes or more. */
  together?: { changes: Changes; run: RunWith };
  /** The variants of a bundle. */
  members?: readonly Subject[];
  /** Starts it, runs the suite against it, stops it. */
  run(narrowed: Narrowed): Promise<Report>;
}

const SEED = 11;
export const PATIENCE_MS = 10_000;
/** A null server never answers what is waited for. */
export const NULL_PATIENCE_MS = 1000;

type Run = (narrowed: Narrowed) => Promise<Report>;
type RunWith = (changes: Changes, narrowed: Narrowed) => Promise<Report>;
type Described = Pick<Subject, 'name' | 'summary' | 'slow' | 'together'> & { run: Run };

export interface Subjects {
  /** The reference simulator, in every form that it has. */
  references: readonly Described[];
  defects: readonly (Described & { breaks: readonly string[]; file: string })[];
  variants: readonly Described[];
  /** Runs the suite against a null server. */
  runNull(name: NullServerName, narrowed: Narrowed): Promise<Report>;
  /** Does so with a control API beside it that agrees to everything and does nothing. */
  runWillingNull?(name: NullServerName, narrowed: Narrowed): Promise<Report>;
  /** Null servers that prove nothing about this API. */
  withoutNull?: readonly NullServerName[];
}

export function subjectsOf(api: Api, all: Subjects): Subject[] {
  const nulls = (Object.keys(NULL_SERVERS) as NullServerName[]).filter((name) => !all.withoutNull?.includes(name));
  return [
    ...all.references.map((subject): Subject => ({ api, kind: 'reference', ...subject })),
    ...all.defects.map((subject): Subject => ({ api, kind: 'defect', ...subject })),
    ...all.variants.map((subject): Subject => ({ api, kind: 'variant', ...subject })),
    ...nulls.map(
      (name): Subject => ({
        api,
        kind: 'null',
        name,
        summary: NULL_SERVERS[name],
        run: (narrowed) => all.runNull(name, narrowed),
      }),
    ),
    ...willingNulls(api, all),
  ];
}

function willingNulls(api: Api, { runWillingNull }: Subjects): Subject[] {
  if (runWillingNull === undefined) return [];
  const quiet = (Object.keys(NULL_SERVERS) as NullServerName[]).filter((name) => !FLOODS.includes(name));
  return quiet.map((name) => ({
    ...{ api, kind: 'null', name: `${name}-willing` },
    summary: `${NULL_SERVERS[name]}; its control API agrees to everything`,
    run: (narrowed) => runWillingNull(name, narrowed),
  }));
}

/** A variant that may run together with others. */
export const bundled = (
  { name, summary }: { name: string; summary: string },
  changes: Changes,
  run: RunWith,
): Described => ({ name, summary, together: { changes, run }, run: (narrowed) => run(changes, narrowed) });

export const namesOf = (variants: readonly { name: string }[]): ReadonlySet<string> =>
  new Set(variants.map(({ name }) => name));

/** `capabilities`: what the target is taken to have, whatever was detected. */
export function runOn<Context>(
  suite: Suite<Context>,
  target: Pick<OpenedTarget<Context>, 'description' | 'context' | 'unreachable'>,
  {
    redactor,
    capabilities,
    narrowed: { only = [], fast = false },
    maxTimeMs,
    concurrency,
  }: {
    redactor: Redactor;
    capabilities: ReadonlySet<Capability>;
    narrowed: Narrowed;
    maxTimeMs?: number;
    /** `shared` checks at once. */
    concurrency?: number;
  },
): Promise<Report> {
  return runSuite(suite, {
    plan: makePlan(suite, { capabilities, only, fast }),
    target: target.description,
    context: target.context,
    redactor,
    seed: SEED,
    version: 'matrix',
    ...defined({ maxTimeMs, concurrency, unreachable: target.unreachable }),
  });
}
