/** Explores the agent once per run by prepared and random sequences of commands; reports each difference once. */
import fc from 'fast-check';
import { PROMISED_FORMS } from '../../../harness/client/equivalent-forms.ts';
import type { Snapshot } from '../../../harness/client/recorder.ts';
import { uniqueName } from '../../../harness/common/names.ts';
import { runningMs } from '../../../harness/common/waiting.ts';
import { DEPLOYMENT_ACTIVITY_STATUSES, DEPLOYMENT_ERROR_STATUSES } from '../../../harness/contract/enums.ts';
import { Fact } from '../../../harness/runner/session.ts';
import { AttemptCutOff, TargetEnded, TooLittleSeen, Violation } from '../../../harness/runner/violation.ts';
import type { Device } from '../support/check.ts';
import { publish } from '../support/drive.ts';
import { requireRoomFor } from '../support/retention.ts';
import { type Streams, withStreams } from '../support/streams.ts';
import { anyCommand } from './any-command.ts';
import {
  ACCEPTS,
  burstIntoReplay,
  CODINGS,
  type Command,
  cutAndComeBack,
  leave,
  openExpired,
  openFuture,
  openMany,
  openStream,
  openZero,
  PLAIN,
  passTime,
  publishSome,
} from './commands.ts';
import { decides } from './decides.ts';
import { deploy, readCurrent, removeCurrent } from './deploying.ts';
import { Departure, Reality } from './reality.ts';
import { compactAway, compactLog, killWhilePublishing, restartAgent, tearTail } from './survival.ts';

interface Found {
  departure: Departure;
  commands: readonly Command[];
  snapshot: Snapshot;
}

export interface Explored {
  found: Map<string, Found>;
  /** Error that ended the exploration early; only the check that ran the exploration throws the error. */
  trouble: unknown;
  counts: Map<string, number>;
  notes: Set<string>;
}

const EXPLORED = new Fact<Promise<Explored> | undefined>(() => undefined);

export async function explored(t: Device): Promise<Explored> {
  const known = t.session.get(EXPLORED);
  if (known !== undefined) return known.then(asSeenLater);
  const exploring = explore(t);
  t.session.set(EXPLORED, exploring);
  try {
    return await exploring;
  } catch (error) {
    // Lets the next check explore again, because this exploration was cut off.
    t.session.set(EXPLORED, undefined);
    throw error;
  }
}

const asSeenLater = (result: Explored): Explored => {
  if (result.trouble === undefined) return result;
  const { message } = result.trouble as Error;
  return { ...result, trouble: new TooLittleSeen(`the exploration ended early: ${message}`) };
};

const MOST_FINDINGS = 9;
/**
 * Share of the run's time that is left, after which no directed sequence starts. The published agent needs more than
 * 200 s of 20 minutes on a busy machine, and a fast device 2 s.
 */
const EXPLORING_SHARE = 0.4;
/** Milliseconds of repeated findings after which the exploration of a fast device ends. */
const REPEATING_MS = 5000;
/** Milliseconds, with the option `--runs 1`, after which the exploration starts no random sequence of commands. */
const DRAWING_MS = 10_000;
const MOST_TRIES = 3;
const SEQUENCES = 25;

async function explore(t: Device): Promise<Explored> {
  requireRoomFor(t, 1);
  const result: Explored = { found: new Map(), trouble: undefined, counts: new Map(), notes: new Set() };
  const counting: Device = {
    ...t,
    note: (text) => void result.notes.add(text),
    saw: (what, count = 1) => void result.counts.set(what, (result.counts.get(what) ?? 0) + count),
  };
  const started = runningMs();
  const directedMs = EXPLORING_SHARE * t.remainingMs();
  let repeatingMs = 0;
  let isRepeating = false;
  const isOver = (isDirected: boolean): boolean => {
    const isSlow = t.session.publishesSlowly;
    const ms = isDirected ? directedMs : DRAWING_MS * Math.max(1, t.runs);
    isRepeating ||= !isSlow && repeatingMs > REPEATING_MS;
    return isRepeating || result.found.size >= MOST_FINDINGS || runningMs() - started > ms;
  };
  try {
    await withStreams(counting, async (streams) => {
      const life = new Life(counting, streams);
      for (const { commands, isDirected } of sequences(t)) {
        // Repeats the sequence without the command that failed, because its failure hides later failures.
        let left = commands;
        for (let tries = isDirected ? MOST_TRIES : 1; tries > 0 && !isOver(isDirected); tries -= 1) {
          const began = performance.now();
          const found = await departureIn(counting, life, left);
          counting.saw('sequences');
          if (found === undefined) break;
          const culprit = found.commands.at(-1);
          left = left.filter((command) => command !== culprit);
          if (result.found.has(found.departure.id)) {
            repeatingMs += performance.now() - began;
            continue;
          }
          result.found.set(found.departure.id, found);
          result.found.set(found.departure.id, await shrunk(counting, life, found));
        }
      }
    });
  } catch (error) {
    if (error instanceof AttemptCutOff) throw error;
    result.trouble = error;
  }
  if (result.found.size >= MOST_FINDINGS)
    result.trouble ??= new TooLittleSeen(`the exploration ended after ${MOST_FINDINGS} findings`);
  if (isRepeating)
    result.trouble ??= new TooLittleSeen('the exploration ended, as most of it only showed the same findings again');
  return result;
}

