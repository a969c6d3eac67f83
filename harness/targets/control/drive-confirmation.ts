/** Compares effects that control claims with the device and its event log, after a finding. */
import { join } from 'node:path';
import { NoAnswer, Unfinished, Unreachable } from '../../client/errors.ts';
import type { HttpClient } from '../../client/http.ts';
import { type EventStream, openEvents, StreamEnded, StreamTimeout } from '../../client/sse.ts';
import { pollWithin } from '../../common/waiting.ts';
import type { ControlDeployment, ControlPublished } from '../../contract/control.ts';
import type { Deployment } from '../../contract/device-api.ts';
import { type FileInfo, FilesUnreadable } from '../files/target-files.ts';
import {
  type CallName,
  type Control,
  type ControlAnswer,
  type ControlCall,
  ControlError,
  type Exact,
  eventIn,
} from './control.ts';
import type { AgentPlace, ControlledAgent } from './controlled-agent.ts';

export type Drive =
  | { kind: 'deploy'; id: string; files: NonNullable<ControlDeployment['config_instances']>; isDeployed: boolean }
  | { kind: 'remove'; id: string }
  | { kind: 'publish'; first: bigint; last: bigint };

export interface Unseen {
  drive: Drive;
  mark: LogMark | undefined;
}

type LogMark = ReadonlyMap<string, Pick<FileInfo, 'size' | 'version'>>;

const MOST_KEPT = 1000;

/** Successful calls of control in a check since the last stop; a restart may lose earlier effects. */
export class Drives {
  readonly #log: AgentPlace | undefined;
  #unseen: Unseen[] = [];
  all: Drive[] = [];
  logChanged = false;
  compacted: bigint | undefined;
  newest: Unseen | undefined;

  constructor(log: AgentPlace | undefined) {
    this.#log = log;
  }

  async follow(call: ControlCall, make: () => Promise<ControlAnswer>): Promise<ControlAnswer> {
    const mark = await this.mark();
    const answer = await make();
    const drive = driveOf(call, answer);
    if (drive === undefined) return answer;
    this.newest = { drive, mark };
    if (this.all.length < MOST_KEPT) this.all.push(drive);
    const after = await this.mark();
    // A new log counts as changed, because the first event creates the log.
    if (after !== undefined && (mark === undefined || changed(mark, after))) this.logChanged = true;
    else if (this.#unseen.length < MOST_KEPT) this.#unseen.push({ drive, mark });
    return answer;
  }

  clear(): void {
    this.all = [];
    this.#unseen = [];
    this.compacted = undefined;
  }

  get unseen(): readonly Unseen[] {
    const last = this.all.findLast(({ kind }) => kind !== 'publish');
    const left = this.compacted ?? 0n;
    return this.#unseen.filter(({ drive }) => (drive.kind === 'publish' ? drive.last >= left : drive === last));
  }

  async mark(): Promise<LogMark | undefined> {
    if (this.#log === undefined) return undefined;
    const { path, files } = this.#log;
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

  /**
   * Searches new text of the log for the drive's last id, because earlier ids may belong to different drives. The
   * specification leaves the layout of a line to the agent.
   */
  async isInLog({ drive, mark }: Unseen): Promise<boolean> {
    const added = await this.addedSince(mark);
    return drive.kind === 'publish'
      ? new RegExp(`(?<![\\w.-])${drive.last}(?![\\w.-])`).test(added)
      : added.includes(drive.id);
  }

  async addedSince(mark: LogMark | undefined): Promise<string> {
    return this.#parts((path, size) => {
      const old = mark?.get(path)?.size ?? 0;
      const from = old <= size ? old : 0;
      return { from, bytes: size - from };
    });
  }

  beginnings(): Promise<string> {
    // Reads 1 MiB of each log file, more than the first event takes.
    return this.#parts(() => ({ from: 0, bytes: 2 ** 20 }));
  }

  /** Reads a part of each file of the log, because a million events may not fit into memory. */
  async #parts(partOf: (path: string, size: number) => { from: number; bytes: number }): Promise<string> {
    let text = '';
    for (const [path, { size }] of (await this.mark()) ?? []) {
      const { from, bytes } = partOf(path, size);
      const part = await this.#log?.files.readPart(path, from, bytes);
      text += `${part?.toString('utf8') ?? ''}\n`;
    }
    return text;
  }
}

