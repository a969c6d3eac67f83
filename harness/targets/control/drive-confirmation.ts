/**
 * What control said that it had done, and whether it had: keeps what a check drove, with what the event log tells of
 * it, and looks for a trace of it on the device once the check has found something that control may have made up.
 */
import { join } from 'node:path';
import { NoAnswer, Unfinished, Unreachable } from '../../client/errors.ts';
import type { HttpClient } from '../../client/http.ts';
import { type EventStream, openEvents, StreamEnded, StreamTimeout } from '../../client/sse.ts';
import { pollWithin } from '../../common/waiting.ts';
import type { ControlDeployment, ControlPublished } from '../../contract/control.ts';
import type { Deployment } from '../../contract/device-api.ts';
import { type FileInfo, FilesUnreadable } from '../files/target-files.ts';
import {
  type Answer,
  type CallName,
  type Control,
  type ControlCall,
  ControlError,
  type Exact,
  eventIn,
} from './control.ts';
import type { AgentPlace, ControlledAgent } from './controlled-agent.ts';

type ConfigFiles = NonNullable<ControlDeployment['config_instances']>;

/** What control said that it had done. */
export type Drive =
  | { kind: 'deploy'; id: string; files: ConfigFiles }
  | { kind: 'remove'; id: string }
  | { kind: 'publish'; first: bigint; last: bigint };

/** A drive after which the log was what it had been before. */
export interface Unseen {
  drive: Drive;
  /** The log before it; undefined when it could not be read. */
  mark: LogMark | undefined;
}

/** Each file of the log. */
type LogMark = ReadonlyMap<string, Pick<FileInfo, 'size' | 'version'>>;

/** A check that drives without end fills no memory. */
const MOST_KEPT = 1000;

/**
 * The drives of one check since it last stopped the agent: a restart may lose what was there before, and checks are
 * about that.
 */
export class Drives {
  readonly #log: AgentPlace | undefined;
  #all: Drive[] = [];
  #unseen: Unseen[] = [];
  /** Whether the log changed with any of them. */
  logChanged = false;
  /** The earliest event that is left, as control said at the last compaction. */
  compacted: bigint | undefined;

  constructor(log: AgentPlace | undefined) {
    this.#log = log;
  }

