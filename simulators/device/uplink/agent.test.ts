import { access, rm } from 'node:fs/promises';
import { generate, type Packet } from 'mqtt-packet';
import { expect, it } from 'vitest';
import { localhostTls } from '../../../harness/common/testing/localhost-tls.ts';
import { agentTopics } from '../../../harness/contract/agent.ts';
import { eventually } from '../../common/testing/scratch.ts';
import { scriptedBroker, testRobot, welcoming } from './testing/uplinks.ts';

it.each(['with', 'without'])('the uplink is the same device after a restart %s its identity file', async (file) => {
  await using robot = await testRobot();
  await robot.uplink.start();
  await robot.uplink.stop();
  if (file === 'without') await rm(`${robot.directory}/identity/device.json`);
  const next = robot.anotherRun({ token: 'spent' });
  await next.start();
  expect(next.deviceId).toBe(robot.uplink.deviceId);
  if (file === 'with') expect(robot.count('POST /devices/provision')).toBe(1);
  await access(`${robot.directory}/identity/device.json`);
});

it('the agent uplink applies a deployment that is made while its connection breaks during a sync', async () => {
  await using robot = await testRobot();
  const { host, device, uplink } = robot;
  await uplink.start();
  const { deployment: first, finish } = await robot.beginDeployment();
  host.side.messenger.disconnect(robot.id());
  await eventually(() => expect(uplink.status).toBe('offline'));
  const second = host.deploy(robot.id(), { '/b.json': '2' });
  finish();
  await robot.eventually(() => expect(host.platform.stored(second).status).toBe('deployed'));
  expect(device.events).toEqual([`deployed ${first}`, `removed ${first}`, `deployed ${second}`]);
  expect(uplink.status).toBe('online');
});

it('the agent uplink publishes that it is synced, and ignores its own and retained messages', async () => {
  const topic = (packet: Packet) => (packet.cmd === 'publish' ? packet.topic : undefined);
  const broker = await scriptedBroker(welcoming);
  await using robot = await testRobot({ uplink: { mqtt: `mqtt://127.0.0.1:${broker.port}` } });
  await robot.uplink.start();
  const sync = agentTopics.sync(robot.id());
  await eventually(() => expect(broker.received.at(-1)).toMatchObject({ cmd: 'publish', topic: sync }));
  expect(broker.received.at(-1)).toMatchObject({ retain: true, qos: 1, payload: Buffer.from('{"is_synced":true}') });
  const send = (payload: string, retain: boolean) => {
    const packet: Packet = { cmd: 'publish', topic: sync, payload, retain, qos: 1, dup: false, messageId: 1 };
    for (const socket of broker.sockets) socket.write(generate(packet));
  };
  send('{"is_synced":true}', false);
  send('{"is_synced":false}', true);
  send('nonsense', false);
  send('{"is_synced":false}', false);
  const synced = () => broker.received.filter((packet) => topic(packet) === sync).length;
  await eventually(() => expect(synced()).toBe(2));
  expect(broker.received.filter(({ cmd }) => cmd === 'puback')).toHaveLength(4);
  expect(robot.count('GET /deployments')).toBe(2);
});

it('the agent uplink reads every page of the list', async () => {
  await using robot = await testRobot();
  const { host, device, time } = robot;
  await robot.uplink.start();
  const ids = Array.from({ length: 250 }, (_, index) => {
    time.advance(10);
    return host.platform.deploy(robot.id(), { [`/${index}.json`]: '1' }).id;
  });
  for (const id of ids)
    Object.assign(host.platform.stored(id), { target_status: 'deployed', activity_status: 'queued' });
  await robot.uplink.sync();
  expect(device.events).toEqual([`deployed ${ids.at(-1)}`]);
  expect(robot.count('GET /deployments')).toBe(1 + 3);
});

it('the agent uplink works over TLS with a trusted certificate', async () => {
  await using robot = await testRobot({ host: { tls: localhostTls }, uplink: { ca: localhostTls.cert } });
  await robot.uplink.start();
  expect(robot.host.url).toMatch(/^https:/);
  expect(await robot.host.side.messenger.ping(robot.id(), 5e9)).toMatchObject({ code: 'success' });
  const deployment = robot.host.deploy(robot.id(), { '/a.json': '1' });
  await eventually(() => expect(robot.host.platform.stored(deployment).status).toBe('deployed'));
});