function driveOf(call: ControlCall, answer: ControlAnswer): Drive | undefined {
  if (call.name === 'deploy') {
    const { id, activity_status: activity } = answer as Deployment;
    return { kind: 'deploy', id, files: call.request.config_instances ?? [], isDeployed: activity === 'deployed' };
  }
  if (call.name === 'remove') return { kind: 'remove', id: call.deploymentId };
  if (call.name !== 'publish') return undefined;
  const { first_id, last_id } = answer as Exact<ControlPublished>;
  return { kind: 'publish', first: BigInt(first_id), last: BigInt(last_id) };
}

const changed = (before: LogMark, after: LogMark): boolean =>
  after.size !== before.size ||
  [...after].some(([file, { size, version }]) => {
    const old = before.get(file);
    return old?.size !== size || old.version !== version;
  });

export interface FalseClaim {
  call: CallName;
  why: string;
  doneAgain?: true;
}

export interface ConfirmationContext {
  control: Control;
  agent: Pick<ControlledAgent, 'ask' | 'logTells' | 'losesEvents' | 'config'>;
  signal: AbortSignal;
  /** Milliseconds within which an effect of control must show on the device or in the log. Default 2000. */
  traceMs?: number;
}

interface Looking extends Required<ConfirmationContext> {
  http: HttpClient;
  drives: Drives;
}

/**
 * Reason why the ids that control named for `count` events are wrong. Too few ids are always wrong; other ids only if
 * log and stream both contradict control, because the agent may be at fault.
 */
export async function wrongIds(drives: Drives, count: number, asked: ConfirmationContext): Promise<string | undefined> {
  const { drive, mark } = drives.newest ?? {};
  if (drive?.kind !== 'publish') return undefined;
  const { first: from, last } = drive;
  const named = last - from + 1n;
  if (named < BigInt(count)) return `control named ${named} events, ${from} to ${last}, after a request for ${count}`;
  if (mark === undefined) return undefined;
  const logged = idsIn(await drives.addedSince(mark));
  const [first] = logged;
  if (first === undefined || logged.length !== count || logged.includes(last)) return undefined;
  // Asks the stream for event `last` too, because a log that is written late holds only events of earlier calls.
  const isTrue = async (looking: Looking) =>
    (await firstAfter(looking, first - 1n)) !== first || (await firstAfter(looking, last - 1n)) === last;
  if ((await ask(drives, asked, isTrue)) !== false) return undefined;
  return `control named the events ${from} to ${last}, and the log has ${first} to ${logged.at(-1)}`;
}

/** Reason if log and stream both contradict the earliest event that control named after a compaction. */
export async function wrongEarliest(drives: Drives, asked: ConfirmationContext): Promise<string | undefined> {
  const { compacted } = drives;
  if (compacted === undefined || !asked.agent.logTells) return undefined;
  const [first] = idsIn(await drives.beginnings()).toSorted((a, b) => Number(a - b));
  if (first === undefined || first <= compacted) return undefined;
  const served = await ask(drives, asked, (looking) => firstAfter(looking, compacted));
  if (served !== GONE && (served === undefined || served < first)) return undefined;
  return `control said that the log begins with event ${compacted}, and the log begins with event ${first}`;
}

const idsIn = (lines: string): bigint[] => lines.split('\n').flatMap((line) => idOf(line) ?? []);

const ask = <T>(
  drives: Drives,
  asked: ConfirmationContext,
  question: (looking: Looking) => Promise<T>,
): Promise<T | undefined> =>
  asked.agent
    .ask(asked.signal, (http) => question({ traceMs: 2000, ...asked, http, drives }))
    .catch((error: unknown) => {
      if ([NoAnswer, Unfinished, Unreachable].some((kind) => error instanceof kind)) return undefined;
      throw error;
    });

