/** Records the calls of a check's control, and separates control faults from findings. */
import { NoAnswer, Unfinished, Unreachable } from '../../client/errors.ts';
import type { Recorder } from '../../client/recorder.ts';
import type { ControlCompacted, ControlInfo } from '../../contract/control.ts';
import type { TargetHooks } from '../../runner/types.ts';
import { Violation } from '../../runner/violation.ts';
import {
  type CallName,
  Control,
  type ControlAnswer,
  type ControlCall,
  ControlError,
  ControlLate,
  ControlRefused,
  type Exact,
} from './control.ts';
import type { ControlledAgent } from './controlled-agent.ts';
import { type ConfirmationContext, Drives, findFalseClaim, wrongEarliest, wrongIds } from './drive-confirmation.ts';

function inWords(call: ControlCall): string {
  if (call.name === 'deploy') return `deploy ${JSON.stringify(call.request)}`;
  if (call.name === 'remove') return `remove ${call.deploymentId}`;
  if (call.name === 'publish') return `publish ${call.count} event${call.count === 1 ? '' : 's'}`;
  if (call.name === 'stop') return `stop the agent (${call.signal})`;
  if (call.name === 'start') return 'start the agent';
  return `${call.name satisfies 'compact'} the event log`;
}

const DRIVES: ReadonlySet<CallName> = new Set(['deploy', 'remove', 'publish']);

const ID_FIELDS: ReadonlySet<string> = new Set(['id', 'first_id', 'last_id', 'earliest_id', 'latest_id']);

/** Failed calls reject with ControlError. */
export class CheckControl extends Control implements TargetHooks {
  readonly kind: string;
  readonly #control: Control;
  readonly #agent: ControlledAgent;
  readonly #signal: AbortSignal;
  readonly #recorder: Recorder;
  readonly #drives: Drives;
  #failure: ControlError | undefined;
  #stopped = new AbortController();

  constructor(control: Control, agent: ControlledAgent, signal: AbortSignal, recorder: Recorder) {
    super();
    this.kind = control.kind;
    this.#control = control;
    this.#agent = agent;
    this.#signal = signal;
    this.#recorder = recorder;
    this.#drives = new Drives(agent.log);
  }

  info(): Promise<ControlInfo> {
    return this.#control.info(this.#signal);
  }
  override line(call: ControlCall): string | undefined {
    return this.#control.line(call);
  }

