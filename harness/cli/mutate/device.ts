import { rmSync } from 'node:fs';
import net from 'node:net';
import { join } from 'node:path';
import { deviceDefects, deviceVariants } from '../../../simulators/defects/device/index.ts';
import { serveControl } from '../../../simulators/device/control/server.ts';
import { dialectBehaviour } from '../../../simulators/device/dialect.ts';
import { type DeviceBehaviour, type DeviceOptions, simulateDevice } from '../../../simulators/device/index.ts';
import { type Endpoint, listening, type Serving } from '../../../simulators/device/transport.ts';
import { ownedFolder } from '../../common/owner.ts';
import { CLIENT_VARIABLES } from '../../contract/client.ts';
import { DEVICE_API_PREFIX, type Dialect } from '../../contract/versions.ts';
import type { Server, SubjectSource } from '../../mutate/plan.ts';
import { deviatingServers, type Requirements, recordingDecisions, VARIABLES } from './subjects.ts';

export type DeviceSetting = { readonly dialect: Dialect; readonly heartbeatMs: number; readonly seed: number | string };

export function deviceSubjects(setting: DeviceSetting, requirements: Requirements): SubjectSource {
  const { dialect, heartbeatMs, seed } = setting;
  const reference = dialectBehaviour(dialect);
  const words = `--heartbeat ${heartbeatMs}ms --seed ${seed}${dialect === 'spec' ? '' : ` --dialect ${dialect}`}`;
  const byHand = `muster simulate device --socket robot.sock --dir robot --control control.sock ${words}`;
  const { subjects } = deviatingServers<DeviceBehaviour>({
    all: [...deviceDefects, ...deviceVariants],
    requirements,
    reference,
    byHand: (kind, name, breaks) => {
      const isLoopback = breaks.some((id) => id.startsWith('device.loopback.'));
      return `${byHand}${isLoopback ? ' --loopback --discovery agent.json' : ''} --${kind} ${name}`;
    },
    start: (behaviour) => startDevice(setting, behaviour),
  });
  return {
    subjects,
    // Records each group of decisions separately, because a device's behaviour is nested.
    async faithful() {
      const taken = new Set<string>();
      const groups = Object.entries(reference).map(([name, group]) => [
        name,
        recordingDecisions(group, taken, `${name}.`),
      ]);
      const server = await startDevice(setting, Object.fromEntries(groups) as DeviceBehaviour);
      return { ...server, taken };
    },
  };
}

async function startDevice(setting: DeviceSetting, { transport, ...others }: DeviceBehaviour): Promise<Server> {
  // Allows requests without a token on the plain address, even if a defect breaks the token check.
  const authorized: typeof transport.authorized = (header, token, way) =>
    way === PLAIN || transport.authorized(header, token, way);
  // Wraps `transport` in a proxy: a copy would read every member, and each read counts as a used decision.
  const get = (target: typeof transport, name: string): unknown =>
    name === 'authorized' ? authorized : Reflect.get(target, name);
  const behaviour = { ...others, transport: new Proxy(transport, { get }) };
  await using starting = new AsyncDisposableStack();
  const { device, server } = await openDevice(setting, { behaviour });
  starting.use(server);
  await device.publish(5);
  await device.deploy();
  starting.move();
  return server;
}

export async function openDevice(setting: DeviceSetting, options: Pick<DeviceOptions, 'behaviour' | 'uplink'>) {
  const { heartbeatMs, seed, dialect } = setting;
  await using starting = new AsyncDisposableStack();
  const folder = ownedFolder('mutate');
  starting.defer(() => rmSync(folder, { recursive: true, force: true }));
  const place = { socket: join(folder, 'agent.sock'), discovery: join(folder, 'discovery.json') };
  const plain = new PlainEndpoint();
  const device = starting.use(
    await simulateDevice({
      dir: join(folder, 'robot'),
      socket: place.socket,
      loopback: { discovery: place.discovery },
      endpoints: [plain],
      control: { port: 0 },
      // Skips fsync, because events must survive a restart of the agent, but no crash of the machine.
      durability: 'os',
      heartbeatMs,
      seed,
      dialect,
      ...options,
    }),
  );
  const control = join(folder, 'control.sock');
  starting.use(await serveControl(device, { path: control }));
  const url = `${plain.url}${DEVICE_API_PREFIX}`;
  const { controlAddress: at, controlToken = '' } = device;
  const all = starting.move();
  const env = {
    [VARIABLES.url]: url,
    [VARIABLES.socket]: place.socket,
    [CLIENT_VARIABLES.deviceUrl]: url,
    [CLIENT_VARIABLES.socket]: place.socket,
    [CLIENT_VARIABLES.discovery]: place.discovery,
    [CLIENT_VARIABLES.heartbeatSeconds]: String(heartbeatMs / 1000),
    [VARIABLES.controlUrl]: at !== undefined && 'port' in at ? `http://127.0.0.1:${at.port}` : '',
    [VARIABLES.controlToken]: controlToken,
    [VARIABLES.controlSocket]: control,
  };
  return { device, server: { env, secrets: [controlToken], [Symbol.asyncDispose]: () => all.disposeAsync() } };
}

const PLAIN = 'url';

/** Serves loopback without a token, for clients that take only a URL; keeps the port over restarts. */
class PlainEndpoint implements Endpoint {
  readonly option = 'url';
  readonly address = {};
  #port = 0;

  get url(): string {
    return `http://127.0.0.1:${this.#port}`;
  }

  async listen({ rules, onConnection }: Serving) {
    const entrance = { transport: PLAIN };
    const server = net.createServer({ allowHalfOpen: true, noDelay: true }, (socket) => {
      // Hides the remote address, because some defects treat loopback connections differently.
      Object.defineProperty(socket, 'remoteAddress', { value: undefined });
      onConnection(socket, entrance);
    });
    await listening(server, { port: this.#port, host: '127.0.0.1', backlog: rules.backlog });
    this.#port = (server.address() as net.AddressInfo).port;
    const close = (): void => void server.close();
    return { close, abandon: close };
  }
}
