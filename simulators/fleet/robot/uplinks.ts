/** Uplinks of all robots in a process, which share HTTP connections and a provisioning token. */

import { generateKeyPair } from 'node:crypto';
import { copyFile, mkdir, readFile } from 'node:fs/promises';
import { availableParallelism } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { defined } from '../../../harness/common/defined.ts';
import { inParallel } from '../../../harness/common/parallel.ts';
import { durationMs } from '../../../harness/common/units.ts';
import { replaceWith, SECRET_MODE, whyNot } from '../../../harness/common/user-files.ts';
import type { PlatformHttpOptions } from '../../common/platform-http.ts';
import { random } from '../../common/random.ts';
import type { DeploymentPort, SyncResult, Uplink, UplinkStatus } from '../../device/ports.ts';
import { createUplink, type UplinkIdentity, type UplinkOptions } from '../../device/uplink/index.ts';
import type { SyncEvents } from '../../device/uplink/lifecycle.ts';
import type { PlatformAddress, PlatformClient } from '../platform/client.ts';
import type { Offer } from '../platform/survey.ts';
import type { DisturbanceKind } from '../result/verdict.ts';
import { UPLINK_CONNECTIONS } from '../run/capacity.ts';
import { indexIn, type Scenario, settingsOf, uplinkOf } from '../scenario/scenario.ts';

interface UplinkSettings {
  platform: PlatformAddress | undefined;
  client: PlatformClient | undefined;
  offer?: Offer;
  scenario: Scenario;
  seed: number;
  keyBits: number;
  onRetry(error: Error): void;
  onCrowded(): void;
  onAnswer: PlatformHttpOptions['onAnswer'];
}

export function fleetUplinks(settings: UplinkSettings): MakeUplink | undefined {
  const { platform, client, offer = {}, scenario } = settings;
  const { devices = [] } = offer;
  if (platform === undefined || client === undefined || scenario.uplink === 'none') return undefined;
  if (scenario.uplink === 'calls')
    return (_port, { name }) => standIn(devices.length > 0 ? devices[indexIn(name) % devices.length] : undefined);
  const factories = new Map<string, ReturnType<typeof createUplink>>();
  return (port, identity, listener) => {
    const kind = uplinkOf(scenario, indexIn(identity.name)) === 'polling' ? 'polling' : 'agent';
    const factory = factories.get(kind) ?? createUplink(uplinkOptions(kind, { ...settings, platform, client }));
    factories.set(kind, factory);
    const uplink = factory(port, identity) as Uplink &
      SyncEvents & { onUnreachable?(error: Error): void; onLost?(error: Error): void };
    const { onSyncStarted, onSynced, onSyncFailed } = uplink;
    uplink.onSyncStarted = () => {
      listener.syncStarted();
      onSyncStarted.call(uplink);
    };
    uplink.onSynced = () => {
      onSynced.call(uplink);
      listener.synced();
    };
    uplink.onSyncFailed = (error) => {
      onSyncFailed.call(uplink, error);
      listener.disturbed('sync.errors', error);
    };
    uplink.onUnreachable = (error) => listener.disturbed('connect.errors', error);
    uplink.onLost = (error) => listener.disturbed('uplink.lost', error);
    return uplink;
  };
}

type Connected = UplinkSettings & { platform: PlatformAddress; client: PlatformClient };

function uplinkOptions(kind: UplinkOptions['kind'], settings: Connected): UplinkOptions {
  const { platform, client, offer = {}, scenario, seed, keyBits, onRetry, onCrowded, onAnswer } = settings;
  const { devices = [], takesStaged } = offer;
  const { dialect = 'spec', apiVersion, headers = {} } = platform;
  const connections = UPLINK_CONNECTIONS;
  const shared = { random: random(`${seed}/uplink`), dialect, headers, connections, onRetry, onCrowded };
  if (kind === 'polling')
    return {
      ...shared,
      kind,
      platform: platform.url,
      onAnswer,
      apiKey: platform.apiKey,
      intervalMs: durationMs(scenario.poll_every ?? '10s'),
      deviceOf: (name) => devices[indexIn(name)],
      ...defined({ takesStaged, apiVersion }),
    };
  return {
    ...shared,
    kind,
    platform: platform.agentUrl,
    ...defined({ mqtt: platform.mqttUrl }),
    keyBits,
    versionOf: (name) => settingsOf(scenario, indexIn(name)).agent_version,
    token: sharedToken(() => client.provisioningToken()),
  };
}

function sharedToken(issue: () => Promise<string>): (refused: string | undefined) => Promise<string> {
  let token: Promise<string> | undefined;
  let issued: string | undefined;
  let until = 0;
  return (refused) => {
    const isRefused = refused !== undefined && refused === issued;
    if (token === undefined || isRefused || performance.now() > until) {
      // Replaces a token after two minutes, because a token expires after five.
      until = performance.now() + 120_000;
      // Shares the request for a new token with robots that are refused before its answer.
      issued = undefined;
      token = issue();
      token.then(
        (text) => (issued = text),
        () => (token = undefined),
      );
    }
    return token;
  };
}

