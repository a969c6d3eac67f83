/**
 * Rules examine the answers and events that the requests of all checks cause.
 * A rule must not report missing traffic, because a run contains only a sample of requests.
 */
import type { Asked, Happening } from '../client/happening.ts';

export interface Sighting {
  readonly check: string;
  readonly asked: Asked;
  readonly text: () => string;
}

/** Finding of a rule; `actual` may contain secrets. */
export interface Contradiction {
  expected: string;
  actual: unknown;
  counterexample?: unknown;
}

export interface Judge {
  must(holds: unknown, finding: Contradiction): asserts holds;
  /** Counts an examined case; a rule without cases is undecided. `text`: quotation for a finding. */
  saw(text: () => string): Sighting;
  /** Ends the rule with `finding` if `holds` is false; the report also shows the case `earlier`. */
  agrees(holds: unknown, earlier: Sighting, finding: Contradiction): asserts holds;
}

/** Receives each answer and event in order; must be fast, because checks wait for the rule. */
export type Rule = (happening: Happening, judge: Judge) => void;

export interface RuleOutcome {
  sightings: number;
  broken?: { finding: Contradiction; seen: readonly Sighting[] };
  fault?: unknown;
}

class Broken extends Error {
  readonly finding: Contradiction;
  constructor(finding: Contradiction) {
    super(finding.expected);
    this.finding = finding;
  }
}

class RuleInUse implements Judge {
  judged: RuleOutcome = { sightings: 0 };
  readonly #make: () => Rule;
  #rule: Rule;
  #check = '';
  #asked: Asked | undefined;
  #seen: Sighting[] = [];

  constructor(make: () => Rule) {
    this.#make = make;
    this.#rule = make();
  }

  get isOver(): boolean {
    return this.judged.broken !== undefined || this.judged.fault !== undefined;
  }

  renew(): void {
    this.#rule = this.#make();
    this.judged = { sightings: this.judged.sightings };
  }

  take(check: string, happening: Happening): void {
    this.#check = check;
    this.#asked = happening.asked;
    this.#seen = [];
    try {
      this.#rule(happening, this);
    } catch (error) {
      if (error instanceof Broken) this.judged.broken = { finding: error.finding, seen: this.#seen };
      else this.judged.fault = error;
    }
  }

  saw(text: () => string): Sighting {
    this.judged.sightings += 1;
    const here = { check: this.#check, asked: this.#asked as Asked, text };
    this.#seen = [here];
    return here;
  }

  must(holds: unknown, finding: Contradiction): asserts holds {
    if (!holds) throw new Broken(finding);
  }

  agrees(holds: unknown, earlier: Sighting, finding: Contradiction): asserts holds {
    this.#seen.unshift(earlier);
    if (!holds) throw new Broken(finding);
    this.#seen.shift();
  }
}

export class History {
  readonly #rules = new Map<string, RuleInUse>();
  readonly #ended: (id: string, outcome: RuleOutcome) => void;
  readonly #renews: boolean;

  /**
   * @param ended called when a rule finds a violation or throws; must not throw
   * @param renews restarts a rule after each violation, to report all violations; default: only the first
   */
  constructor(
    checks: readonly { readonly id: string; readonly rule?: () => Rule }[],
    ended: (id: string, judged: RuleOutcome) => void = () => {},
    { renews = false } = {},
  ) {
    this.#ended = ended;
    this.#renews = renews;
    for (const { id, rule } of checks) if (rule !== undefined) this.#rules.set(id, new RuleInUse(rule));
  }

  static withOutcomes(all: Readonly<Record<string, RuleOutcome>>): History {
    const history = new History([]);
    for (const [id, judged] of Object.entries(all)) {
      const judging = new RuleInUse(() => () => {});
      judging.judged = judged;
      history.#rules.set(id, judging);
    }
    return history;
  }

  judged(id: string): RuleOutcome {
    return this.#rules.get(id)?.judged ?? { sightings: 0 };
  }

  isBroken(id: string): boolean {
    return this.judged(id).broken !== undefined;
  }

  /** Restarts each rule that ended, so that every round of a run counts its own violations. */
  renew(): void {
    for (const judging of this.#rules.values()) if (judging.isOver) judging.renew();
  }

  of(check: string): (happening: Happening) => void {
    return (happening) => {
      for (const [id, judging] of this.#rules) {
        if (judging.isOver) continue;
        judging.take(check, happening);
        if (!judging.isOver) continue;
        this.#ended(id, judging.judged);
        if (this.#renews && judging.judged.fault === undefined) judging.renew();
      }
    };
  }
}
