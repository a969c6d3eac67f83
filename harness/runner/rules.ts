/**
 * Rules: what must hold of everything that a run sees of its target, whichever check asks for it. A rule is the check
 * of a requirement that asks nothing itself. It gets each whole answer of the HTTP client and each event of its
 * streams as they come, and keeps what it needs. What raw sockets and the `eventsource` package get is not seen: so no
 * rule concludes anything from what it has not seen, and each holds of a sample too.
 */
import type { Asked, Happening } from '../client/happening.ts';

/** Where something was seen: by which check, in which exchange, and as what. */
export interface Sighting {
  readonly check: string;
  readonly asked: Asked;
  /** The part that a finding is about, as it came; made when it is shown. */
  readonly text: () => string;
}

/** What does not hold. The actual value is not redacted. */
export interface Contradiction {
  expected: string;
  actual: unknown;
  counterexample?: unknown;
}

/** What a rule is given to judge with. */
export interface Judge {
  /** Ends the rule unless `holds`. */
  must(holds: unknown, finding: Contradiction): asserts holds;
  /** The rule is about this happening. `text`: the part of it that a finding would show. */
  saw(text: () => string): Sighting;
  /** As `must`, of what contradicts something that was seen before. */
  agrees(holds: unknown, earlier: Sighting, finding: Contradiction): asserts holds;
}

/** Judges what happens, in order. Is called while a check waits, so it takes no longer than a look at it. */
export type Rule = (happening: Happening, judge: Judge) => void;

/** What came of a rule. */
export interface Judged {
  /** How much of what happened it was about. */
  sightings: number;
  /** The first violation. */
  broken?: { finding: Contradiction; seen: readonly Sighting[] };
  /** An error of the rule itself. */
  fault?: unknown;
}

/** What a rule ends with. */
class Broken extends Error {
  readonly finding: Contradiction;
  constructor(finding: Contradiction) {
    super(finding.expected);
    this.finding = finding;
  }
}

/** A rule with what it judges by, which is made once: each happening comes to each rule. */
class Judging implements Judge {
  judged: Judged = { sightings: 0 };
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

  /** Begins anew, and knows how much it was about. */
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

/** All rules of a run. What they make of it never reaches the checks that are under way. */
export class History {
  readonly #rules = new Map<string, Judging>();
  readonly #ended: (id: string, judged: Judged) => void;
  readonly #renews: boolean;

  /**
   * `ended`: called when a rule has found its violation, or failed itself. Must not throw. `renews`: a rule that has
   * found its violation begins anew, so that each one is told. By default the first is all that a rule finds.
   */
  constructor(
    checks: readonly { readonly id: string; readonly rule?: () => Rule }[],
    ended: (id: string, judged: Judged) => void = () => {},
    { renews = false } = {},
  ) {
    this.#ended = ended;
    this.#renews = renews;
    for (const { id, rule } of checks) if (rule !== undefined) this.#rules.set(id, new Judging(rule));
  }

  /** What came of rules elsewhere, by the ids of their checks. */
  static settled(all: Readonly<Record<string, Judged>>): History {
    const history = new History([]);
    for (const [id, judged] of Object.entries(all)) {
      const judging = new Judging(() => () => {});
      judging.judged = judged;
      history.#rules.set(id, judging);
    }
    return history;
  }

  /** What came of the rule of that check. */
  judged(id: string): Judged {
    return this.#rules.get(id)?.judged ?? { sightings: 0 };
  }

  /** For what one check sees. */
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
