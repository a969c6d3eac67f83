/** Turns the catalogue of defects and variants into subjects of the tests. */
import type { Located } from '../../../simulators/defects/catalogue.ts';
import type { Defect, Variant } from '../../../simulators/defects/define.ts';
import { defined } from '../../common/defined.ts';
import type { Server, Subject } from '../../mutate/subject.ts';
import type { Requirement, Suite } from '../../runner/types.ts';

/** Requirements by their ids, and by those of their checks. */
export type Requirements = ReadonlyMap<string, Pick<Requirement, 'id' | 'section' | 'text' | 'clause'>>;

export const requirementsOf = (suites: readonly Pick<Suite<never>, 'checks'>[]): Requirements =>
  new Map(
    suites.flatMap(({ checks }) =>
      checks.flatMap(({ id, requirement }) => [[id, requirement] as const, [requirement.id, requirement] as const]),
    ),
  );

export interface PlantedDeviation<B> {
  readonly all: readonly Located<Defect<B> | Variant<B>>[];
  readonly requirements: Requirements;
  readonly reference: B;
  /** Command line that starts a server with this deviation. */
  byHand(kind: Subject['kind'], name: string, breaks: readonly string[]): string;
  start(behaviour: B, signal: AbortSignal): Promise<Server>;
}

export function subjectsOf<B>({ all, requirements, reference, byHand, start }: PlantedDeviation<B>): Subject[] {
  const sectionOf = (one: Located<Defect<B> | Variant<B>>): string | undefined =>
    'breaks' in one ? one.breaks.map((id) => requirements.get(id)?.section).find(Boolean) : undefined;
  // A variant breaks nothing, so its section is that of the defects in its file.
  const byFile = new Map(all.map((one) => [one.file, sectionOf(one)] as const).filter(([, section]) => section));
  return all.map((each) => {
    const { name, summary, file } = each;
    const kind = 'breaks' in each ? 'defect' : 'variant';
    const breaks = 'breaks' in each ? each.breaks : [];
    const broken = breaks.flatMap((id) => requirements.get(id) ?? []);
    return {
      name,
      kind,
      summary,
      file,
      section: sectionOf(each) ?? byFile.get(file) ?? '',
      requirements: broken.map(({ id, section, text, clause }) => ({ id, section, text, ...defined({ clause }) })),
      breaks,
      decisions: [...each.effects(reference).keys()],
      byHand: byHand(kind, name, breaks),
      start: (signal) => start(each.behaviour(reference), signal),
    };
  });
}
