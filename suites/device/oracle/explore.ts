/** Explores the agent by sequences of commands, and declares the checks that the exploration decides. */
import type { Snapshot } from '../../../harness/client/recorder.ts';
import { defined } from '../../../harness/common/defined.ts';
import { runningMs } from '../../../harness/common/waiting.ts';
import { Fact } from '../../../harness/runner/session.ts';
import type { Check, Requirement } from '../../../harness/runner/types.ts';
import { AttemptCutOff, TargetEnded, TooLittleSeen, Violation } from '../../../harness/runner/violation.ts';
import { type Device, LIVE } from '../support/check.ts';
import { publish } from '../support/drive.ts';
import { OPEN_STREAMS, servesFew } from '../support/requests.ts';
import { requireRoomFor } from '../support/retention.ts';
import type { check } from '../support/section.ts';
import { type Streams, withStreams } from '../support/streams.ts';
import type { Command } from './commands.ts';
import { decides } from './decides.ts';
import { Departure, Reality } from './reality.ts';
import { sequences } from './sequences.ts';

interface Options extends Pick<Check<never>, 'needs' | 'premises' | 'profile'> {
  /** Counter that must be positive for a pass; if only `<least> asked for` is, the check is not applicable. */
  least?: string;
  aspect?: string;
}

export function byOracle(
  declareCheck: (...given: Parameters<typeof check>) => void,
  requirement: Requirement,
  { aspect, needs = [], premises, least = 'publications', profile }: Options = {},
): void {
  const { id } = requirement;
  const options = {
    ...defined({ aspect, profile }),
    needs: ['drive', ...needs],
    premises: premises ?? (aspect === undefined ? LIVE : [id]),
    sharing: 'disruptive',
    turn: 'last',
    varied: false,
    least: { requests: 0, restarts: 0, compactions: 0, [least]: 1 },
  } as const;
  declareCheck(requirement, options, async (t: Device) => {
    const { found, trouble, counts, notes } = await explored(t);
    t.saw(least, counts.get(least) ?? 0);
    if (least === 'kills survived') for (const note of notes) t.note(note);
    const mine = found.get(id);
    if (mine === undefined && trouble !== undefined) throw trouble;
    const { most } = t.session.get(OPEN_STREAMS);
    if (mine === undefined && !counts.has(least) && most === 1) t.notApplicable(servesFew(most));
    if (mine === undefined && !counts.has(least) && counts.has(`${least} asked for`))
      t.notApplicable(`control makes no ${least}`);
    if (mine === undefined) return;
    const { departure, commands, snapshot } = mine;
    t.http.recorder.restore(snapshot);
    const finding = { ...departure.finding, counterexample: commands.map(({ text }) => text).join('; ') };
    if (departure.isShould) t.should(false, finding);
    else t.must(false, finding);
  });
}

interface Found {
  departure: Departure;
  commands: readonly Command[];
  snapshot: Snapshot;
}

interface Explored {
  found: Map<string, Found>;
  /** Error that ended the exploration early, thrown only by the check that explored. */
  trouble: unknown;
  counts: Map<string, number>;
  notes: Set<string>;
}

const EXPLORED = new Fact<Promise<Explored> | undefined>(() => undefined);

async function explored(t: Device): Promise<Explored> {
  const known = t.session.get(EXPLORED);
  if (known !== undefined) {
    const result = await known;
    if (result.trouble === undefined) return result;
    const { message } = result.trouble as Error;
    return { ...result, trouble: new TooLittleSeen(`the exploration ended early: ${message}`) };
  }
  const exploring = explore(t);
  t.session.set(EXPLORED, exploring);
  // Lets the next check explore again after a cut-off.
  exploring.catch(() => t.session.set(EXPLORED, undefined));
  return await exploring;
}

const MOST_FINDINGS = 9;
/**
 * Share of the remaining time in which directed sequences may start. On a busy machine the published agent needs over
 * 200 s of 20 minutes, a fast device 2 s.
 */
const EXPLORING_SHARE = 0.4;
/** Time for repeated findings, as a share of the run's time and a minimum; then their commands are left out. */
const REPEATING = { share: 1 / 6, leastMs: 1500 };
/** Milliseconds with `--runs 1` after which no random sequence starts; at most half of the check's time. */
const DRAWING_MS = 10_000;
const MOST_TRIES = 3;

