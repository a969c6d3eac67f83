import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, chownSync, mkdirSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import process from 'node:process';
import { expect, it, onTestFinished } from 'vitest';
import { temporaryFolder } from '../../harness/targets/testing/places.ts';
import { resultsWith, runDeviceSuite } from '../../harness/tools/subjects/run.ts';
import { startRobot } from '../../harness/tools/subjects/simulators.ts';
import { behaviourWith } from './support/testing/device.ts';

const AGENT = `
process.umask(0o117);
const answer = ({ url }, response) =>
  url.includes('/events')
    ? response.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders()
    : response.writeHead(404).end();
require('node:http').createServer(answer).listen(process.argv[1], () => process.stdout.write('serves'));
`;
const USER = 4242;
const NO_GROUP = 65_534;
const folder = temporaryFolder();

it.skipIf(process.getuid?.() !== 0).for<[string, string, string]>([
  ['is found by the path of its socket', 'own/found.sock', 'own/found.sock'],
  ['is found by the name of its socket', 'own/agent.sock', 'agent.sock'],
  ['serves under another name', 'own/elsewhere.sock', 'own/here.sock'],
])('the group of an agent that %s may open the socket', async ([, bound, socket]) => {
  chmodSync(folder, 0o755);
  mkdirSync(join(folder, 'own'), { recursive: true });
  chownSync(join(folder, 'own'), USER, USER);
  const agent = spawn(process.execPath, ['-e', AGENT, join(folder, bound)], {
    uid: USER,
    gid: NO_GROUP,
    cwd: '/',
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  onTestFinished(() => void agent.kill());
  await once(agent.stdout, 'data');
  renameSync(join(folder, bound), join(folder, socket));
  const only = ['device.socket.permissions'];
  const { checks } = await runDeviceSuite({ socket: join(folder, socket) }, { only });
  expect(checks).toMatchObject([{ outcome: 'pass' }]);
});

it('a device may take a token without its padding', async () => {
  const behaviour = behaviourWith({
    transport: ({ authorized }) => ({
      discovery: ({ port, token }) => ({ port, token: `${token}==` }),
      authorized: (header, ...expected) => authorized(header?.replace(/=+$/, ''), ...expected),
    }),
  });
  await using robot = await startRobot({ transport: 'loopback', behaviour });
  const report = await runDeviceSuite(robot.place, { only: ['device.loopback.bearer-required'] });
  expect(resultsWith(report, 'fail')).toEqual([]);
});

const EVENT = 'id: 1\nevent: a.b\ndata: {"object":"event","id":1}\n\n';

it.for([
  ['the deployment below a word', true],
  ['events', false],
] as const)('a refusal without the token may not show %s', async ([, showsDeployment]) => {
  let [right, current]: [string, unknown] = ['', undefined];
  const behaviour = behaviourWith({
    transport: {
      discovery: (file) => {
        right = `Bearer ${file.token}`;
        return file;
      },
      authorized: () => true,
    },
    http: {
      deploymentBody: (deployment) => {
        current = deployment;
        return deployment;
      },
      intercept: ({ url = '', headers }, response) => {
        if (headers.authorization === right) return false;
        response.writeHead(401);
        if (showsDeployment) response.end(`unauthorized\n${JSON.stringify(current)}`);
        else if (url.includes('/events')) response.write(EVENT);
        else response.end();
        return true;
      },
    },
  });
  await using robot = await startRobot({ transport: 'loopback', behaviour });
  await robot.device.deploy();
  const report = await runDeviceSuite(robot.place, { only: ['device.loopback.bearer-required'] });
  expect(report.checks).toMatchObject([{ outcome: 'fail', expected: expect.stringContaining('body of a refusal') }]);
});
