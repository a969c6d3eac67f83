/** Simulates kills and power losses at any step of writes to an event log, and checks the surviving events. */
import { constants, existsSync, mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { type Random, random } from '../../../simulators/common/random.ts';
import { leave, scratch } from '../../../simulators/common/testing/scratch.ts';
import type { LogBehaviour } from '../../../simulators/device/behaviour.ts';
import { referenceBehaviour } from '../../../simulators/device/index.ts';
import type { EventLog } from '../../../simulators/device/log/event-log.ts';
import { type DiskIo, DURABLE, disk } from '../../../simulators/device/log/io.ts';
import { type Failure, open, RecordedDisk } from '../../../simulators/device/log/testing/recorded-disk.ts';
import { LogReader } from '../../../simulators/device/stream/reader.ts';
import { count, seed, toolOptions } from '../options.ts';

/** Folder in memory, because a simulated crash needs no real disk. */
const MEMORY = '/dev/shm';

export const crash = {
  about: "power loss, full disks and torn writes at seeded points of every write of a device's log",
  run: async (words: readonly string[], say: (line: string) => void): Promise<readonly string[]> => {
    const options = { points: count('crashes to inject', 10_000), seed: seed('draws their moments and kinds') };
    const { points, seed: drawn } = toolOptions('npm run soak -- crash [options]', options, { words });
    using folder = scratch(existsSync(MEMORY) ? MEMORY : undefined);
    const { injected, violations } = await crashMatrix({ seed: drawn, points, dir: folder.path });
    const kinds = Object.entries(injected).map(([kind, times]) => `${times} × ${kind}`);
    say(`${points} points, seed ${drawn}: ${kinds.join(', ')}`);
    return violations;
  },
};

const FAILURES: readonly Failure[] = ['ENOSPC', 'EIO', 'short write'];

interface LogHistory {
  durable: boolean;
  rules: LogBehaviour;
  disk: RecordedDisk;
  /** Events that clients have received after `step` steps of the disk. */
  delivered: { step: number; id: number; json: string }[];
  written: Map<number, Set<string>>;
  /** First id that each compaction keeps, and the step of the disk at its start. */
  cuts: { step: number; from: number }[];
}

/**
 * Injects the same crashes for the same seed.
 * `dir`: empty folder, which the caller removes. `rules`: behaviour of the log, for tests.
 */
export async function crashMatrix(
  { seed, points, dir }: { seed: number; points: number; dir: string },
  rules: LogBehaviour = referenceBehaviour.log,
) {
  const injected: Record<string, number> = {};
  const violations: string[] = [];
  const inject = (kind: string): void => {
    injected[kind] = (injected[kind] ?? 0) + 1;
  };
  for (let done = 0, number = 0; done < points; number += 1) {
    const source = random(`${seed}/${number}`);
    const lived = join(dir, `log${number}`);
    const history = await live(source, lived, rules, inject);
    const { steps } = history.disk;
    for (let point = 0; point < 50 && done < points; point += 1, done += 1) {
      const after = source.integer(0, steps.length);
      const lottery = source.chance(0.7) ? source.fork(`power loss ${point}`) : undefined;
      const kind = lottery ? 'power loss' : 'kill';
      inject(kind);
      const folder = join(dir, `point${done}`);
      mkdirSync(folder);
      // The last step is incomplete, unless a client has already received its event.
      const underWay = !history.delivered.some(({ step }) => step === after);
      leave(steps, after, folder, lottery && { lottery, underWay });
      const problems = await judgeCrash(history, after, lottery !== undefined, folder);
      const where = `seed ${seed}, log ${number} (${history.durable ? 'sync' : 'os'}), ${kind} after step ${after}`;
      violations.push(...problems.map((problem) => `${where} of ${steps.length}: ${problem}`));
      rmSync(folder, { recursive: true });
    }
    rmSync(lived, { recursive: true });
  }
  return { injected, violations };
}

async function live(
  source: Random,
  folder: string,
  rules: LogBehaviour,
  inject: (failure: Failure) => void,
): Promise<LogHistory> {
  mkdirSync(folder);
  const recorded = new RecordedDisk(folder);
  const durable = source.chance(0.6);
  const history: LogHistory = { durable, rules, disk: recorded, delivered: [], written: new Map(), cuts: [] };
  const risk = source.chance(0.6) ? 0.06 : 0;
  recorded.fails = () => {
    if (!source.chance(risk)) return undefined;
    const failure = FAILURES[source.integer(0, FAILURES.length - 1)] ?? 'EIO';
    inject(failure);
    return failure;
  };
  let log = openLog(folder, recorded.io, history);
  for (let turn = source.integer(4, 25); turn > 0; turn -= 1) {
    const choice = source.integer(0, 9);
    if (choice < 7) await log.append(drafts(source)).catch(() => undefined);
    else if (choice === 7) await log.compact().catch(() => undefined);
    else {
      if (choice === 8) await log.close();
      else log.abandon();
      log = openLog(folder, recorded.io, history);
    }
  }
  if (source.chance(0.5)) await log.close();
  else log.abandon();
  return history;
}

const drafts = (source: Random) =>
  Array.from({ length: source.integer(1, 12) }, () => ({
    type: 'deployment.deployed',
    data: { text: source.text(source.integer(1, 200)) },
  }));

function openLog(directory: string, io: DiskIo, history: LogHistory): EventLog {
  const log = history.rules;
  const onTheWay = io === history.disk.io;
  const step = (): number => history.disk.steps.length;
  const behaviour = {
    ...referenceBehaviour,
    log: {
      ...log,
      lines: (events: Parameters<typeof log.lines>[0]) => {
        if (!onTheWay) return log.lines(events);
        for (const { id, json } of events) history.written.set(id, (history.written.get(id) ?? new Set()).add(json));
        return log.lines(events);
      },
      keepFrom: (plan: Parameters<typeof log.keepFrom>[0]) => {
        const from = log.keepFrom(plan);
        if (onTheWay) history.cuts.push({ step: step(), from });
        return from;
      },
    },
  };
  return open(directory, {
    retain: 60,
    durable: history.durable,
    io,
    behaviour,
    onStored: (events) => {
      if (onTheWay) for (const { id, json } of events) history.delivered.push({ step: step(), id, json });
    },
  }).log;
}

/** Disk without syncs: faster, and the check of a state after a crash needs no durability. */
const HASTY: DiskIo = {
  ...disk,
  open: (path, flags, mode) =>
    disk.open(path, typeof flags === 'number' ? flags & ~(DURABLE & ~constants.O_RDWR) : flags, mode),
  store: async (fd, bytes, position) => disk.write(fd, bytes, position),
  sync: async () => {},
  syncDirectory: async () => {},
};

async function judgeCrash(history: LogHistory, steps: number, powerLoss: boolean, folder: string): Promise<string[]> {
  const problems: string[] = [];
  const known = new Map<number, string>();
  for (const { step, id, json } of history.delivered) if (step <= steps) known.set(id, json);
  const highest = Math.max(0, ...known.keys());
  let log: EventLog;
  try {
    log = openLog(folder, HASTY, history);
  } catch (error) {
    return [`does not open: ${error instanceof Error ? error.message : String(error)}`];
  }
  const mayLose = powerLoss && !history.durable;
  const found = readAll(log);
  const late = found.findIndex(([id], index) => index > 0 && id <= (found[index - 1]?.[0] ?? 0));
  if (late >= 0) problems.push(`event ${found[late]?.[0]} comes after ${found[late - 1]?.[0]}`);
  for (const [id, json] of found) {
    const text = known.get(id);
    if (text === undefined ? !history.written.get(id)?.has(json) : text !== json)
      problems.push(`event ${id} is sent with other bytes`);
  }
  const floor = Math.max(0, ...history.cuts.filter(({ step }) => step <= steps).map(({ from }) => from));
  const here = new Set(found.map(([id]) => id));
  const missing = mayLose ? [] : [...known.keys()].filter((id) => id >= floor && !here.has(id));
  if (missing.length > 0) problems.push(`events ${missing.join(', ')} were delivered and are lost`);
  // Ids may start again if a log without syncs is empty after a power loss.
  const isNew = mayLose && log.latest === 0;
  const removed = { type: 'deployment.removed', data: {} };
  const { first, last } = await log.append([removed, removed]);
  if (!isNew && first <= highest) problems.push(`id ${first} is given out again; clients know ids up to ${highest}`);
  const after = readAll(log).map(([id]) => id);
  if (!after.includes(first) || after.at(-1) !== last)
    problems.push(`the new events ${first} and ${last} are not sent`);
  await log.close();
  const reopened = openLog(folder, HASTY, history);
  if (reopened.latest !== last || readAll(reopened).length !== after.length)
    problems.push('another start finds other events');
  await reopened.close();
  return problems;
}

function readAll(log: EventLog): [id: number, json: string][] {
  const reader = new LogReader(log, HASTY, log.earliest - 1);
  const found: [number, string][] = [];
  for (let portion = reader.read(); portion !== 'overtaken' && portion.length > 0; portion = reader.read()) {
    for (const { id, json } of portion) found.push([id, json]);
  }
  reader.close();
  return found;
}