function sequences(t: Device): readonly { commands: readonly Command[]; isDirected: boolean }[] {
  const name = uniqueName('oracle');
  const paths = ['a', 'b/c', 'd'].map((file) => `/etc/robot/${name}/${file}.json`);
  const drawn = fc.sample(fc.array(anyCommand(paths), { minLength: 5, maxLength: 12 }), {
    seed: t.runSeed,
    numRuns: Math.ceil(SEQUENCES * t.runs),
  });
  const order = fc.sample(
    fc.shuffledSubarray(
      DIRECTED.map((_, n) => n),
      { minLength: DIRECTED.length },
    ),
    { seed: t.runSeed, numRuns: 1 },
  );
  const directed = (order[0] ?? []).map((n) => DIRECTED[n]?.(paths) ?? []);
  const random = drawn.map((commands) => ({ commands, isDirected: false }));
  return [
    { commands: plain(paths), isDirected: true },
    ...directed.flatMap((commands, n) => [...random.slice(n, n + 1), { commands, isDirected: true }]),
    ...random.slice(directed.length),
  ];
}

const contents = (paths: readonly string[], version: number) =>
  paths.map((filepath) => ({ filepath, content: `{"version":${version},"name":"größe 😀"}` }));

/** Files that agents easily write wrongly: empty, non-ASCII, with CRLF, long, or of equal name in two folders. */
const oddFiles = (paths: readonly string[]): Command[] => {
  const folder = (paths[0] ?? '').replace(/\/[^/]*$/, '');
  const file = (name: string, content: string) => ({ filepath: `${folder}/${name}.json`, content });
  return [
    deploy({ config_instances: [file('größe 日本', '{"a":1}')] }),
    deploy({ config_instances: [file('empty', ''), file('lines', '{\r\n"a": 1\r\n}\r\n')] }),
    deploy({
      config_instances: [
        file('one/same', '{"in":1}'),
        file('nest/top', '{}'),
        file('long', `{"text":"${'größe 日本 '.repeat(9000)}"}`),
      ],
    }),
    deploy({
      config_instances: [
        file('two/same', '{"in":2}'),
        file('nest/deep/low', '{"deep":1}'),
        file('long', '{"text":"short"}'),
      ],
    }),
    deploy({ config_instances: [file('retried', '{"retried":1}')], error_status: 'retrying' }),
  ];
};

const plain = (paths: readonly string[]): Command[] => [
  publishSome(5),
  openStream(PLAIN),
  openStream({ ...PLAIN, way: 'header', accept: undefined, coding: 'gzip, deflate, br' }),
  openStream({ ...PLAIN, accept: '*/*', coding: 'identity', used: true }),
  deploy({ description: 'plain größe 日本', config_instances: contents(paths, 101) }),
  readCurrent(),
  openStream({ ...PLAIN, way: 'none', accept: undefined }),
  openStream({ ...PLAIN, types: 'deployed' }),
  openStream({ ...PLAIN, way: 'both', other: 1, types: 'removed' }),
  publishSome(3),
  restartAgent('SIGTERM'),
  deploy({ config_instances: contents(paths, 102) }),
  removeCurrent(),
];

const state = (
  target_status: 'staged' | 'deployed',
  activity_status: 'staged' | 'deployed' | 'queued',
  error_status: 'none' | 'failed' | 'retrying',
) =>
  deploy({
    description: `${activity_status}, ${error_status}`,
    release_id: 'rls_oracle000001',
    target_status,
    activity_status,
    error_status,
  });

const [CAPITALS, REVERSED, ENCODED] = PROMISED_FORMS;
const WAYS_IN_FORMS = [
  ['after', ENCODED, REVERSED],
  ['header', CAPITALS, CAPITALS],
  ['both', ENCODED, REVERSED],
  ['none', CAPITALS, ENCODED],
] as const;
const FILTERS = ['removed', 'both', 'near', 'deployed'] as const;