  async call(call: ControlCall, over?: AbortSignal): Promise<ControlAnswer> {
    if (call.name === 'compact') return this.#compact(call, over);
    if (call.name === 'stop') return this.#stop(call, over);
    if (call.name === 'start') return this.#start(call, over);
    const answer = await this.#drives.follow(call, () => this.#make(call, over));
    if (this.#drives.logChanged) this.#agent.logTells = true;
    // Compares the ids of three batches with the log; a control that counts wrongly does so from the start.
    if (call.name !== 'publish' || call.count < 2 || this.#agent.idsCompared >= 3) return answer;
    this.#agent.idsCompared += 1;
    this.#expectTrue('publish', await wrongIds(this.#drives, call.count, this.#asked));
    return answer;
  }

  async #compact(call: ControlCall, over: AbortSignal | undefined, again = false): Promise<ControlAnswer> {
    // Marks the agent as stopping, because some agents restart to compact and may stay down.
    this.#agent.stopping();
    const compacted = (await this.#make(call, over)) as Exact<ControlCompacted>;
    this.#agent.started();
    this.#drives.compacted = BigInt(compacted.earliest_id);
    const why = await wrongEarliest(this.#drives, this.#asked);
    // Compacts again before blaming control, because the agent's own event may have displaced the earliest event.
    if (why !== undefined && !again) return this.#compact(call, over, true);
    this.#expectTrue('compact', why);
    return compacted;
  }

  async #stop(call: ControlCall, over: AbortSignal | undefined): Promise<undefined> {
    this.#drives.clear();
    this.#agent.stopping();
    await this.#make(call, over);
    // Aborts pending calls, because one that needs the stopped agent would wait until its time limit.
    this.#stopped.abort(new ControlRefused('control: the agent was stopped meanwhile'));
    this.#stopped = new AbortController();
    // Forgets earlier failures, because a stop may cut off pending calls.
    this.#failure = undefined;
    await this.#agent.expectDown(this.#signal);
  }

  async #start(call: ControlCall, over: AbortSignal | undefined): Promise<undefined> {
    try {
      await this.#make(call, over);
    } catch (error) {
      this.#agent.notStarted(error);
      throw error;
    }
    this.#agent.started();
    this.#failure = undefined;
  }

  async prepare(): Promise<void> {
    await this.#agent.ready(this.#control, this.#signal);
  }

  async reconsider(error: unknown): Promise<unknown> {
    if (!(error instanceof Violation)) return error;
    if (this.#failure !== undefined) return this.#failure;
    if (this.#control.seesDevice) return error;
    const untrue = await findFalseClaim(this.#drives, this.#asked);
    if (untrue === undefined) return error;
    const { untrue: known, doubted } = this.#agent;
    if (untrue.doneAgain !== true || doubted.has(untrue.call)) known.set(untrue.call, untrue.why);
    doubted.add(untrue.call);
    return new ControlError(untrue.why);
  }

  get #asked(): ConfirmationContext {
    return { control: this.#control, agent: this.#agent, signal: this.#signal };
  }

  #expectTrue(name: CallName, why: string | undefined): void {
    if (why === undefined) return;
    this.#agent.untrue.set(name, why);
    throw new ControlError(why);
  }

  async #make(call: ControlCall, over: AbortSignal | undefined): Promise<ControlAnswer> {
    this.#throwIfOver();
    const { name } = call;
    const limit = this.#limit(name);
    const stopped = DRIVES.has(name) ? this.#stopped.signal : undefined;
    const signal = AbortSignal.any([this.#signal, over, limit, stopped].filter((one) => one !== undefined));
    const restarts = name === 'stop' || name === 'start';
    const drive = this.#recorder.drove({ what: inWords(call), line: this.#control.line(call), restarts });
    const started = performance.now();
    try {
      const answer = await this.#control.call(call, signal);
      this.#throwIfOver();
      this.#agent.late.delete(name);
      const ids = Object.entries(answer ?? {}).filter(([name]) => ID_FIELDS.has(name));
      drive.ids = Object.fromEntries(ids.map(([name, value]) => [name, String(value)]));
      return answer;
    } catch (error) {
      const late = error instanceof ControlLate || limit?.aborted === true;
      // Counts a call as late after 10 s, too, if its check ends during the call.
      if (late || (this.#signal.aborted && performance.now() - started > 10_000))
        this.#agent.late.set(name, (this.#agent.late.get(name) ?? 0) + 1);
      this.#throwIfOver();
      stopped?.throwIfAborted();
      const failure = asControlError(name, error, limit?.aborted === true);
      if (failure === undefined) throw error;
      if (!(failure instanceof ControlRefused)) this.#failure = failure;
      throw failure;
    } finally {
      this.#recorder.ended(drive);
    }
  }

  #limit(name: CallName): AbortSignal | undefined {
    const why = this.#agent.untrue.get(name);
    if (why !== undefined) throw new ControlError(`control ${name}: not called again: ${why}`);
    const late = this.#agent.late.get(name) ?? 0;
    if (late >= 2)
      throw new ControlLate(`control ${name}: not called again, as it did not answer the last ${late} times`);
    // A call after a late one gets 6 s; the slowest call of the reference took 1,750 ms under load.
    return late > 0 ? AbortSignal.timeout(6000) : undefined;
  }

  #throwIfOver(): void {
    if (this.#signal.aborted) throw new ControlError('control: the check is over');
  }
}

function asControlError(name: CallName, error: unknown, lateAgain: boolean): ControlError | undefined {
  if (lateAgain) return new ControlLate(`control ${name}: no answer in time, after one that came too late`);
  // Blames not the target, but a server on which control depends, e.g. a platform.
  if (error instanceof NoAnswer || error instanceof Unfinished || error instanceof Unreachable)
    return new ControlError(`control ${name}: ${error.message}`, { cause: error });
  return error instanceof ControlError ? error : undefined;
}