export interface UplinkListener {
  syncStarted(): void;
  synced(): void;
  disturbed(kind: DisturbanceKind, error: Error): void;
  connecting(): void;
  online(): void;
  refused(error: Error): void;
}

export type MakeUplink = (port: DeploymentPort, identity: UplinkIdentity, listener: UplinkListener) => Uplink;

function standIn(deviceId: string | undefined): Uplink {
  const firstAttempt = Promise.resolve();
  const uplink: Uplink & { status: UplinkStatus } = {
    deviceId,
    status: 'starting',
    lastSyncedAt: undefined,
    lastConnectedAt: undefined,
    lastDisconnectedAt: undefined,
    firstAttempt,
    start: () => {
      uplink.status = 'online';
      return firstAttempt;
    },
    stop: () => {
      uplink.status = 'stopped';
      return firstAttempt;
    },
    sync: () => Promise.resolve({ code: 'success', message: 'there is nothing to sync' }),
  };
  return uplink;
}

/** Lets a scenario cut and restore the uplink, while the device keeps the same object. */
export class RobotUplink implements Uplink {
  readonly #make: () => Uplink;
  readonly #listener: UplinkListener;
  #inner: Uplink;
  #stopped = false;

  constructor(make: MakeUplink, port: DeploymentPort, identity: UplinkIdentity, listener: UplinkListener) {
    this.#make = () => make(port, identity, listener);
    this.#listener = listener;
    this.#inner = this.#make();
  }

  get status(): UplinkStatus {
    return this.#inner.status;
  }
  get deviceId(): string | undefined {
    return this.#inner.deviceId;
  }
  get firstAttempt(): Promise<void> {
    return this.#inner.firstAttempt;
  }
  get lastSyncedAt(): string | undefined {
    return this.#inner.lastSyncedAt;
  }
  get lastConnectedAt(): string | undefined {
    return this.#inner.lastConnectedAt;
  }
  get lastDisconnectedAt(): string | undefined {
    return this.#inner.lastDisconnectedAt;
  }

  async start(): Promise<void> {
    const inner = this.#inner;
    this.#listener.connecting();
    const failed = await inner.start().catch((error: Error) => error);
    if (inner !== this.#inner || inner.status === 'stopped') return;
    if (failed instanceof Error) this.#listener.refused(failed);
    else this.#listener.online();
  }

  stop(): Promise<void> {
    this.#stopped = true;
    return this.#inner.stop();
  }

  abandon(): Promise<void> {
    this.#stopped = true;
    return this.#inner.abandon?.() ?? this.#inner.stop();
  }

  sync(): Promise<SyncResult> {
    return this.#inner.sync();
  }

  cut(): Promise<void> {
    return this.#inner.stop();
  }

  async restore(): Promise<void> {
    await this.#inner.stop();
    if (this.#stopped || this.#inner.status !== 'stopped') return;
    this.#inner = this.#make();
    await this.start();
  }
}

/** Folder of keys, which later runs reuse, because generating thousands of keys takes minutes. */
export interface KeyStore {
  dir: string;
  bits: number;
}

export function keyFile({ dir }: KeyStore, robot: number): string {
  const block = String(Math.floor(robot / 1000)).padStart(4, '0');
  return join(dir, block, `${robot}.pem`);
}

export async function ensureKeys(
  keys: KeyStore,
  robots: readonly number[],
  signal: AbortSignal,
  onProgress: (done: number) => void,
): Promise<void> {
  let done = 0;
  // Two keys at a time for each thread of libuv's pool, so that no thread idles.
  await inParallel(robots, Math.max(4, availableParallelism()) * 2, async (robot) => {
    if (signal.aborted) return;
    await ensureKey(keyFile(keys, robot), keys.bits);
    done += 1;
    onProgress(done);
  });
}

async function ensureKey(file: string, bits: number): Promise<void> {
  try {
    await readFile(file);
    return;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
  }
  const { privateKey } = await promisify(generateKeyPair)('rsa', { modulusLength: bits });
  await mkdir(dirname(file), { recursive: true, mode: 0o700 });
  const pem = privateKey.export({ type: 'pkcs8', format: 'pem' });
  try {
    // Writes synchronously, so that the end of the process leaves no incomplete file.
    replaceWith(file, pem, SECRET_MODE);
  } catch (error) {
    throw new Error(`${file} cannot be written (${whyNot(error)})`, { cause: error });
  }
}

export async function installKey(file: string, identityFile: string): Promise<void> {
  await mkdir(dirname(identityFile), { recursive: true, mode: 0o700 });
  try {
    await copyFile(file, identityFile, 1 /* COPYFILE_EXCL */);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
}
