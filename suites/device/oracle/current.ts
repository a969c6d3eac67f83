/** Model of the current deployment and its config files. */
import { basename } from 'node:path';
import type { Deployment } from '../../../harness/contract/device-api.ts';
import { instantOf } from '../../../harness/contract/shape.ts';
import type { Device } from '../support/check.ts';
import { type ConfigFile, compareFiles, configRoot, fileThatStays } from '../support/disk.ts';
import { isDeployedEvent, payloadOf } from '../support/drive.ts';
import type { SeenEvent } from '../support/events.ts';
import { currentDeployment } from '../support/requests.ts';
import type { OtherDifference } from './decides.ts';
import type { StreamDifference } from './model.ts';

/** Period in milliseconds since 1970. */
export interface Window {
  since: number;
  until: number;
  why: string;
}

interface AgentUnderTest {
  readonly t: Device;
  departs(what: StreamDifference | OtherDifference, finding: { expected: string; actual: string }): never;
  remarks(what: StreamDifference | OtherDifference, finding: { expected: string; actual: string }): void;
  expectMoment(what: OtherDifference, member: string, written: unknown, window: Window): Promise<void>;
  readonly ledger: { readonly newest: bigint; readonly events: readonly SeenEvent[] };
}

type Members = Readonly<Record<string, unknown>>;

const FIXED = ['object', 'id', 'description', 'device_id', 'release_id', 'created_at'] as const;
const STATUSES = ['status', 'activity_status', 'error_status', 'target_status'] as const;

export class CurrentDeployment {
  readonly #real: AgentUnderTest;
  /** Deployment that the device must show: null for none, undefined if unknown. */
  #shown: Members | null | undefined;
  mayChange = true;
  #deviceId: unknown;
  files: readonly ConfigFile[] = [];
  /** Files of a removed deployment, which a restart must not bring back. */
  removed: readonly ConfigFile[] = [];
  #lookedAt = 0n;
  #looks = 0;
  #removedId: string | undefined;

  constructor(real: AgentUnderTest) {
    this.#real = real;
  }

  get id(): string | undefined {
    const id = this.#shown?.['id'];
    return typeof id === 'string' ? id : undefined;
  }

  async expectMade(made: Deployment, since: number): Promise<void> {
    const real: AgentUnderTest = this.#real;
    const isPlain = made.activity_status === 'deployed' && made.error_status === 'none';
    this.mayChange = isUnsettled(made);
    const body = await currentDeployment(real.t);
    const until = Date.now();
    if (body?.['id'] !== made.id) {
      if (isPlain)
        real.departs('current', { expected: `the deployment ${made.id}`, actual: String(body?.['id'] ?? 'none') });
      this.#shown = undefined;
      return;
    }
    // Compares with control's answer, because control may have chosen other values than those of the request.
    const names = ['description', 'release_id', 'device_id', ...(this.mayChange ? [] : STATUSES)] as const;
    this.#expectMembers(body, Object.fromEntries(names.map((name) => [name, made[name]])), 'current');
    this.#expectMerged(body);
    // Accepts the created_at of control's answer at any time, because it may be by the clock of a platform.
    if (instantOf(String(body['created_at'])) !== instantOf(made.created_at))
      await real.expectMoment('current', 'created_at', body['created_at'], { since, until, why: 'it was made' });
    this.#shown = body;
    this.#lookedAt = real.ledger.newest;
    this.#deviceId ??= body['device_id'];
  }

