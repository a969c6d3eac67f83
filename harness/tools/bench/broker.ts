/** Measures round trips of pings between broker and robots, compared with bare sockets that send the same messages. */
import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { systemClock } from '../../../simulators/common/clock.ts';
import { KeepAlive, MqttConnection } from '../../../simulators/device/uplink/mqtt.ts';
import { systemTime } from '../../../simulators/device/uplink/time.ts';
import { embeddedBroker } from '../../../simulators/platform/broker/embedded.ts';
import { mqttMessenger } from '../../../simulators/platform/broker/messenger.ts';
import { inParallel } from '../../common/parallel.ts';
import { agentTopics } from '../../contract/agent.ts';
import { type Figure, figureAgainstFloor } from '../measure/figure.ts';
import { listenAnywhere, serveTask, Task } from '../measure/process.ts';

const CONNECTIONS = 10_000;
const PINGS = 40_000;
const PINGS_AT_ONCE = 200;
const PING_BYTES = 150;
const message = Buffer.alloc(PING_BYTES, 'x');

export async function benchBroker(): Promise<Figure[]> {
  const broker = await pings('broker', 'client');
  const floor = await pings('echo', 'socket');
  const name = `inner: broker alone, pings there and back, ${PINGS_AT_ONCE} at a time`;
  const figure = figureAgainstFloor(name, broker.perSecond, floor.perSecond, 0.6, '/s');
  const goal = `${figure.goal}: bare sockets with the same three messages, none lost (${broker.lost} lost)`;
  return [{ ...figure, goal, met: figure.met && broker.lost === 0 }];
}

async function pings(end: 'broker' | 'echo', client: 'client' | 'socket') {
  await using platform = new Task<typeof tasks>(import.meta.url);
  await using robots = new Task<typeof tasks>(import.meta.url);
  await robots.call('connect', client, await platform.call(end));
  await platform.call('ping', PINGS / 4);
  const { ms, succeeded } = await platform.call('ping', PINGS);
  return { perSecond: PINGS / (ms / 1000), lost: PINGS - succeeded };
}

let pingOnce: (robot: number) => Promise<boolean> = async () => false;
const robotId = (robot: number) => `dvc_${robot}`;

const clients = {
  client: (robot: number, port: number, keepAlive: KeepAlive): Promise<unknown> => {
    const id = robotId(robot);
    return MqttConnection.open({
      endpoint: { host: '127.0.0.1', port, tls: false, ca: undefined },
      clientId: id,
      username: 'session',
      password: 'token',
      topics: [agentTopics.sync(id), agentTopics.ping(id)],
      listener: {
        onMessage: (connection, _topic, payload) =>
          connection.publish(agentTopics.pong(id), JSON.parse(payload.toString()), { retain: false }),
        onClose: () => {},
      },
      keepAlive,
      signal: new AbortController().signal,
    });
  },
  socket: async (_robot: number, port: number): Promise<unknown> => {
    const socket = connect({ host: '127.0.0.1', port, noDelay: true });
    socket.on('data', (bytes) => {
      // A shorter packet is an acknowledgement of the broker.
      if (bytes.length >= PING_BYTES) socket.write(message);
    });
    return await once(socket, 'connect');
  },
};

const tasks = {
  broker: async (): Promise<number> => {
    const messenger = mqttMessenger(systemClock);
    const broker = await embeddedBroker({
      host: '127.0.0.1',
      port: 0,
      onPong: messenger.onPong,
      onConnected: () => {},
      authenticate: () => true,
      onError: (error) => {
        throw error;
      },
    });
    messenger.use(broker);
    pingOnce = async (robot) => (await messenger.ping(robotId(robot), 10e9)).code === 'success';
    return Number(new URL(broker.url).port);
  },

  echo: async (): Promise<number> => {
    const acknowledgement = Buffer.alloc(4, 'x');
    const sockets: Socket[] = [];
    const waiting = new Map<Socket, () => void>();
    const server = createServer((socket) => {
      socket.setNoDelay(true).on('error', () => {});
      socket.on('data', () => {
        // The acknowledgement of an MQTT broker for each pong (QoS 1).
        socket.write(acknowledgement);
        waiting.get(socket)?.();
      });
      sockets.push(socket);
    });
    pingOnce = (robot) =>
      new Promise((resolve) => {
        const socket = sockets[robot];
        if (!socket) return resolve(false);
        waiting.set(socket, () => resolve(true));
        socket.write(message);
      });
    return await listenAnywhere(server, 8192);
  },

  connect: async (kind: keyof typeof clients, port: number): Promise<void> => {
    const keepAlive = new KeepAlive(systemTime);
    const robots = Array.from({ length: CONNECTIONS }, (_, robot) => robot);
    await inParallel(robots, 2_000, async (robot) => void (await clients[kind](robot, port, keepAlive)));
  },

  ping: async (total: number): Promise<{ ms: number; succeeded: number }> => {
    const began = performance.now();
    let next = 0;
    let succeeded = 0;
    const lane = async (robot: number) => {
      for (let at = robot; next < total; at = (at + PINGS_AT_ONCE) % CONNECTIONS) {
        next++;
        if (await pingOnce(at)) succeeded++;
      }
    };
    await Promise.all(Array.from({ length: PINGS_AT_ONCE }, (_, robot) => lane(robot)));
    return { ms: performance.now() - began, succeeded };
  },
};

if (import.meta.main) serveTask(tasks);
