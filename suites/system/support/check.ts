import { join } from 'node:path';
import { pollWithin } from '../../../harness/common/waiting.ts';
import { checks } from '../../../harness/runner/define.ts';
import { boundedProperty } from '../../../harness/runner/property.ts';
import type { Deviation } from '../../../harness/runner/session.ts';
import type { Check, CheckContext } from '../../../harness/runner/types.ts';
import { ControlError } from '../../../harness/targets/control/control.ts';
import { EventWatch, type WatchedEvent } from '../../../harness/targets/control/event-watch.ts';
import type { SystemContext } from '../../../harness/targets/opened.ts';
import type { Device } from '../../device/support/check.ts';
import { compareFiles, configRoot, requireConfigRoot } from '../../device/support/disk.ts';
import { propertyBounds } from '../../platform/support/check.ts';
import { type Item, readItem } from '../../platform/support/lists.ts';
import { describeResponse, ok, type Platform } from '../../platform/support/requests.ts';
import { sections, writing } from '../../section.ts';
import {
  actOn,
  archiveMade,
  CheckState,
  configPath,
  createReleaseFixture,
  type ReleaseFixture,
  tryDeployment,
} from './roll-out.ts';

export const platformSide = (t: System): Platform => ({ ...t, ...t.platform });

const deviceSide = (t: System): Device => ({ ...t, ...t.device });

export type System = SystemContext & CheckContext & { readonly state: CheckState };

const declare = checks<SystemContext>();

/** 30 s of random runs and 0.5 s of shrinking, because each run waits for the device. */
const SOAK = propertyBounds(30_000, 500);

/** Declares a check whose deployments are archived at its end, as far as the platform allows. */
const check = (
  requirement: Parameters<typeof declare>[0],
  options: Parameters<typeof declare>[1],
  run: (t: System) => Promise<void>,
): Check<SystemContext> =>
  declare(requirement, writing(options), async (given) => {
    const state = new CheckState();
    const t: System = {
      ...given,
      state,
      property: boundedProperty(given, SOAK),
      offline: async () => {
        state.isCutOff = true;
        await given.offline();
      },
      online: async () => {
        await given.online();
        state.isCutOff = false;
      },
    };
    try {
      await run(t);
    } finally {
      await archiveMade(platformSide(t), state);
    }
  });

export const section = sections(check);

/** Deviation from section 6.3: the platform does not announce a deployment, or the device sends no event. */
export const DEPLOYMENT_UNTOLD: Deviation = {
  name: 'deployment-untold',
  allowance:
    'the device is connected anew after a deployment, so that it asks for it, and has it once it shows it as current',
};

/** Under `DEPLOYMENT_UNTOLD`, reconnects the device to ask for deployments; ignores a ControlError of `offline`. */
async function connectAnew(t: System): Promise<void> {
  if (t.state.isCutOff || !t.allowsFor(DEPLOYMENT_UNTOLD)) return;
  try {
    await t.offline();
  } catch (error) {
    if (!(error instanceof ControlError)) throw error;
  }
  await t.online();
}

/** `timeoutMs` is shorter after a similar effect failed to occur. */
function effectWait(t: System, kind: string) {
  const waits = t.session.waits.effect;
  // The way from the platform to the device and back takes longer than one answer.
  const longest = 4 * Math.max(t.platform.patienceMs, t.device.patienceMs);
  const started = performance.now();
  return {
    timeoutMs: waits.within(kind, longest),
    came: () => waits.succeeded(kind, performance.now() - started),
    neverCame: () => waits.timedOut(kind),
  };
}

/** `found` ends the wait; the violation after a timeout shows `seen`. */
type Look<T> = { found: T } | { seen: unknown };

export async function eventually<T>(t: System, expected: string, look: () => Promise<Look<T>>): Promise<T> {
  // Masks ids, so that equal waits for different deployments share a timeout.
  const kind = expected.includes('archived') ? 'archived' : expected.replaceAll(/\b[a-z]+_\w+/g, '{id}');
  const wait = effectWait(t, kind);
  const { timeoutMs } = wait;
  let seen: unknown;
  const result = await pollWithin(
    expected,
    async () => {
      const now = await look();
      if ('found' in now) return now;
      seen = now.seen;
      return undefined;
    },
    { timeoutMs, firstPauseMs: 25, growth: 1.5, longestPauseMs: 1000, signal: t.signal },
  );
  if (result === undefined) wait.neverCame();
  t.must(result !== undefined, { expected: `${expected}, within ${timeoutMs / 1000} s`, actual: seen });
  wait.came();
  return result.found;
}

/** An error of `body` takes precedence over a failed reconnection. */
export async function onlineAfterwards(t: System, body: () => Promise<void>): Promise<void> {
  try {
    await body();
  } catch (error) {
    await t.online().catch(() => {});
    throw error;
  }
  await t.online();
}

export async function whileOffline(t: System, body: () => Promise<void>): Promise<void> {
  await t.offline();
  await onlineAfterwards(t, body);
}

export interface RollOut {
  id: string;
  fixture: ReleaseFixture;
}

/** Two files, because a platform or an agent may lose all but the first. */
export async function rollOut(t: System, filepaths = [configPath(), configPath()]): Promise<RollOut> {
  const platform = platformSide(t);
  const fixture = await createReleaseFixture(platform, filepaths);
  const { deployment, answers, last } = await tryDeployment(platform, t.state, fixture, t.deviceId);
  if (deployment === undefined && fixture.files.length > 1) {
    t.note(`a deployment of ${fixture.files.length} config instances was not made: ${answers.join('; ')}`);
    return rollOut(t, filepaths.slice(-1));
  }
  if (deployment === undefined) return t.blocked(`set-up: POST /deployments answered ${answers.join('; ')}`, last);
  const { id } = deployment;
  if (deployment['target_status'] !== 'deployed') {
    const response = await actOn(platform, id, 'deploy');
    if (!ok(response))
      t.blocked(`set-up: POST /deployments/${id}/deploy answered ${describeResponse(response)}`, response);
  }
  await connectAnew(t);
  return { id, fixture };
}