  /** `isEarly`: the event of a new deployment may still come; `isRefused`: control may have begun what it refused. */
  async expectUnchanged({ restarted = false, isEarly = false, isRefused = false } = {}): Promise<void> {
    const real: AgentUnderTest = this.#real;
    if (isRefused) [this.mayChange, this.files] = [true, []];
    this.#looks += 1;
    const http = this.#looks % 2 === 0 ? real.t.http.with({ keepsAlive: true }) : real.t.http;
    const body = (await currentDeployment(real.t, http)) ?? null;
    real.t.saw('looks at the current deployment');
    if (body !== null) this.#expectMerged(body);
    const before = this.#shown;
    const isNew = body !== null && body['id'] !== before?.['id'];
    const announces = (event: SeenEvent): boolean =>
      event.id > this.#lookedAt && isDeployedEvent(event, String(body?.['id']));
    const isAnnounced = isNew && real.ledger.events.some(announces);
    if (body !== null && body['id'] === this.#removedId && body['activity_status'] === 'deployed')
      real.departs('status left', { expected: `${this.#removedId} removed, as before`, actual: 'deployed again' });
    if (isEarly && before !== undefined && isNew && !isAnnounced) return;
    this.#shown = body;
    this.#lookedAt = real.ledger.newest;
    if (before === undefined) return;
    if (isAnnounced) {
      // Accepts a new deployment that an event has announced, because control may deploy in order to publish events.
      this.mayChange = isUnsettled(body);
      [this.files, this.removed] = [[], []];
      return;
    }
    if (restarted && before !== null) this.#expectKept(before, body);
    if (restarted) await this.#expectGone();
    if (before === null || body === null) {
      const actual = body === null ? 'none' : String(body['id']);
      // A device may stop showing an archived deployment.
      const isOpen = before?.['activity_status'] === 'archived' && before['error_status'] === 'none';
      const expected = `the deployment ${String(before?.['id'] ?? 'none')}, as before`;
      if (before !== body && !this.mayChange && !isOpen) real.departs('current changed', { expected, actual });
      return;
    }
    const names = this.mayChange ? FIXED : [...FIXED, ...STATUSES];
    if (this.mayChange && isNew) return;
    const what = isNew ? 'current' : 'current changed';
    this.#expectMembers(body, Object.fromEntries(names.map((name) => [name, before[name]])), what);
    if (this.#deviceId !== undefined) this.#expectMembers(body, { device_id: this.#deviceId }, 'current changed');
  }

  #expectKept(before: Members, body: Members | null): void {
    const { id, activity_status, error_status, target_status } = before;
    const isOver = error_status === 'failed' && activity_status === 'archived';
    const isHeldUp = error_status === 'retrying' && activity_status !== target_status;
    const isSame = body?.['id'] === id && body?.['activity_status'] === activity_status;
    const isForgotten = isOver
      ? body?.['id'] !== id || body?.['error_status'] !== error_status
      : isHeldUp && isSame && body?.['error_status'] === 'none';
    if (isForgotten)
      this.#real.departs('current changed', {
        expected: `${String(id)} as before: ${String(activity_status)}, error_status ${String(error_status)}`,
        actual: body === null ? 'none' : JSON.stringify(body).slice(0, 400),
      });
  }

  async expectRemoved(id: string): Promise<void> {
    const real: AgentUnderTest = this.#real;
    this.removed = this.files;
    this.files = [];
    this.#removedId = id;
    const body = await currentDeployment(real.t);
    this.mayChange = true;
    if (body?.['id'] === id) {
      const actual = String(body['activity_status']);
      const isOver = ['archived', 'removing'].includes(actual);
      if (!isOver) real.departs('status left', { expected: `${id} archived, or not shown`, actual });
      this.mayChange = isUnsettled(body);
      const before = Object.fromEntries(FIXED.map((name) => [name, this.#shown?.[name]]));
      this.#expectMembers(body, before, 'current changed');
    } else this.mayChange = false;
    this.#shown = body ?? null;
    await this.#expectGone();
  }

  async #expectGone(): Promise<void> {
    const left = await this.#stillThere(this.removed);
    const [expected, actual] = ['no config file of a removed deployment', `${left?.filepath} is there`];
    if (left !== undefined) this.#real.departs('file left', { expected, actual });
  }

  async expectReplaced(files: readonly ConfigFile[]): Promise<void> {
    const before = this.files;
    this.files = files;
    const gone = before.filter(({ filepath }) => !files.some((one) => one.filepath === filepath));
    const left = await this.#stillThere(gone);
    const expected = 'no config file of a deployment that another one has replaced';
    if (left !== undefined) this.#real.remarks('file left', { expected, actual: `${left.filepath} is there` });
  }

  /** Finds a file that stays on the device; at another path, a file with the name of a current one does not count. */
  #stillThere(files: readonly ConfigFile[]): Promise<ConfigFile | undefined> {
    return fileThatStays(this.#real.t, files, (file, found) => {
      const isTaken = this.files.some(({ filepath }) => basename(filepath) === basename(file.filepath));
      return found.some(({ inPlace }) => inPlace || !isTaken);
    });
  }

  async expectFiles(): Promise<void> {
    const real: AgentUnderTest = this.#real;
    if (this.files.length === 0) return;
    const { lost } = await compareFiles(real.t, configRoot(real.t), this.files);
    const expected = 'the config files of the current deployment, as they were given';
    if (lost.length > 0) real.departs('file', { expected, actual: lost.join('; ') });
  }

  async expectPayload(event: SeenEvent, made: Deployment, since: number): Promise<void> {
    const real: AgentUnderTest = this.#real;
    const data = payloadOf(event);
    const expected: Record<string, unknown> = {
      deployment_id: made.id,
      release_id: made.release_id,
      ...(isUnsettled(made) ? {} : Object.fromEntries(STATUSES.map((name) => [name, made[name]]))),
    };
    this.#expectMembers(data, expected, 'payload');
    const about = { since, until: Date.now(), why: 'it was deployed' };
    await real.expectMoment('payload', 'deployed_at', data['deployed_at'], about);
  }

  #expectMembers(body: Members, expected: Members, what: 'current' | 'current changed' | 'payload'): void {
    for (const [name, value] of Object.entries(expected)) {
      const shown = body[name];
      if (value === undefined || shown === value) continue;
      const isMoment = typeof shown === 'string' && typeof value === 'string' && /^\d{4}-/.test(value);
      if (isMoment && instantOf(shown) === instantOf(value)) continue;
      this.#real.departs(what, {
        expected: `${name} ${JSON.stringify(value)}`,
        actual: `${JSON.stringify(shown)} in ${JSON.stringify(body).slice(0, 400)}`,
      });
    }
  }

  #expectMerged({ status, activity_status, error_status }: Members): void {
    const merged = error_status === 'none' ? activity_status : error_status;
    if (typeof error_status !== 'string' || status === merged) return;
    this.#real.departs('statuses merged', { expected: `status ${String(merged)}`, actual: String(status) });
  }
}

export const isUnsettled = ({ error_status, activity_status, target_status }: Members): boolean =>
  error_status !== 'none' || activity_status !== target_status;