/** Situations that random sequences rarely reach. */
const DIRECTED: readonly ((paths: readonly string[]) => Command[])[] = [
  () => [state('staged', 'staged', 'none'), restartAgent('SIGTERM'), readCurrent()],
  () => [state('deployed', 'queued', 'none'), publishSome(1)],
  () => [state('deployed', 'queued', 'retrying'), restartAgent('SIGKILL'), readCurrent()],
  () => [state('deployed', 'deployed', 'failed'), restartAgent('SIGTERM'), readCurrent()],
  (paths) => [
    deploy({ config_instances: contents(paths, 201) }),
    deploy({ config_instances: contents(paths, 202) }),
    restartAgent('SIGTERM'),
    removeCurrent(),
    restartAgent('SIGTERM'),
  ],
  oddFiles,
  () => [1, 2].map((n) => deploy({ release_id: 'rls_oracle000002', description: `${n} of one release` })),
  () => [publishSome(3), tearTail(0.3), tearTail(0.97), restartAgent('SIGTERM')],
  () => [publishSome(2), killWhilePublishing(40)],
  () => [
    publishSome(20),
    compactAway(),
    openExpired(2, 'both'),
    openExpired(3, 'after'),
    openExpired(6, 'header'),
    ...(['after', 'header'] as const).map((way) => openExpired(2, way, ['deployment.deployed'])),
    ...[32n, 53n, 64n].map((bits) => openFuture(2n ** bits)),
    publishSome(2),
    restartAgent('SIGTERM'),
    openExpired(3, 'after'),
    openExpired(2, 'header'),
  ],
  () => [publishSome(9), openZero()],
  () => [
    ...[0, 1, 2, 3].map((back) =>
      openStream({ ...PLAIN, back, way: back % 2 === 0 ? 'none' : 'header', used: back > 1 }),
    ),
    ...[0, 0].map(leave),
    publishSome(2),
    leave(0),
    publishSome(2),
  ],
  () =>
    DEPLOYMENT_ERROR_STATUSES.flatMap((error_status) =>
      DEPLOYMENT_ACTIVITY_STATUSES.map((activity_status) => deploy({ activity_status, error_status })),
    ),
  () => [publishSome(10), burstIntoReplay(60, 4), publishSome(1)],
  () => [
    publishSome(12),
    ...WAYS_IN_FORMS.flatMap(([way, form, filtered], n) => [
      openStream({ ...PLAIN, back: 6, way, accept: ACCEPTS[n], coding: CODINGS[n], used: n % 2 === 0, form }),
      openStream({ ...PLAIN, back: 9, way, accept: ACCEPTS[3 - n], types: FILTERS[n] ?? 'near', form: filtered }),
    ]),
    publishSome(6),
  ],
  () => [
    deploy({}),
    ...[0, 1].map((n) => openStream({ ...PLAIN, way: 'none', accept: ACCEPTS[n], coding: CODINGS[2 * n] })),
    openStream({ ...PLAIN, way: 'none', types: 'removed' }),
    passTime(),
    deploy({ description: 'later' }),
    publishSome(3),
  ],
  () => [publishSome(12), ...[0, 150, 333, 700, 1400].map((bytes) => cutAndComeBack(8, bytes))],
  () => [openMany(110), publishSome(2), openStream(PLAIN)],
  () => [publishSome(12), compactLog(), compactLog({ isLast: true }), restartAgent('SIGTERM')],
  () => [publishSome(150), restartAgent('SIGTERM')],
];

class Life {
  readonly #t: Device;
  readonly #streams: Streams;
  #real: Reality | undefined;

  constructor(t: Device, streams: Streams) {
    this.#t = t;
    this.#streams = streams;
  }

  async begin(): Promise<Reality> {
    if (this.#real !== undefined) return this.#real;
    const { last } = await publish(this.#t, 1);
    this.#real = new Reality(this.#t, this.#streams, last);
    await this.#real.openStaying(last);
    return this.#real;
  }

  departure(violation: Violation): Departure {
    if (violation instanceof Departure) return violation;
    const situation = this.#real?.situation ?? 'plain';
    return new Departure(decides({ what: 'missing', situation, live: true }), violation.finding);
  }

  async end(): Promise<void> {
    const real = this.#real;
    this.#real = undefined;
    await real?.closeAll();
  }
}

async function departureIn(
  t: Device,
  life: Life,
  commands: readonly Command[],
  isKnown = false,
): Promise<Found | undefined> {
  const done: Command[] = [];
  try {
    const real = await life.begin();
    for (const command of commands) {
      if (command.isPossible?.(real) === false) continue;
      done.push(command);
      await command.run(real);
    }
    await real.endSequence();
    const [remarked] = real.remarked.splice(0);
    return remarked && { departure: remarked, commands: done, snapshot: t.http.recorder.snapshot() };
  } catch (error) {
    if (!(error instanceof Violation)) throw error;
    const snapshot = t.http.recorder.snapshot();
    // Asks only once per finding whether control caused the finding instead of the agent.
    const isSettled = isKnown || (error instanceof Departure && error.isOver);
    const meant = isSettled ? error : ((await t.reconsider?.(error)) ?? error);
    if (meant !== error || error instanceof TargetEnded) throw meant;
    const departure = life.departure(error);
    await life.end();
    return { departure, commands: done, snapshot };
  }
}

async function shrunk(t: Device, life: Life, found: Found): Promise<Found> {
  const began = performance.now();
  const end = began + Math.min(2000, t.session.shrinkMs / 2);
  let least = found;
  for (let at = found.commands.length - 2; at >= 0 && performance.now() < end; at -= 1) {
    const fewer = await departureIn(t, life, least.commands.toSpliced(at, 1), true);
    if (fewer?.departure.id === found.departure.id) least = fewer;
  }
  t.session.shrinkMs -= performance.now() - began;
  return least;
}
