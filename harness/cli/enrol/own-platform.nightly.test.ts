import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer as createHttp, type ServerResponse } from 'node:http';
import { createServer as createHttps } from 'node:https';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { listenAt } from '../../../simulators/defects/null.ts';
import { Redactor } from '../../common/redact.ts';
import { localhostTls } from '../../common/testing/localhost-tls.ts';
import { served } from '../../common/testing/servers.ts';
import { systemTargetOptions } from '../check-options.ts';
import { complete } from '../options.ts';
import { MAIN, muster, Running, refusal, reportIn, typed, useFolder } from '../testing/muster.ts';
import { openEnrolledDevice, openSystem } from './own-platform.ts';

const at = useFolder();
const file = join(import.meta.dirname, '../../../fixtures/targets/enrolled-agent.yaml');

test('an unmodified agent is certified over its uplink alone', async () => {
  const [key, certificate] = [at('key.pem'), at('certificate.json')];
  expect((await muster('keygen', key)).code).toBe(0);
  const words = typed`check device --target ${file} --control platform --profile driven --report pretty`;
  const written = typed`--report json=${at('report.json')} --certificate ${certificate} --key ${key}`;
  const { code, stdout, stderr } = await new Running([...words, ...written], { env: { AGENT_DIR: at() } }).ended;
  const report = reportIn(at('report.json'));
  const red = report.checks.filter(({ outcome }) => outcome === 'fail' || outcome === 'blocked');
  expect(red.map(({ id, actual, reason }) => ({ id, actual, reason }))).toEqual([]);
  expect(stdout).toContain('CONFORMANT: driven');
  expect(code).toBe(0);
  expect(report.summary.pass).toBeGreaterThan(15);
  expect(report.target.capabilities).toEqual(expect.arrayContaining(['unix', 'drive', 'restart', 'log']));
  // The environment passes the token to this agent, so Muster must not print it.
  expect(stderr).not.toContain('MUSTER_TOKEN=');

  const verified = await muster('verify', certificate, '--key', `${key}.pub`);
  expect(verified.stdout).toMatch(
    /^CONFORMANT: driven, \S+ · \d+ of \d+ checks .*\nsimulated-agent 0.1.0 with the Device API, valid until [\d-]+\n/,
  );
  expect(verified.stdout).toMatch(/driven by: platform \+ process/);
  expect(verified.code).toBe(0);
}, 900_000);

test('a check awaits an agent started by hand, and prints the variables it needs', async () => {
  const [socket, dir] = [at('hand.sock'), at('hand')];
  const only = ['--only', 'device.deployment.shape.driven'];
  const checking = new Running(typed`check device --socket ${socket} --control platform ${only}`);
  const shown = await checking.said(/MUSTER_PLATFORM_URL=(\S+)\n +MUSTER_MQTT_URL=(\S+)\n +MUSTER_TOKEN=(\S+)\n/);
  const [, platform = '', mqtt = '', token = ''] = shown;
  const uplink = typed`--uplink agent --platform ${platform} --mqtt ${mqtt} --log-level warn`;
  const env = { MUSTER_TOKEN: token };
  await using agent = new Running(typed`simulate device --socket ${socket} --dir ${dir} ${uplink}`, { env });
  await agent.ready();
  const { code, stdout } = await checking.ended;
  expect(stdout).toContain('1 passed');
  expect(stdout).not.toContain(token);
  expect(code).toBe(0);
});

const agent = (words: string): string => `exec node ${MAIN} simulate device --log-level warn ${words}`;
const UPLINK = '--uplink agent --platform $MUSTER_PLATFORM_URL --mqtt $MUSTER_MQTT_URL';

test('an interrupt while awaiting enrolment ends the check and its agent', async () => {
  const [socket, pidFile] = [at('waits.sock'), at('waits.pid')];
  const command = `echo $$ > ${pidFile}; ${agent(`--socket ${socket} --dir ${at('waits')}`)}`;
  const checking = new Running(typed`check device --command ${command} --socket ${socket} --control platform`);
  await checking.said(/waiting for it to enrol, with MUSTER_PLATFORM_URL/);
  const { code, stderr } = await checking.stop('SIGINT');
  expect(stderr).toMatch(/\nmuster: interrupted before anything was checked; nothing is left running\n$/);
  expect(code).toBe(130);
  expect(existsSync(socket)).toBe(false);
  expect(() => process.kill(Number(readFileSync(pidFile, 'utf8')), 0)).toThrow('ESRCH');
});

