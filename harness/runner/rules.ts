/**
 * Rules: statements about everything that a run sees, whichever check asks. A rule asks nothing: it gets whole answers
 * of the HTTP client and events of its streams. Raw sockets and the `eventsource` package pass it by, so each rule must
 * hold of a sample, and conclude nothing from absence.
 */
import type { Asked, Happening } from '../client/happening.ts';

/** Text that showed something, with its check and exchange. */
export interface Sighting {
  readonly check: string;
  readonly asked: Asked;
  /** Quote for a finding, formatted on demand. */
  readonly text: () => string;
}

/** The actual value is not redacted. */
export interface Contradiction {
  expected: string;
  actual: unknown;
  counterexample?: unknown;
}

export interface Judge {
  /** Ends the rule unless `holds`. */
  must(holds: unknown, finding: Contradiction): asserts holds;
  /** Counts a happening that the rule is about. `text`: quote for a finding. */
  saw(text: () => string): Sighting;
  /** Ends the rule unless `holds`: a finding against an earlier sighting. */
  agrees(holds: unknown, earlier: Sighting, finding: Contradiction): asserts holds;
}

/** Judges happenings in order. Must be quick: checks wait meanwhile. */
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

/** Rule with its state, which lasts for the run. */
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

/** Rules of a run. Their outcomes reach no check in progress. */
export class History {
  readonly #rules = new Map<string, RuleInUse>();
  readonly #ended: (id: string, outcome: RuleOutcome) => void;
  readonly #renews: boolean;

  /**
   * @param ended called when a rule found a violation or failed itself; must not throw
   * @param renews starts a rule again after each violation, to report them all; default: only the first
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

  /** History of outcomes reached elsewhere, by check id. */
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
