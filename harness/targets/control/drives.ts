/** What a check drove through control, with what the event log tells of it. */
import { FilesUnreadable, type TargetFiles } from '../files/target-files.ts';

/** What control said that it had done. */
export type Drive = { kind: 'deploy' | 'remove'; id: string } | { kind: 'publish'; first: bigint; last: bigint };

/** A drive after which the log was what it had been before. */
export interface Unseen {
  drive: Drive;
  /** The log before it; undefined when it could not be read. */
  mark: LogMark | undefined;
}

/** Bytes of each file of the log. */
type LogMark = ReadonlyMap<string, number>;

/** The event log of the agent: a file, or a folder of them. */
export interface LogPlace {
  path: string;
  files: TargetFiles;
}

/** A check that drives without end fills no memory. */
const MOST = 1000;

/** The drives of one check since it last stopped the agent: a restart may lose what was there before, and checks are about that. */
export class Drives {
  readonly #log: LogPlace | undefined;
  #all: Drive[] = [];
  #unseen: Unseen[] = [];
  /** Whether the log changed with any of them. */
  logChanged = false;
  /** The earliest event that is left, as control said at the last compaction. */
  compacted: bigint | undefined;

  constructor(log: LogPlace | undefined) {
    this.#log = log;
  }

  /** Makes a call, and keeps what control said that it had done. */
  async follow<T>(call: () => Promise<T>, drive: (answer: T) => Drive): Promise<T> {
    const mark = await markOf(this.#log);
    const answer = await call();
    const done = drive(answer);
    if (this.#all.length < MOST) this.#all.push(done);
    const after = await markOf(this.#log);
    // The first event of a device makes its log.
    if (after !== undefined && (mark === undefined || changed(mark, after))) this.logChanged = true;
    else if (this.#unseen.length < MOST) this.#unseen.push({ drive: done, mark });
    return answer;
  }

  /** The agent is stopped: what was driven before proves nothing any more. */
  clear(): void {
    this.#all = [];
    this.#unseen = [];
    this.compacted = undefined;
  }

  get all(): readonly Drive[] {
    return this.#all;
  }

  /** Those that may have left no trace. Of deployments the last one alone: it replaced the others. Compaction takes events away. */
  get unseen(): readonly Unseen[] {
    const last = this.#all.findLast(({ kind }) => kind !== 'publish');
    const left = this.compacted ?? 0n;
    return this.#unseen.filter(({ drive }) => (drive.kind === 'publish' ? drive.last >= left : drive === last));
  }

  /** Whether a log that is written late shows the drive by now. */
  async isInLog({ drive, mark }: Unseen): Promise<boolean> {
    return storesDrive(await addedSince(this.#log, mark), drive);
  }
}

/** Undefined when there is no log, or none that can be read. */
async function markOf(log: LogPlace | undefined): Promise<LogMark | undefined> {
  if (log === undefined) return undefined;
  const { path, files } = log;
  try {
    const found = await files.stat(path);
    if (found === undefined) return undefined;
    const entries = found.kind === 'folder' ? await files.list(path) : [{ path, size: found.size }];
    return new Map(entries.map((entry) => [entry.path, entry.size]));
  } catch (error) {
    if (error instanceof FilesUnreadable) return undefined;
    throw error;
  }
}

const changed = (before: LogMark, after: LogMark): boolean =>
  after.size !== before.size || [...after].some(([file, bytes]) => before.get(file) !== bytes);

/** What was written since the mark; all of a file that is shorter than it was. */
async function addedSince(log: LogPlace | undefined, mark: LogMark | undefined): Promise<string> {
  const now = await markOf(log);
  if (log === undefined || now === undefined) return '';
  const parts: string[] = [];
  for (const [path, bytes] of now) {
    const old = mark?.get(path) ?? 0;
    const content = await log.files.read(path);
    if (content !== undefined) parts.push(content.subarray(old <= bytes ? old : 0).toString('utf8'));
  }
  return parts.join('\n');
}

/** How an agent lays a line out is not stated: any JSON value may be the id. Other drives may have taken ids that control made up. */
function storesDrive(text: string, drive: Drive): boolean {
  const id = drive.kind === 'publish' ? String(drive.last) : drive.id;
  return drive.kind === 'publish' ? new RegExp(`(?<![\\w.-])${id}(?![\\w.-])`).test(text) : text.includes(id);
}