test.each(['device', 'system'])('a %s whose agent never enrols is told once what it needs', async (api) => {
  const socket = at(`${api}.sock`);
  const command = agent(`--socket ${socket} --dir ${at(`${api}-alone`)}`);
  const said: string[] = [];
  const notify = (text: string): void => void said.push(text);
  const { signal } = new AbortController();
  const opening = { redactor: new Redactor(), signal, patienceMs: 10_000, notify, readOnly: false, enrolMs: 500 };
  await using target =
    api === 'device'
      ? await openEnrolledDevice({ command, socket, ...opening }, opening)
      : await openSystem(complete(systemTargetOptions, { command, socket }), opening);
  expect(target.unreachable).toMatch(/no agent enrolled in Muster's platform.*MUSTER_PLATFORM_URL/);
  expect(said.filter((text) => /^waiting for it to enrol, with MUSTER_PLATFORM_URL/.test(text))).toHaveLength(1);
});

const agentLine = (dialect: string): string =>
  `NODE_EXTRA_CA_CERTS={ca} ${agent(`--socket {socket} --dir {dir} --heartbeat 1s ${UPLINK} --dialect ${dialect}`)}`;

test('an agent enrols over TLS in another dialect, with compaction from the target file', async () => {
  const target = at('tls.yaml');
  const control = {
    compact: `echo called >> ${at('compact')}; echo '{"earliest_id":1,"latest_id":1}'`,
    retention: 77,
    platform: { dialect: 'miru', tls: true },
  };
  writeFileSync(target, JSON.stringify({ device: { command: agentLine('miru') }, control }));
  await using opened = await openEnrolledDevice({ redactor: new Redactor(), target }, { redactor: new Redactor() });
  expect(opened.unreachable).toBeUndefined();
  expect([...opened.capabilities]).toEqual(expect.arrayContaining(['drive', 'compact', 'restart']));
  expect(opened.info.retention).toBe(77);
  expect((await opened.control.deploy()).status).toBe('deployed');
  await opened.control.compact();
  expect(readFileSync(at('compact'), 'utf8')).toBe('called\n');
  await opened.control.stop('SIGKILL');
  await opened.control.start();
  expect((await opened.control.deploy()).status).toBe('deployed');
});

test('a port in use and options that exclude Muster’s own platform are usage errors', async () => {
  await using other = await listenAt(createServer(), { port: 0 });
  const port = other.port ?? 0;
  const line = ['--command', agentLine('spec')];
  const taken = `Muster's platform cannot listen on port ${port}: something else already listens there`;
  const device = await muster(...typed`check device ${line} --control platform --mqtt-port ${port}`);
  expect(device).toMatchObject({ code: 64, stderr: expect.stringContaining(taken) });
  expect(await refusal(typed`check system ${line} --platform-port ${port}`)).toContain(taken);
  const elsewhere = typed`check system --platform http://127.0.0.1:1/beta --socket /x`;
  expect(await refusal([...elsewhere, '--mqtt-port', '1'])).toContain("--mqtt-port: is about Muster's own platform");
  const own = await refusal([...elsewhere, '--control', 'platform']);
  expect(own).toContain("that is Muster's own; leave out --platform");
  const container = await refusal(typed`check device --image example/agent --control platform`);
  expect(container).toContain('docker run --rm --network host');
});

test('--ca also names the authority of a platform that is not Muster’s', async () => {
  const answer = (_: unknown, response: ServerResponse) => void response.end('{}');
  const device = await served(createHttp(answer));
  const { port } = await served(createHttps(localhostTls, answer));
  const ca = at('ca.pem');
  writeFileSync(ca, localhostTls.cert);
  const platform = `https://127.0.0.1:${port}/beta`;
  const given = { url: device.url, platform, ca, 'api-key': 'key', 'device-id': 'dvc_1' };
  const opening = { redactor: new Redactor(), signal: new AbortController().signal, patienceMs: 10_000 };
  const args = complete(systemTargetOptions, given);
  await using target = await openSystem(args, { ...opening, notify: () => {}, readOnly: true });
  expect(target.unreachable).toBeUndefined();
});
