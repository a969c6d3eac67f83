import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { connect } from 'node:net';
import process from 'node:process';
import { generate } from 'mqtt-packet';
import { expect, onTestFinished, test } from 'vitest';
import { embeddedBroker } from './embedded.ts';

const DEAD = 50;
const hello = (clientId: string): Buffer =>
  generate({ cmd: 'connect', protocolId: 'MQTT', protocolVersion: 4, clean: true, keepalive: 20, clientId });

const GIVE_UP = `
const { connect } = require('node:net');
const [port, hellos] = [Number(process.argv[1]), JSON.parse(process.argv[2])];
let left = hellos.length;
for (const hello of hellos)
  connect(port, '127.0.0.1').end(Buffer.from(hello, 'base64'), () => (left -= 1) || process.exit());
`;

test('a broker does not authenticate connections that were closed while it was busy', async () => {
  const authenticated: string[] = [];
  const online: string[] = [];
  const broker = await embeddedBroker({
    host: '127.0.0.1',
    port: 0,
    authenticate: (deviceId) => authenticated.push(deviceId) > 0,
    onConnected: (deviceId) => void online.push(deviceId),
    onPong: () => {},
    onError: () => {},
  });
  onTestFinished(() => broker.stop());
  const port = new URL(broker.url).port;
  const hellos = Array.from({ length: DEAD }, (_, at) => hello(`dead-${at}`).toString('base64'));
  // Blocks the broker's event loop until all robots have connected and hung up.
  const { status, stderr } = spawnSync(process.execPath, ['--eval', GIVE_UP, port, JSON.stringify(hellos)]);
  expect(status, String(stderr)).toBe(0);
  const socket = connect(Number(port), '127.0.0.1');
  socket.write(hello('alive'));
  // The CONNACK comes after the broker has handled all earlier connections.
  const [answer] = (await once(socket, 'data')) as [Buffer];
  expect(answer[0]).toBe(0x20);
  expect(authenticated).toEqual(['alive']);
  expect(online).toEqual(['alive']);
  socket.destroy();
});
