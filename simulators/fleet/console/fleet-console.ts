import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { text as textOf } from 'node:stream/consumers';
import { defined } from '../../../harness/common/defined.ts';
import { http } from '../../../harness/common/node-http.ts';
import { durationMs } from '../../../harness/common/units.ts';
import { DEVICE_API_PREFIX } from '../../../harness/contract/versions.ts';
import { type Action, serveConsole, wholeNumber } from '../../console/console.ts';
import { Feed } from '../../console/feed.ts';
import type { Band, FleetDocument, RobotDetail, Second, Standing } from '../../console/page/fleet/document.ts';
import { type Deciding, type FleetResult, foundText, judgedText, standingOf, type Tick } from '../result/result.ts';
import { evaluatedThresholds, type ThresholdResult } from '../result/thresholds.ts';
import { LIMITS } from '../result/verdict.ts';
import type { ByHand } from '../run/by-hand.ts';
import { PreflightError } from '../run/errors.ts';
import type { Fleet, RunOptions } from '../run/fleet.ts';
import { classOf, type Phase, shareOf } from '../scenario/scenario.ts';
import { addFailure, failureText, type StateChanges } from '../worker/worker.ts';

async function robotDetail(fleet: Fleet, index: number): Promise<RobotDetail> {
  const socket = fleet.robotSocket(index);
  const answer = await ask(socket, `${DEVICE_API_PREFIX}/deployments/current`);
  return {
    name: fleet.robotName(index),
    ...defined({ class: classOf(fleet.options.scenario, index) }),
    socket,
    up: answer !== undefined,
    deployment: answer?.status === 200 ? (JSON.parse(answer.text) as Record<string, unknown>) : null,
    events: tailOf(join(fleet.robotDir(index), 'events.jsonl')),
  };
}

function ask(socketPath: string, path: string): Promise<{ status: number; text: string } | undefined> {
  return new Promise((resolve) => {
    const request = http.get({ socketPath, path, agent: false, timeout: 2000 }, (response) => {
      const { statusCode = 0 } = response;
      textOf(response).then(
        (text) => resolve({ status: statusCode, text }),
        () => resolve(undefined),
      );
    });
    request.once('timeout', () => request.destroy(new Error('no answer')));
    request.once('error', () => resolve(undefined));
  });
}

function tailOf(path: string): RobotDetail['events'] {
  const text = existsSync(path) ? readFileSync(path, 'utf8') : '';
  const events = text.split('\n').flatMap((line): RobotDetail['events'] => {
    try {
      const { id, type, occurred_at: at, data } = JSON.parse(line) as Record<string, unknown>;
      const { deployment_id: deployment = '' } = data as Record<string, unknown>;
      return [{ id: Number(id), type: String(type), at: String(at), deployment: String(deployment) }];
    } catch {
      // Incomplete last line, which the robot may still be writing.
      return [];
    }
  });
  return events.slice(-50);
}

interface ConsoleSettings extends Pick<RunOptions, 'scenario' | 'robots' | 'thresholds' | 'namePrefix'> {
  out?: string;
  ui?: FleetPage;
  onServed(url: string): void;
  onEnd?(): void;
}

export interface FleetPage {
  port: number;
  links?: { label: string; url: string }[];
}

const SHORT: Readonly<Record<string, string>> = {
  rollout: 'roll-out',
  partition: 'cut off',
  kill: 'killed',
  storm: 'reconnect',
  ramp: 'robots added',
};

const standingsOf = (result: Deciding, thresholds: readonly ThresholdResult[]): Standing[] =>
  thresholds.map(({ expr, value, ok }) =>
    defined({ expr, tone: standingOf(result, { ok, value }).tone, value: value ?? undefined }),
  );

export class FleetConsole {
  readonly #settings: ConsoleSettings;
  readonly #feed: Feed<FleetDocument>;
  #fleet: Fleet | undefined;
  #byHand: ByHand | undefined;