/** Claim of control that the device contradicts; without one, the finding counts against the target. */
export async function findFalseClaim(drives: Drives, asked: ConfirmationContext): Promise<FalseClaim | undefined> {
  if (drives.all.length === 0 && drives.compacted === undefined) return undefined;
  return await ask(drives, asked, async (looking) => (await untrueCompaction(looking)) ?? untrueDrive(looking));
}

async function untrueCompaction(looking: Looking): Promise<FalseClaim | undefined> {
  const { compacted, all } = looking.drives;
  if (compacted === undefined) return undefined;
  const published = all.flatMap((drive) => (drive.kind === 'publish' && drive.first < compacted ? [drive.first] : []));
  for (const cursor of [compacted - 2n, published.at(-1), published[0]]) {
    if (cursor === undefined || cursor < 0n) continue;
    const id = await firstAfter(looking, cursor);
    if (id === undefined || id < 0n || id >= compacted) continue;
    const said = `control said that the log begins with event ${compacted} after a compaction`;
    return { call: 'compact', why: `${said}, and the device still has event ${id}` };
  }
  return undefined;
}

async function untrueDrive(looking: Looking): Promise<FalseClaim | undefined> {
  for (const one of looking.drives.unseen) {
    const { drive } = one;
    if (await hadEffect(looking, drive)) continue;
    if (looking.agent.logTells && (await isLogged(looking, one))) {
      if (drive.kind !== 'publish' || !(await answersEarly(looking))) continue;
      return { call: 'publish', why: 'control answered before the device had published the events' };
    }
    // Only a deployment in the state `deployed` causes an event in the log.
    const logTells = looking.agent.logTells && (drive.kind !== 'deploy' || drive.isDeployed);
    if (!logTells && (await isTruthful(looking, drive.kind))) return undefined;
    if (logTells && drive.kind === 'publish' && (await losesEvents(looking))) return undefined;
    const what =
      drive.kind === 'publish'
        ? `published the events ${drive.first} to ${drive.last}`
        : `${DONE[drive.kind]} ${drive.id}`;
    const why = `control said that it had ${what}, and the device shows no trace of it`;
    if (!logTells || drive.kind !== 'publish') return { call: drive.kind, why };
    const { control, signal } = looking;
    const publish = async () => driveOf({ name: 'publish', count: 1 }, await control.publish(1, signal));
    const isLoggedNow = (await isLost(looking, publish)) === false;
    return { call: drive.kind, why, ...(isLoggedNow && { doneAgain: true }) };
  }
  return undefined;
}

async function hadEffect({ http, agent }: Looking, drive: Drive): Promise<boolean> {
  if (drive.kind === 'publish') return false;
  const shown = await current(http);
  if (drive.kind === 'remove') return !(shown['id'] === drive.id && shown['activity_status'] === 'deployed');
  if (shown['id'] === drive.id) return true;
  for (const { filepath, content } of agent.config === undefined ? [] : drive.files) {
    const found = await agent.config?.files.read(join(agent.config.path, filepath));
    if (found?.equals(Buffer.from(content))) return true;
  }
  return false;
}

async function shows({ traceMs, signal }: Looking, what: string, look: () => Promise<boolean>): Promise<boolean> {
  const wait = { timeoutMs: traceMs, firstPauseMs: 20, signal };
  return (await pollWithin(what, async () => (await look()) || undefined, wait)) ?? false;
}

const isLogged = (looking: Looking, one: Unseen): Promise<boolean> =>
  shows(looking, 'the log to be written', () => looking.drives.isInLog(one));

const isCurrent = (looking: Looking, id: string): Promise<boolean> =>
  shows(looking, 'the deployment to be shown', async () => (await current(looking.http))['id'] === id);

