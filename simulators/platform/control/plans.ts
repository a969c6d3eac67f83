import type { Static } from 'typebox';
import { exact, shape, Type, type TypeOfShape } from '../../../harness/contract/shape.ts';
import { type PlatformFaults, parseFaults } from '../faults.ts';
import { PlatformError } from '../ports.ts';

const plannedAnswer = exact({
  status: Type.Integer({ minimum: 200, maximum: 599 }),
  headers: Type.Optional(Type.Record(Type.String(), Type.String())),
  /** Text is sent unchanged, any other value as JSON. */
  body: Type.Optional(Type.Unknown()),
});
export type PlannedAnswer = Static<typeof plannedAnswer>;

export const planBody = shape(
  'Plan',
  exact({
    method: Type.Optional(Type.String()),
    /** Path as in the OpenAPI document, e.g. `/devices/{device_id}`; `{…}` and `*` match one segment. */
    path: Type.String(),
    times: Type.Optional(Type.Integer({ minimum: 1 })),
    fault: Type.Optional(Type.String()),
    answer: Type.Optional(plannedAnswer),
  }),
);
type Plan = TypeOfShape<typeof planBody>;

export interface KeptPlan extends Plan {
  id: number;
  used: number;
}

/** A request uses the oldest matching plan that is not used up. */
export class Plans {
  onChange: () => void = () => {};
  #entries: { kept: KeptPlan; segments: readonly string[]; faults: PlatformFaults }[] = [];
  #last = 0;

  add(plan: Plan): KeptPlan {
    if ((plan.answer === undefined) === (plan.fault === undefined))
      throw new PlatformError(400, 'invalid_plan', 'a plan has either an answer or a fault');
    if (!plan.path.startsWith('/'))
      throw new PlatformError(400, 'invalid_plan', `path: ${JSON.stringify(plan.path)} does not begin with /`);
    let faults: PlatformFaults = {};
    try {
      if (plan.fault !== undefined) faults = parseFaults(plan.fault);
    } catch (error) {
      throw new PlatformError(400, 'invalid_plan', `fault: ${(error as Error).message}`);
    }
    const kept: KeptPlan = { id: ++this.#last, used: 0, ...plan };
    this.#entries.push({ kept, segments: plan.path.split('/'), faults });
    this.onChange();
    return kept;
  }

  get all(): KeptPlan[] {
    return this.#entries.map(({ kept }) => kept);
  }

  remove(id: number): void {
    const left = this.#entries.filter(({ kept }) => kept.id !== id);
    if (left.length === this.#entries.length) throw new PlatformError(404, 'plan_not_found', `there is no plan ${id}`);
    this.#entries = left;
    this.onChange();
  }

  clear(): void {
    this.#entries = [];
    this.onChange();
  }

  /** Planned answer or faults for a request, counted as a use. `path`: without the base path. */
  take(method: string, path: string): { answer: PlannedAnswer } | { faults: PlatformFaults } | undefined {
    const segments = path.split('/');
    const entry = this.#entries.find(
      ({ kept, segments: wanted }) =>
        (kept.method === undefined || kept.method.toUpperCase() === method) &&
        kept.used < (kept.times ?? Number.POSITIVE_INFINITY) &&
        wanted.length === segments.length &&
        wanted.every((part, index) => part === '*' || /^\{.*\}$/.test(part) || part === segments[index]),
    );
    if (entry === undefined) return undefined;
    entry.kept.used += 1;
    this.onChange();
    const { answer } = entry.kept;
    return answer === undefined ? { faults: entry.faults } : { answer };
  }
}