  constructor(settings: ConsoleSettings) {
    this.#settings = settings;
    this.#feed = new Feed<FleetDocument>({
      title: settings.scenario.name,
      prefix: settings.namePrefix ?? 'robot',
      states: '.'.repeat(settings.robots),
      phase: 'preparing',
      beginMs: null,
      elapsedMs: 0,
      remainingMs: null,
      paused: false,
      ending: null,
      seconds: [],
      bands: [],
      thresholds: [],
      trouble: [],
      latenessLimitMs: LIMITS.lateness[0],
      soFar: { verdict: 'valid', atBest: 'valid', reasons: [] },
      links: settings.ui?.links ?? [],
      ...(settings.onEnd && { endable: true }),
    });
  }

  readonly states = ({ at, text }: StateChanges): void => this.#feed.change({ paint: 'states', at, text });

  /** Rejects with PreflightError for an unusable port. */
  async serve(fleet: Fleet, byHand: ByHand, stack: AsyncDisposableStack): Promise<void> {
    this.#fleet = fleet;
    this.#byHand = byHand;
    const { ui, onServed } = this.#settings;
    const port = ui?.port ?? 0;
    const options = { page: 'fleet', title: 'Fleet', feed: this.#feed, actions: this.#actions(fleet, byHand), port };
    const served = await serveConsole(options).catch((error: unknown) => {
      throw new PreflightError(`--ui-port: cannot serve on port ${port} (${(error as Error).message})`);
    });
    stack.use(served);
    onServed(served.url);
  }

  keys(done: number, total: number): void {
    this.#feed.set({ phase: `making keys, ${done} of ${total}` });
  }

  second(tick: Tick, remainingMs: number | null): void {
    if (this.#fleet === undefined) return;
    const { record, options } = this.#fleet;
    const { counters, trouble } = record.progress;
    const metrics = record.progress.summaries();
    const { at_ms: at, rates, p50, p99 } = tick;
    const second: Second = {
      at,
      rates,
      p50,
      p99,
      attempts: counters['rollout.attempts'] ?? 0,
      reached: metrics['rollout.ms']?.count ?? 0,
      missed: counters['rollout.missed'] ?? 0,
      stallMs: tick.loop_max_ms,
    };
    this.#feed.change({ append: 'seconds', items: [second], keep: 7200 });
    const judged = options.judge?.judged;
    const lines = [
      ...record.violations.map(({ name, message }) => `${name}: ${message}`),
      ...(judged?.findings.map(foundText) ?? []),
      ...record.failures.map(failureText),
      ...record.incomplete,
      ...(trouble === undefined ? [] : [`not online: ${trouble}`]),
    ];
    const isBetween = record.phaseStartedMs === undefined && record.phases.at(-1)?.do === record.phase;
    const soFar = record.verdictSoFar;
    const complete = record.incomplete.length === 0 && record.notStarted === 0;
    const result = { complete, verdict: soFar.verdict, shard: options.shard ?? null };
    this.#feed.set({
      phase: isBetween ? 'waiting' : record.phase,
      beginMs: record.phasesBeginMs ?? null,
      elapsedMs: at,
      remainingMs,
      soFar,
      thresholds: standingsOf(result, evaluatedThresholds(this.#settings, record.standing)),
      trouble: lines.slice(0, 20),
      ...(judged !== undefined && { judged: judgedText(judged) }),
    });
    this.#showBands();
  }

  end(result: FleetResult): void {
    const { outcome = '', verdict, thresholds, answers: judged } = result;
    const { verdict_reasons: reasons, incomplete_reasons: incomplete } = result;
    const wrong = judged?.findings.filter(({ level }) => level === 'MUST').map(foundText) ?? [];
    const standings = standingsOf(result, thresholds);
    const missed = standings.filter(({ tone }) => tone === 'bad');
    const all = [...wrong, ...incomplete, ...missed.map(({ expr }) => `${expr} was missed`), ...reasons];
    this.#showBands();
    const { document } = this.#feed;
    this.#feed.set({
      phase: 'ended',
      remainingMs: document.remainingMs === null ? null : 0,
      paused: false,
      thresholds: standings,
      ...(judged !== undefined && { judged: judgedText(judged) }),
      ending: defined({ outcome, verdict, reasons: all, out: this.#settings.out }),
    });
  }

  #showBands(): void {
    const record = this.#fleet?.record;
    if (record === undefined) return;
    const short = (phase: string): string => SHORT[phase] ?? phase;
    const ended = [...record.phases, ...record.byHand].map(
      ({ do: label, startedMs, roundMs: length, note }): Band => ({
        label: note ?? label,
        from: startedMs,
        to: startedMs + length,
        ...(note !== undefined && { byHand: true, short: short(label) }),
      }),
    );
    const { phase, phaseStartedMs: from } = record;
    const running = from === undefined ? [] : [{ label: phase, from }];
    const hands = (this.#byHand?.underWay ?? []).map(({ note: label, do: name, startedMs: from }) => {
      return { label, short: short(name), from, byHand: true };
    });
    const paused = { label: 'paused', byHand: true };
    const pauses = record.pauses.map(({ fromMs: from, untilMs: to }) => defined({ ...paused, from, to }));
    this.#feed.set({ bands: [...ended, ...running, ...hands, ...pauses] });
  }

  #actions(fleet: Fleet, byHand: ByHand): Record<string, Action> {
    // Answers the request before the phase ends, because a phase may take minutes.
    const begin = (phase: Phase, note: string, only?: number[]): object => {
      byHand.refuseUnlessUp();
      const done = byHand.carryOut(phase, note, only);
      done.catch(({ message }: Error) => addFailure(fleet.record.failures, { kind: 'by hand', message, count: 1 }));
      this.#showBands();
      return { begun: note };
    };
    const by =
      (phaseFrom: (share: string, over: string) => [Phase, note: string]): Action =>
      (body) => {
        const [share, over] = [String(body['share']), String(body['over'])];
        shareOf(share);
        durationMs(over);
        return begin(...phaseFrom(share, over));
      };
    return {
      rollout: by((share, over) => [{ do: 'rollout', share, over }, `roll-out to ${share} over ${over}`]),
      partition: by((share, over) => [{ do: 'partition', share, for: over }, `${share} cut off for ${over}`]),
      kill: by((share, down) => [{ do: 'kill', share, over: '0s', down }, `${share} killed, down for ${down}`]),
      storm: by((share, over) => [{ do: 'storm', share, over }, `${share} reconnect over ${over}`]),
      scale: async ({ count, over }) => {
        durationMs(String(over));
        const robots = await byHand.grow(wholeNumber('count of robots', count));
        this.#feed.set({ states: this.#feed.document.states.padEnd(fleet.robots, '.') });
        return begin({ do: 'ramp', over: String(over) }, `${robots.length} robots added over ${String(over)}`, robots);
      },
      pause: () => this.#setPaused(() => byHand.pause(), true),
      resume: () => this.#setPaused(() => byHand.resume(), false),
      end: () => {
        if (this.#settings.onEnd === undefined) throw new Error('this fleet ends with its own process');
        this.#settings.onEnd();
        return {};
      },
      robot: ({ index }) => robotDetail(fleet, wholeNumber('index', index)),
    };
  }

  #setPaused(change: () => void, paused: boolean): object {
    change();
    this.#feed.set({ paused });
    this.#showBands();
    return { paused };
  }
}