async function losesEvents(looking: Looking): Promise<boolean> {
  const { agent, control, signal } = looking;
  const deploy = async (): Promise<Drive | undefined> => {
    const { id } = await control.deploy({}, signal);
    return (await isCurrent(looking, id)) ? { kind: 'deploy', id, files: [], isDeployed: true } : undefined;
  };
  agent.losesEvents ||= (await isLost(looking, deploy)) === true;
  return agent.losesEvents;
}

async function isLost(looking: Looking, make: () => Promise<Drive | undefined>): Promise<boolean | undefined> {
  const mark = await looking.drives.mark();
  const drive = await make().catch((error: unknown) => {
    if (error instanceof ControlError) return undefined;
    throw error;
  });
  return drive && !(await isLogged(looking, { drive, mark }));
}

/** Publishes an event; true if control answers half a second before stream and log have the event. */
async function answersEarly(looking: Looking): Promise<boolean> {
  const stream = await openEvents(looking.http);
  try {
    const mark = await looking.drives.mark();
    const drive = driveOf({ name: 'publish', count: 1 }, await looking.control.publish(1, looking.signal));
    if (drive === undefined || stream.status !== 200) return false;
    const isPrompt = (await firstId({ ...looking, traceMs: 500 }, stream)) !== undefined;
    if (isPrompt || (await looking.drives.isInLog({ drive, mark }))) return false;
    return (await firstId(looking, stream)) !== undefined;
  } catch (error) {
    if (error instanceof ControlError) return false;
    throw error;
  } finally {
    await stream.close();
  }
}

async function isTruthful(looking: Looking, kind: Drive['kind']): Promise<boolean> {
  const stream = await openEvents(looking.http);
  try {
    if (stream.status !== 200) return true;
    if (kind === 'publish') return await publishes(looking, stream);
    const { id } = await looking.control.deploy({}, looking.signal);
    return (await isCurrent(looking, id)) || (await firstId(looking, stream)) !== undefined;
  } catch (error) {
    if (error instanceof ControlError) return false;
    throw error;
  } finally {
    await stream.close();
  }
}

async function publishes(looking: Looking, stream: EventStream): Promise<boolean> {
  const { agent, control, signal } = looking;
  if (agent.losesEvents) return true;
  const { last_id } = await control.publish(3, signal);
  if ((await firstId(looking, stream)) !== undefined) return true;
  const last = BigInt(last_id);
  if ((await firstAfter(looking, last - 1n)) === last) return true;
  // A deployment that shows without an event proves that the device loses events.
  const { id } = await control.deploy({}, signal);
  agent.losesEvents = (await isCurrent(looking, id)) && (await firstId(looking, stream)) === undefined;
  return agent.losesEvents;
}

async function firstAfter(looking: Looking, after: bigint): Promise<bigint | undefined> {
  const stream = await openEvents(looking.http, { after });
  try {
    if (stream.status === 200) return await firstId(looking, stream);
    return stream.status === 410 ? GONE : undefined;
  } finally {
    await stream.close();
  }
}

/** Result for an event without a readable id; no event id is negative. */
const UNREADABLE = -1n;
/** Result for a cursor that the agent answers with 410; no event id is negative. */
const GONE = -2n;

async function firstId({ traceMs }: Looking, stream: EventStream): Promise<bigint | undefined> {
  try {
    const { id, data } = await stream.next({ within: traceMs, for: 'an event' });
    return idOf(data) ?? (/^\d+$/.test(id ?? '') ? BigInt(id ?? '') : UNREADABLE);
  } catch (error) {
    if (error instanceof StreamTimeout || error instanceof StreamEnded) return undefined;
    throw error;
  }
}

const DONE = { deploy: 'deployed', remove: 'removed' };

const current = async (http: HttpClient): Promise<Record<string, unknown>> =>
  Object((await http.get('/deployments/current')).json);

function idOf(data: string | undefined): bigint | undefined {
  const id = eventIn(data ?? '')?.id;
  return id === undefined || !(typeof id === 'bigint' || Number.isInteger(id)) ? undefined : BigInt(id);
}