  /** Makes a call with `make`, and keeps what control said that it had done. */
  async follow(call: ControlCall, make: () => Promise<Answer>): Promise<Answer> {
    const mark = await this.mark();
    const answer = await make();
    const drive = driveOf(call, answer);
    if (drive === undefined) return answer;
    if (this.#all.length < MOST_KEPT) this.#all.push(drive);
    const after = await this.mark();
    // The first event of a device makes its log.
    if (after !== undefined && (mark === undefined || changed(mark, after))) this.logChanged = true;
    else if (this.#unseen.length < MOST_KEPT) this.#unseen.push({ drive, mark });
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

  /**
   * Those that may have left no trace. Of deployments the last one alone: it replaced the others. Compaction takes
   * events away.
   */
  get unseen(): readonly Unseen[] {
    const last = this.#all.findLast(({ kind }) => kind !== 'publish');
    const left = this.compacted ?? 0n;
    return this.#unseen.filter(({ drive }) => (drive.kind === 'publish' ? drive.last >= left : drive === last));
  }

  /** The log as it is now. */
  mark(): Promise<LogMark | undefined> {
    return markOf(this.#log);
  }

  /** Whether a log that is written late shows the drive by now. */
  async isInLog({ drive, mark }: Unseen): Promise<boolean> {
    return storesDrive(await addedSince(this.#log, mark), drive);
  }
}

function driveOf(call: ControlCall, answer: Answer): Drive | undefined {
  if (call.name === 'deploy')
    return { kind: 'deploy', id: (answer as Deployment).id, files: call.request.config_instances ?? [] };
  if (call.name === 'remove') return { kind: 'remove', id: call.deploymentId };
  if (call.name !== 'publish') return undefined;
  const { first_id, last_id } = answer as Exact<ControlPublished>;
  return { kind: 'publish', first: BigInt(first_id), last: BigInt(last_id) };
}

/** Undefined when there is no log, or none that can be read. */
async function markOf(log: AgentPlace | undefined): Promise<LogMark | undefined> {
  if (log === undefined) return undefined;
  const { path, files } = log;
  try {
    const found = await files.stat(path);
    if (found === undefined) return undefined;
    const entries = found.kind === 'folder' ? await files.list(path) : [{ path, ...found }];
    return new Map(entries.map((entry) => [entry.path, entry]));
  } catch (error) {
    if (error instanceof FilesUnreadable) return undefined;
    throw error;
  }
}

const changed = (before: LogMark, after: LogMark): boolean =>
  after.size !== before.size ||
  [...after].some(([file, { size, version }]) => {
    const old = before.get(file);
    return old?.size !== size || old.version !== version;
  });

/** What was written since the mark; all of a file that is shorter than it was. */
async function addedSince(log: AgentPlace | undefined, mark: LogMark | undefined): Promise<string> {
  const now = await markOf(log);
  if (log === undefined || now === undefined) return '';
  const parts: string[] = [];
  for (const [path, { size: bytes }] of now) {
    const old = mark?.get(path)?.size ?? 0;
    const content = await log.files.read(path);
    if (content !== undefined) parts.push(content.subarray(old <= bytes ? old : 0).toString('utf8'));
  }
  return parts.join('\n');
}

/**
 * How an agent lays a line out is not stated: any JSON value may be the id. Other drives may have taken ids that
 * control made up.
 */
function storesDrive(text: string, drive: Drive): boolean {
  const id = drive.kind === 'publish' ? String(drive.last) : drive.id;
  return drive.kind === 'publish' ? new RegExp(`(?<![\\w.-])${id}(?![\\w.-])`).test(text) : text.includes(id);
}

const TRACE_MS = 2000;
const LOOK_MS = 20;
/** Several, as a device may give each subscriber a share of them. */
const SOME_EVENTS = 3;

/** What control said that is not so. */
export interface Untrue {
  call: CallName;
  /** In words. */
  why: string;
  /** It did such a thing when it was asked once more. */
  doneAgain?: true;
}

/** Who is asked for traces. */
export interface Asked {
  control: Control;
  /** Also what is learnt about it. */
  agent: Pick<ControlledAgent, 'ask' | 'logTells' | 'losesEvents' | 'config'>;
  signal: AbortSignal;
  /** How long a trace may take to come, milliseconds. Default 2000: long enough for an event that is published. */
  traceMs?: number;
}

/** While the device is asked. */
interface Looking extends Required<Asked> {
  http: HttpClient;
  drives: Drives;
}

/**
 * Compares what control said with what the device shows. Control is contradicted only when there is no trace at all;
 * undefined when the target may have to answer for what was found.
 */
export async function contradiction(drives: Drives, asked: Asked): Promise<Untrue | undefined> {
  if (drives.all.length === 0 && drives.compacted === undefined) return undefined;
  const compare = async (http: HttpClient) => {
    const looking = { traceMs: TRACE_MS, ...asked, http, drives };
    return (await untrueCompaction(looking)) ?? (await untrueDrive(looking));
  };
  return await asked.agent.ask(asked.signal, compare).catch((error: unknown) => {
    // A device that does not answer now says nothing for control.
    if (SILENCES.some((kind) => error instanceof kind)) return undefined;
    throw error;
  });
}

/** The device still has events that control said were compacted away. */
async function untrueCompaction(looking: Looking): Promise<Untrue | undefined> {
  const { compacted, all } = looking.drives;
  if (compacted === undefined) return undefined;
  const published = all.flatMap((drive) => (drive.kind === 'publish' && drive.first < compacted ? [drive.first] : []));
  for (const cursor of [compacted - 2n, published.at(-1), published[0]]) {
    if (cursor === undefined || cursor < 0n) continue;
    const id = await firstAfter(looking, cursor);
    if (id === undefined || id === UNTOLD || id >= compacted) continue;
    const why =
      `control said that the log begins with event ${compacted} after a compaction, and the device still ` +
      `has event ${id}`;
    return { call: 'compact', why };
  }
  return undefined;
}

async function untrueDrive(looking: Looking): Promise<Untrue | undefined> {
  for (const one of looking.drives.unseen) {
    if (await isTraced(looking, one)) continue;
    const { drive } = one;
    const { logTells } = looking.agent;
    if (!logTells && (await isTruthful(looking, drive.kind))) return undefined;
    if (logTells && drive.kind === 'publish' && (await losesEvents(looking))) return undefined;
    const what =
      drive.kind === 'publish'
        ? `published the events ${drive.first} to ${drive.last}`
        : `${DONE[drive.kind]} ${drive.id}`;
    const why = `control said that it had ${what}, and the device shows no trace of it`;
    const doneAgain = logTells && drive.kind === 'publish' && (await publishesAgain(looking));
    return { call: drive.kind, why, ...(doneAgain && { doneAgain }) };
  }
  return undefined;
}

/**
 * Whether the device or its log shows the drive by now. Without a log that tells something, events leave it to
 * `isTruthful`.
 */
async function isTraced(looking: Looking, one: Unseen): Promise<boolean> {
  if (await hadEffect(looking, one.drive)) return true;
  return looking.agent.logTells && (await isLogged(looking, one));
}

/** An event alone has none. */
async function hadEffect({ http, agent }: Looking, drive: Drive): Promise<boolean> {
  if (drive.kind === 'publish') return false;
  const shown = await current(http);
  if (drive.kind === 'remove') return !(shown?.['id'] === drive.id && shown['activity_status'] === 'deployed');
  return shown?.['id'] === drive.id || (await isWritten(agent.config, drive.files));
}

/** Whether one of the files is where it belongs. */
async function isWritten(config: AgentPlace | undefined, files: ConfigFiles): Promise<boolean> {
  if (config === undefined) return false;
  for (const { filepath, content } of files) {
    const found = await config.files.read(join(config.path, filepath));
    if (found?.equals(Buffer.from(content))) return true;
  }
  return false;
}

async function isLogged(looking: Looking, one: Unseen): Promise<boolean> {
  const look = async () => (await looking.drives.isInLog(one)) || undefined;
  return (await pollWithin('the log to be written', look, waitOf(looking))) ?? false;
}

/**
 * Whether the device loses the event of a deployment that it shows, so that one which is missing says nothing against
 * control. Nobody listens meanwhile: that may be why.
 */
async function losesEvents(looking: Looking): Promise<boolean> {
  const { agent, control, signal } = looking;
  const lost =
    agent.losesEvents ||
    (await isLost(looking, async () => {
      const { id } = await control.deploy({}, signal);
      return (await isCurrent(looking, id)) ? { kind: 'deploy', id, files: [] } : undefined;
    }));
  agent.losesEvents = lost === true;
  return agent.losesEvents;
}

/** Whether an event that control publishes once more is in the log. */
async function publishesAgain(looking: Looking): Promise<true | undefined> {
  const { control, signal } = looking;
  const lost = await isLost(looking, async () => {
    const { first_id, last_id } = await control.publish(1, signal);
    return { kind: 'publish', first: BigInt(first_id), last: BigInt(last_id) };
  });
  return lost === false || undefined;
}

/** Whether the log lacks what is driven; undefined when nothing was, or control could not do it. */
async function isLost(looking: Looking, make: () => Promise<Drive | undefined>): Promise<boolean | undefined> {
  const mark = await looking.drives.mark();
  const drive = await make().catch((error: unknown) => {
    if (error instanceof ControlError) return undefined;
    throw error;
  });
  return drive && !(await isLogged(looking, { drive, mark }));
}

/** Has control do such a thing once more beside a stream that is open: whether anything comes of it. */
async function isTruthful(looking: Looking, kind: Drive['kind']): Promise<boolean> {
  const stream = await openEvents(looking.http);
  try {
    if (stream.status !== 200) return true;
    return kind === 'publish' ? await publishes(looking, stream) : await deploys(looking, stream);
  } catch (error) {
    // A control that cannot do it again has shown nothing.
    if (error instanceof ControlError) return false;
    throw error;
  } finally {
    await stream.close();
  }
}

async function publishes(looking: Looking, stream: EventStream): Promise<boolean> {
  const { agent, control, signal } = looking;
  if (agent.losesEvents) return true;
  const { last_id } = await control.publish(SOME_EVENTS, signal);
  if ((await firstId(looking, stream)) !== undefined) return true;
  const last = BigInt(last_id);
  if ((await firstAfter(looking, last - 1n)) === last) return true;
  // Deployed, and no event: it is the device that loses events.
  const { id } = await control.deploy({}, signal);
  agent.losesEvents = (await isCurrent(looking, id)) && (await firstId(looking, stream)) === undefined;
  return agent.losesEvents;
}

async function deploys(looking: Looking, stream: EventStream): Promise<boolean> {
  const { id } = await looking.control.deploy({}, looking.signal);
  return (await isCurrent(looking, id)) || (await firstId(looking, stream)) !== undefined;
}

async function isCurrent(looking: Looking, id: string): Promise<boolean> {
  const look = async () => ((await current(looking.http))?.['id'] === id ? true : undefined);
  return (await pollWithin('the deployment to be shown', look, waitOf(looking))) ?? false;
}

/** The id of the first event that is replayed after a cursor; undefined when there is none. */
async function firstAfter(looking: Looking, after: bigint): Promise<bigint | undefined> {
  const stream = await openEvents(looking.http, { after });
  try {
    return stream.status === 200 ? await firstId(looking, stream) : undefined;
  } finally {
    await stream.close();
  }
}

/** Of an event whose id nobody can read. */
const UNTOLD = -1n;

/** The id of the next event, as its envelope or its frame tells; undefined when none comes in time. */
async function firstId({ traceMs }: Looking, stream: EventStream): Promise<bigint | undefined> {
  try {
    const { id, data } = await stream.next({ within: traceMs, for: 'an event' });
    return idOf(data) ?? (/^\d+$/.test(id ?? '') ? BigInt(id ?? '') : UNTOLD);
  } catch (error) {
    if (error instanceof StreamTimeout || error instanceof StreamEnded) return undefined;
    throw error;
  }
}

const waitOf = ({ traceMs, signal }: Looking) => ({ timeoutMs: traceMs, firstPauseMs: LOOK_MS, signal });

const SILENCES = [NoAnswer, Unfinished, Unreachable];
const DONE = { deploy: 'deployed', remove: 'removed' };

async function current(http: HttpClient): Promise<Record<string, unknown> | undefined> {
  const { json } = await http.get('/deployments/current');
  return typeof json === 'object' && json !== null ? (json as Record<string, unknown>) : undefined;
}

function idOf(data: string | undefined): bigint | undefined {
  const id = eventIn(data ?? '')?.id;
  return id === undefined || !(typeof id === 'bigint' || Number.isInteger(id)) ? undefined : BigInt(id);
}
