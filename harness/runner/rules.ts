/**
 * Rules: statements about everything that a run sees of its target, whichever check asks for it. A rule is a check that
 * asks nothing: it gets each whole answer of the HTTP client and each event of its streams, and keeps what it needs. It
 * does not see raw sockets and the `eventsource` package, so each rule must hold of a sample too, and conclude nothing
 * from absence.
 */
import type { Asked, Happening } from '../client/happening.ts';

/** Sighting: the check and exchange that showed something, and its text. */
export interface Sighting {
  readonly check: string;
  readonly asked: Asked;
  /** Part for a finding to quote, formatted on demand. */
  readonly text: () => string;
}

/** Violation of a rule. The actual value is not redacted. */
export interface Contradiction {
  expected: string;
  actual: unknown;
  counterexample?: unknown;
}

export interface Judge {
  /** Ends the rule unless `holds`. */
  must(holds: unknown, finding: Contradiction): asserts holds;
  /** Counts a happening that the rule is about. `text`: the part of it for a finding to show. */
  saw(text: () => string): Sighting;
  /** Ends the rule unless `holds`, for a contradiction to an earlier sighting. */
  agrees(holds: unknown, earlier: Sighting, finding: Contradiction): asserts holds;
}

/** Judges what happens, in order. Runs while a check waits, so it has to be quick. */
export type Rule = (happening: Happening, judge: Judge) => void;

export interface RuleOutcome {
  sightings: number;
  /** The first violation. */
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

/** Rule with its state, which lives as long as the run. */
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

  /** Resets the state, but not the count. */
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

/** Rules of a run. Their outcomes never reach checks in progress. */
export class History {
  readonly #rules = new Map<string, RuleInUse>();
  readonly #ended: (id: string, outcome: RuleOutcome) => void;
  readonly #renews: boolean;

  /**
   * @param ended called when a rule found a violation or failed itself; must not throw
   * @param renews whether a rule starts again after a violation, so that each one is reported; by default only the
   *   first is
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

  /** History of outcomes that were reached elsewhere, by check id. */
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

  /** Function that takes the happenings of one check. */
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
