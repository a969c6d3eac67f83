/** A robot with an agent uplink, and the agent side of a platform, on real sockets, with time that the test moves. */

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { eventually } from '../../../common/testing/eventually.ts';
import { type AgentHost, agentHost } from '../../../platform/agent/testing/agent-host.ts';
import type { Uplink } from '../../ports.ts';
import { type AgentUplinkOptions, createUplink } from '../index.ts';
import { ManualTime } from './manual-time.ts';
import { MemoryDevice } from './memory-device.ts';

export interface TestRobot extends AsyncDisposable {
  host: AgentHost;
  time: ManualTime;
  device: MemoryDevice;
  directory: string;
  /** Requests that the agent side got, `GET /deployments` and so on, without the query. */
  requests: string[];
  uplink: Uplink;
  /** Another run of the same robot; the run before is not stopped. */
  anotherRun(options?: Partial<AgentUplinkOptions>): Uplink;
  /** The device's id on the platform. */
  id(): string;
  /** Moves time on, a second at a time, until `holds` does. */
  eventually(holds: () => void | Promise<void>): Promise<void>;
}

/** Large keys take long to make. */
export const KEY_BITS = 1024;

type HostOptions = Parameters<typeof agentHost>[0];

/** Starts an agent side and makes an uplink for it, which the test starts. */
export async function testRobot(
  options: { host?: HostOptions; uplink?: Partial<AgentUplinkOptions> } = {},
): Promise<TestRobot> {
  const time = new ManualTime(Date.now());
  const directory = await mkdtemp(join(tmpdir(), 'muster-robot-'));
  const requests: string[] = [];
  const host = await agentHost({ clock: time, minKeyBits: KEY_BITS, ...options.host }, (method, path) =>
    requests.push(`${method} ${path}`),
  );
  const device = new MemoryDevice();
  const runs: Uplink[] = [];
  const anotherRun = (more: Partial<AgentUplinkOptions> = {}) => {
    const uplink = createUplink({
      kind: 'agent',
      platform: host.url,
      mqtt: host.mqttUrl,
      token: host.platform.provisioningToken(),
      time,
      keyBits: KEY_BITS,
      ...options.uplink,
      ...more,
    })(device, { name: 'robot', directory });
    runs.push(uplink);
    return uplink;
  };
  const uplink = anotherRun();
  return {
    host,
    time,
    device,
    directory,
    requests,
    uplink,
    anotherRun,
    id: () => runs.findLast(({ deviceId }) => deviceId !== undefined)?.deviceId ?? '',
    eventually: (holds) =>
      eventually(async () => {
        time.advance(1_000);
        await holds();
      }),
    [Symbol.asyncDispose]: async () => {
      await Promise.all(runs.map((run) => run.stop()));
      await host[Symbol.asyncDispose]();
      await rm(directory, { recursive: true, force: true });
    },
  };
}