export async function deploy(t: System, events: EventFollower): Promise<RollOut> {
  const rolledOut = await rollOut(t);
  if (t.allowsFor(DEPLOYMENT_UNTOLD)) await untilCurrent(t, rolledOut.id);
  else await events.until('deployment.deployed', rolledOut.id);
  return rolledOut;
}

/** Judges the merged status too (section 2.2), because only a deployment on a device reaches every state. */
export async function readDeployment(t: System, { id }: Pick<RollOut, 'id'>): Promise<Item> {
  const item = await readItem(platformSide(t), 'deployments', id);
  const { status, activity_status: activity, error_status: error } = item;
  const merged = error === 'none' ? activity : error;
  const isWhole = ![status, activity, error].includes(undefined);
  t.must(!isWhole || status === merged, { expected: `status ${merged} in ${id}`, actual: statuses(item) });
  return item;
}

/** Accepts any activity but queued, because the specification does not say what a replaced deployment becomes. */
export async function untilReplaced(t: System, id: string, by: string): Promise<void> {
  await eventually(t, `${id}, which ${by} replaced, not to wait for its device any more`, async () => {
    const item = await readDeployment(t, { id });
    return item['activity_status'] === 'queued' ? { seen: statuses(item) } : { found: true };
  });
}

export function untilActivity(t: System, id: string, activity: string): Promise<Item> {
  return eventually(t, `${id} to be ${activity} on the platform`, async () => {
    const item = await readDeployment(t, { id });
    return item['activity_status'] === activity ? { found: item } : { seen: statuses(item) };
  });
}

export function untilCurrent(t: System, id: string): Promise<Item> {
  return eventually(t, `${id} to be the current deployment on the device, and deployed`, async () => {
    const response = await t.device.http.get('/deployments/current');
    const item = (response.json ?? {}) as Item;
    return item.id === id && item['activity_status'] === 'deployed'
      ? { found: item }
      : { seen: describeResponse(response) };
  });
}

export const statuses = (item: Item): string =>
  `status ${item['status']}, activity ${item['activity_status']}, error ${item['error_status']}, target ` +
  `${item['target_status']}`;

export function canReadFiles(t: System): boolean {
  const canRead = t.device.capabilities.has('files') && t.device.info.config_root !== undefined;
  if (!canRead) t.note('no config file was read, because control names no config_root that can be read');
  return canRead;
}

/** Leaves out other places below the config root, because folders of earlier releases may keep their files there. */
export async function filesInPlace(t: System, { fixture }: RollOut): Promise<string[]> {
  const found: string[] = [];
  for (const { filepath } of fixture.files)
    if (await t.device.files.stat(join(configRoot(deviceSide(t)), filepath))) found.push(filepath);
  return found;
}

/** Looks anywhere below the config root, because the specification does not state the place of a file. */
export async function lostFiles(t: System, { fixture }: RollOut): Promise<readonly string[]> {
  const device = deviceSide(t);
  return (await compareFiles(device, configRoot(device), fixture.files)).lost;
}

export async function mustHaveConfigFiles(t: System, rolledOut: RollOut): Promise<void> {
  const lost = await lostFiles(t, rolledOut);
  if (lost.length > 0) await requireConfigRoot(deviceSide(t));
  const expected = `every config instance of ${rolledOut.id} in a file`;
  t.must(lost.length === 0, { expected, actual: lost.join('; ') });
}

const isAbout =
  (type: string, deploymentId: string) =>
  (event: WatchedEvent): boolean =>
    event.type === type && event.deploymentId === deploymentId;

export class EventFollower implements AsyncDisposable {
  readonly #t: System;
  readonly #watch: EventWatch;

  private constructor(t: System, watch: EventWatch) {
    this.#t = t;
    this.#watch = watch;
  }

  /** Resolves once the device is online and the stream open, so that the check misses no later event. */
  static async open(t: System): Promise<EventFollower> {
    await t.online();
    await using stack = new AsyncDisposableStack();
    const watch = stack.use(new EventWatch(t.device.http));
    await watch.start(t.device.patienceMs, t.signal);
    stack.move();
    return new EventFollower(t, watch);
  }

  async until(type: string, deploymentId: string): Promise<WatchedEvent> {
    const t: System = this.#t;
    const wait = effectWait(t, type);
    const event = await this.#watch.until(isAbout(type, deploymentId), 0, wait.timeoutMs, t.signal);
    if (event === undefined) {
      const { refusalStatus } = this.#watch;
      if (refusalStatus !== undefined) t.blocked(`the device answered ${refusalStatus} to GET /events`);
      wait.neverCame();
      const last = this.#watch.since(-5).map((each) => `${each.id} ${each.type} ${each.deploymentId ?? ''}`);
      // Shows the deployment on the platform too, which reveals the side that failed.
      const item = await readItem(platformSide(t), 'deployments', deploymentId);
      t.must(false, {
        expected: `${type} of ${deploymentId} on the device's event stream within ${wait.timeoutMs / 1000} s`,
        actual:
          `no such event; on the platform: ${statuses(item)}; ` +
          `${last.length === 0 ? 'no other events' : `last events: ${last.join(', ')}`}`,
      });
    }
    wait.came();
    return event;
  }

  count(type: string, deploymentId: string): number {
    const events = this.#watch.since(0).filter(isAbout(type, deploymentId));
    return new Set(events.map(({ id }) => id)).size;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#watch[Symbol.asyncDispose]();
  }
}
