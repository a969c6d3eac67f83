/** Judges a sample of the platform's answers for `muster fleet --judge`, with at most 5 % of a processor. */
import { extname } from 'node:path';
import type { AnswersTold, Exchange } from '../../simulators/fleet/platform/answers.ts';
import type { PlatformAddress } from '../../simulators/fleet/platform/client.ts';
import type { Judged } from '../../simulators/fleet/result/result.ts';
import type { AnswerJudge } from '../../simulators/fleet/run/fleet.ts';
import { defined } from '../common/defined.ts';
import { poll } from '../common/waiting.ts';
import { shortText } from '../runner/violation.ts';
import { JudgeWorker, type JudgeWorkerOptions } from '../watch/judge-worker.ts';
import type { ServerAddress, Traffic } from '../watch/traffic.ts';
import type { ThreadData } from './watching/thread.ts';

/** Milliseconds of unused processor time saved for a burst: maximum and initial amount. */
const MOST_SAVED_MS = 250;
const FIRST_SAVED_MS = 50;

export class FleetJudge implements AnswerJudge {
  readonly #worker: JudgeWorker;
  readonly #base: string;
  readonly #isReady = Promise.withResolvers<void>();
  readonly ready: Promise<void> = this.#isReady.promise;
  readonly faults: string[] = [];
  readonly #findings = new Map<string, Omit<Judged['findings'][number], 'count'>>();
  #broken: Readonly<Record<string, number>> = {};
  readonly #underWay: string[] = [];
  #exchanges = 0;
  #answers = 0;
  #judged = 0;
  #dropped = 0;
  #ready: { at: number; spentMs: number } | undefined;
  #saved = { ms: FIRST_SAVED_MS, at: 0, spentMs: 0 };

  constructor({ url }: Pick<PlatformAddress, 'url'>) {
    const { origin, pathname } = new URL(url);
    this.#base = pathname.replace(/\/$/, '');
    const place: ServerAddress = { base: this.#base, origin, variable: 'MUSTER_API_KEY' };
    this.#worker = new JudgeWorker({
      entry: new URL(`./watching/thread${extname(import.meta.url)}`, import.meta.url),
      data: { api: 'platform', way: 'url', place, sample: true } satisfies ThreadData,
      taken: (broken) => this.#taken(broken),
      found: this.#found,
      trouble: (why) => {
        this.faults.push(`--judge: ${why}`);
        this.#isReady.resolve();
      },
    });
    // The answer to empty traffic shows that the thread has loaded the rules.
    this.#worker.post({ kind: 'traffic', traffic: [] });
  }

  take({ answers, exchange }: AnswersTold): void {
    this.#answers += answers;
    if (exchange === undefined) return;
    if (this.#worker.isOver || this.#underWay.length >= 16 || this.#savedMs() < 0) {
      this.#dropped += 1;
      return;
    }
    this.#exchanges += 1;
    this.#underWay.push(exchange.phase);
    this.#worker.post({ kind: 'traffic', traffic: trafficOf(exchange, this.#exchanges, this.#base) });
  }

  get judged(): Judged {
    const findings = [...this.#findings.values()].map((each) => ({ ...each, count: this.#broken[each.id] ?? 1 }));
    const { spentMs, elapsedMs } = this.#took;
    return {
      seen: this.#answers,
      judged: this.#judged,
      dropped: this.#dropped + (this.#worker.isOver ? this.#underWay.length : 0),
      cpu_share: elapsedMs === 0 ? 0 : Number((spentMs / elapsedMs).toPrecision(3)),
      findings,
    };
  }

  async settle(): Promise<void> {
    const isDone = (): true | undefined => this.#underWay.length === 0 || this.#worker.isOver || undefined;
    // Ignores a timeout, because the count of judged answers leaves out exchanges without a verdict.
    await poll('the judging to end', isDone, { timeoutMs: 5000, firstPauseMs: 10 }).catch(() => {});
    const { seen, judged } = this.judged;
    if (judged === 0 && !this.#worker.isOver) this.faults.push(`--judge: none of ${seen} answers was judged`);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#worker[Symbol.asyncDispose]();
  }

  get #took(): { spentMs: number; elapsedMs: number } {
    if (this.#ready === undefined) return { spentMs: 0, elapsedMs: 0 };
    return { spentMs: this.#worker.spentMs - this.#ready.spentMs, elapsedMs: performance.now() - this.#ready.at };
  }

  #savedMs(): number {
    const { spentMs, elapsedMs: at } = this.#took;
    const { ms, ...before } = this.#saved;
    const gained = Math.min(MOST_SAVED_MS, ms + 0.05 * (at - before.at));
    this.#saved = { ms: gained - (spentMs - before.spentMs), at, spentMs };
    return this.#saved.ms;
  }

  #taken(broken: Readonly<Record<string, number>>): void {
    if (this.#ready === undefined) {
      this.#ready = { at: performance.now(), spentMs: this.#worker.spentMs };
      this.#isReady.resolve();
      return;
    }
    this.#judged += 1;
    this.#broken = broken;
    this.#underWay.shift();
  }

  /** Takes the phase from the head of `#underWay`, which `#taken` removes only after the findings of an exchange. */
  readonly #found: JudgeWorkerOptions['found'] = (id, { broken, fault }, requirement) => {
    const { level, text } = requirement ?? { level: 'INFO', text: '' };
    if (fault !== undefined) this.faults.push(`--judge: the rule ${id} has failed, and judges nothing more: ${fault}`);
    if (broken === undefined || level === 'INFO') return;
    const { expected, actual, counterexample } = broken.finding;
    const asked = broken.seen.at(-1)?.asked;
    this.#findings.set(id, {
      id,
      level,
      requirement: text,
      expected,
      actual: short(shortText(actual)),
      phase: this.#underWay[0] ?? '',
      ...defined({ counterexample: counterexample === undefined ? undefined : short(shortText(counterexample)) }),
      request: asked === undefined ? '' : `${asked.method} ${asked.url}`,
      curl: asked?.curl ?? '',
    });
  };
}

const LONGEST = 500;
const short = (text: string): string => (text.length <= LONGEST ? text : `${text.slice(0, LONGEST)}…`);

function trafficOf(of: Exchange, exchange: number, base: string): Traffic[] {
  const { at, ms, method, path, headers, status, answered, sent, body } = of;
  const end = at + ms;
  const bodyOf = (text: string | undefined) => (text ? { body: { text, size: text.length } } : {});
  const head = { connection: exchange, exchange, method, target: base + path, headers: Object.entries(headers) };
  return [
    { kind: 'request', at, ...head },
    { kind: 'asked', at, exchange, ...bodyOf(sent) },
    { kind: 'response', at: end, exchange, status, headers: Object.entries(answered) },
    { kind: 'over', at: end, exchange, ended: 'whole', ...bodyOf(body) },
    { kind: 'closed', at: end, connection: exchange },
  ];
}