async function explore(t: Device): Promise<Explored> {
  requireRoomFor(t, 1);
  const result: Explored = { found: new Map(), trouble: undefined, counts: new Map(), notes: new Set() };
  const counting: Device = {
    ...t,
    note: (text) => void result.notes.add(text),
    saw: (what, count = 1) => void result.counts.set(what, (result.counts.get(what) ?? 0) + count),
  };
  const started = runningMs();
  const directedMs = EXPLORING_SHARE * t.runTimeLeftMs();
  const drawingMs = Math.min(DRAWING_MS * Math.max(1, t.runs), t.checkTimeLeftMs() / 2);
  const repeating = new Set<string>();
  let repeatedMs = 0;
  const mayRepeatMs = (): number =>
    Math.max(REPEATING.leastMs, REPEATING.share * (t.session.sinceStartMs - repeatedMs));
  const isOver = (isDirected: boolean): boolean =>
    result.trouble !== undefined ||
    result.found.size >= MOST_FINDINGS ||
    result.found.get(t.session.sought ?? '')?.departure.isShould === false ||
    runningMs() - started > (isDirected ? directedMs : drawingMs);
  try {
    await withStreams(counting, async (streams) => {
      const life = new Life(counting, streams, result.found);
      for (const { commands, isDirected } of sequences(t)) {
        // Runs a sequence again without the command that failed, because its failure hides later ones.
        let left = commands;
        for (let tries = isDirected ? MOST_TRIES : 1; tries > 0 && !isOver(isDirected); tries -= 1) {
          if (repeatedMs > mayRepeatMs()) left = left.filter(({ text }) => !repeating.has(kindOf(text)));
          const began = runningMs();
          const found = await life.departureIn(left);
          counting.saw('sequences');
          if (found === undefined) break;
          const culprit = found.commands.at(-1);
          left = left.filter((command) => command !== culprit);
          if (result.found.get(found.departure.id)?.departure.isShould === false) {
            repeatedMs += runningMs() - began;
            repeating.add(kindOf(culprit?.text ?? ''));
            if (repeatedMs > 2 * mayRepeatMs())
              result.trouble = new TooLittleSeen('the exploration ended, because findings repeated for too long');
            continue;
          }
          result.found.set(found.departure.id, found);
          result.found.set(found.departure.id, await life.shrunk(found));
        }
      }
    });
  } catch (error) {
    if (error instanceof AttemptCutOff) throw error;
    result.trouble = error;
  }
  if (result.found.size >= MOST_FINDINGS)
    result.trouble ??= new TooLittleSeen(`the exploration ended after ${MOST_FINDINGS} findings`);
  return result;
}

/** Text of a command without its values, e.g. `publish()` for `publish(5)`. */
const kindOf = (text: string): string => text.replaceAll(/\{.*|\d+/gs, '');

const isSame = (one: Departure, other: Departure): boolean => one.id === other.id && one.isShould === other.isShould;

export class Life {
  readonly #t: Device;
  readonly #streams: Streams;
  readonly #found: ReadonlyMap<string, Found>;
  #real: Reality | undefined;

  constructor(t: Device, streams: Streams, found: ReadonlyMap<string, Found>) {
    this.#t = t;
    this.#streams = streams;
    this.#found = found;
  }

  /** Returns the first departure. A remark counts if its requirement has no finding or, with `known`, if it is that. */
  async departureIn(commands: readonly Command[], known?: Departure): Promise<Found | undefined> {
    const t: Device = this.#t;
    const done: Command[] = [];
    try {
      if (this.#real === undefined) {
        const { last } = await publish(t, 1);
        this.#real = new Reality(t, this.#streams, last);
        await this.#real.openStaying(last);
      }
      const real: Reality = this.#real;
      real.known = known === undefined ? this.#found : new Map();
      if (real.clients.some(({ subscription }) => subscription.holdsMuch)) {
        await real.closeAll();
        await real.openStaying(real.ledger.closed);
      }
      for (const command of commands) {
        if (command.isPossible?.(real) === false) continue;
        done.push(command);
        await command.run(real);
      }
      await real.closeAll(({ stays }) => !stays);
      const remarks = real.remarked.splice(0);
      const remarked = remarks.find((one) => (known === undefined ? !this.#found.has(one.id) : isSame(one, known)));
      return remarked && { departure: remarked, commands: done, snapshot: t.http.recorder.snapshot() };
    } catch (error) {
      if (!(error instanceof Violation)) throw error;
      const snapshot = t.http.recorder.snapshot();
      // Asks once per finding whether control, and not the agent, caused it.
      const isSettled = known !== undefined || (error instanceof Departure && error.isOver);
      const meant = isSettled ? error : ((await t.reconsider?.(error)) ?? error);
      if (meant !== error || error instanceof TargetEnded) throw meant;
      const real = this.#real;
      const about = { what: 'missing', situation: real?.situation ?? 'plain', live: true } as const;
      const departure = error instanceof Departure ? error : new Departure(decides(about), error.finding);
      this.#real = undefined;
      await real?.closeAll();
      return { departure, commands: done, snapshot };
    }
  }

  async shrunk(found: Found): Promise<Found> {
    const { session } = this.#t;
    const began = performance.now();
    const end = began + Math.min(1000, session.shrinkMs / 2);
    let least = found;
    for (let at = found.commands.length - 2; at >= 0 && performance.now() < end; at -= 1) {
      const fewer = await this.departureIn(least.commands.toSpliced(at, 1), found.departure);
      if (fewer !== undefined && isSame(fewer.departure, found.departure)) least = fewer;
    }
    session.shrinkMs -= performance.now() - began;
    return least;
  }
}
