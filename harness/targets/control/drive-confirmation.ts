/** Looks for a trace of what control said that it did, once a check has found something that control may have made up. */
import { NoAnswer, Unreachable } from '../../client/errors.ts';
import type { HttpClient } from '../../client/http.ts';
import { type EventStream, openEvents, StreamEnded, StreamTimeout } from '../../client/sse.ts';
import { pollWithin } from '../../common/waiting.ts';
import { type Control, ControlError, parseExact } from './control.ts';
import type { ControlledAgent } from './controlled-agent.ts';
import type { Drive, Drives, Unseen } from './drives.ts';

/** Long enough for an event that is published to come, milliseconds. */
const TRACE_MS = 2000;
const LOOK_MS = 20;
/** Several, as a device may give each subscriber a share of them. */
const SOME_EVENTS = 3;

/** Compares what control said with what the device shows. Control is contradicted only when there is no trace at all. */
export class DriveConfirmation {
  readonly #control: Control;
  readonly #agent: ControlledAgent;
  readonly #signal: AbortSignal;

  constructor(control: Control, agent: ControlledAgent, signal: AbortSignal) {
    this.#control = control;
    this.#agent = agent;
    this.#signal = signal;
  }

  /** What control said that is not so, in words; undefined when the target may have to answer for the finding. */
  async contradiction(drives: Drives): Promise<string | undefined> {
    if (drives.all.length === 0 && drives.compacted === undefined) return undefined;
    const http = await this.#agent.client(this.#signal);
    try {
      return (await this.#compaction(http, drives)) ?? (await this.#drive(http, drives));
    } catch (error) {
      // A device that does not answer now has to answer for that.
      if (error instanceof NoAnswer || error instanceof Unreachable) return undefined;
      throw error;
    } finally {
      await http.close();
    }
  }

  /** The device still has events that control said were compacted away. */
  async #compaction(http: HttpClient, drives: Drives): Promise<string | undefined> {
    const { compacted } = drives;
    const [oldest] = drives.all.flatMap((drive) => (drive.kind === 'publish' ? [drive.first] : []));
    if (compacted === undefined || oldest === undefined || oldest >= compacted - 1n) return undefined;
    const id = await firstAfter(http, oldest);
    if (id === undefined || id >= compacted) return undefined;
    return `control said that its log begins with event ${compacted} after a compaction, and the device still has event ${id}`;
  }

  async #drive(http: HttpClient, drives: Drives): Promise<string | undefined> {
    const untraced: Unseen[] = [];
    for (const unseen of drives.unseen)
      if (!(await drives.isInLog(unseen)) && !(await this.#isShown(http, unseen.drive))) untraced.push(unseen);
    const [first] = untraced;
    if (first === undefined) return undefined;
    const { drive } = first;
    if (drive.kind === 'remove')
      return `control said that it had removed ${drive.id}, and the device still shows it as deployed`;
    if (!this.#agent.logTells && (this.#agent.losesEvents || (await this.#isTruthful(http)))) return undefined;
    const where = this.#agent.logTells ? 'neither its event log nor what it serves' : 'nothing that it serves';
    return drive.kind === 'publish'
      ? `control said that it had published the events ${drive.first} to ${drive.last}, and the device shows none of them: ${where} has a trace`
      : `control said that it had deployed ${drive.id}, and the device does not show it: ${where} has a trace`;
  }

  /** Whether the device serves a trace of the drive. A log that tells nothing leaves events to `#isTruthful`. */
  async #isShown(http: HttpClient, drive: Drive): Promise<boolean> {
    if (drive.kind === 'publish')
      return this.#agent.logTells && (await this.#isReplayed(http, drive.first, drive.last));
    const shown = await current(http);
    if (drive.kind === 'deploy') return shown?.['id'] === drive.id;
    return shown?.['id'] !== drive.id || shown['activity_status'] !== 'deployed';
  }

  async #isReplayed(http: HttpClient, first: bigint, last: bigint): Promise<boolean> {
    const id = await firstAfter(http, first - 1n);
    return id !== undefined && id >= first && id <= last;
  }

  /** Has control publish, and deploy, once more beside a stream that is open: whether anything comes of it. */
  async #isTruthful(http: HttpClient): Promise<boolean> {
    const stream = await openEvents(http);
    try {
      if (stream.status !== 200) return this.#blame();
      const { first_id, last_id } = await this.#control.publish(SOME_EVENTS);
      if ((await firstId(stream)) !== undefined) return true;
      if (await this.#isReplayed(http, BigInt(first_id), BigInt(last_id))) return true;
      const { id } = await this.#control.deploy();
      const look = async () => ((await current(http))?.['id'] === id ? true : undefined);
      const wait = { timeoutMs: TRACE_MS, firstPauseMs: LOOK_MS, signal: this.#signal };
      if ((await pollWithin('the deployment to be shown', look, wait)) === undefined) return false;
      // Deployed, and no event: it is the device that loses events.
      return (await firstId(stream)) === undefined ? this.#blame() : false;
    } catch (error) {
      // A control that cannot do it again has shown nothing.
      if (error instanceof ControlError) return false;
      throw error;
    } finally {
      await stream.close();
    }
  }

  #blame(): true {
    this.#agent.losesEvents = true;
    return true;
  }
}

async function current(http: HttpClient): Promise<Record<string, unknown> | undefined> {
  const { json } = await http.get('/deployments/current');
  return typeof json === 'object' && json !== null ? (json as Record<string, unknown>) : undefined;
}

/** The id of the first event that is replayed after a cursor; undefined when there is none. */
async function firstAfter(http: HttpClient, after: bigint): Promise<bigint | undefined> {
  const stream = await openEvents(http, { after });
  try {
    return stream.status === 200 ? await firstId(stream) : undefined;
  } finally {
    await stream.close();
  }
}

/** The id of the next event, 0 for one without; undefined when none comes in time. */
async function firstId(stream: EventStream): Promise<bigint | undefined> {
  try {
    const { data } = await stream.next({ within: TRACE_MS, for: 'an event' });
    return idOf(data) ?? 0n;
  } catch (error) {
    if (error instanceof StreamTimeout || error instanceof StreamEnded) return undefined;
    throw error;
  }
}

function idOf(data: string | undefined): bigint | undefined {
  try {
    const { id } = parseExact(data ?? '') as { id?: unknown };
    return typeof id === 'number' || typeof id === 'bigint' ? BigInt(id) : undefined;
  } catch {
    return undefined;
  }
}
