/**
 * An agent in a process of its own, which speaks nothing but its uplink, is enrolled, driven through deployments and
 * certified.
 */
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { Redactor } from '../../client/redact.ts';
import type { Report } from '../../runner/types.ts';
import { jsonProblems, muster, Running } from '../testing/muster.ts';
import { openEnrolledDevice } from './own-platform.ts';

const folder = mkdtempSync(join(tmpdir(), 'muster-enrolled-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const file = join(import.meta.dirname, '../../../fixtures/targets/enrolled-agent.yaml');

test('an unmodified agent is certified over its uplink alone', async () => {
  const [key, certificate] = [join(folder, 'key.pem'), join(folder, 'certificate.json')];
  expect((await muster('keygen', key)).code).toBe(0);
  const env = { AGENT_DIR: folder };
  const words = ['--target', file, '--control', 'platform', '--profile', 'core', '--report', 'pretty'];
  const reports = ['--report', `json=${join(folder, 'report.json')}`];
  const signed = ['--certificate', certificate, '--key', key];
  const run = new Running(['check', 'device', ...words, ...reports, ...signed], { env });
  const { code, stdout, stderr } = await run.ended;
  const report = JSON.parse(readFileSync(join(folder, 'report.json'), 'utf8')) as Report;
  const red = report.checks.filter(({ outcome }) => outcome === 'fail' || outcome === 'blocked');
  expect(red.map(({ id, actual, reason }) => ({ id, actual, reason }))).toEqual([]);
  expect(stdout).toContain('CONFORMANT');
  expect(code).toBe(0);
  expect(report.summary.pass).toBeGreaterThan(15);
  expect(report.target.capabilities).toEqual(expect.arrayContaining(['unix', 'drive', 'restart', 'log']));
  // An agent that is started for the run finds its token in its environment: nobody has to read it.
  expect(stderr).not.toContain('MUSTER_TOKEN=');

  const envelope = JSON.parse(readFileSync(certificate, 'utf8')) as { payload: string };
  const statement = Buffer.from(envelope.payload, 'base64').toString('utf8');
  expect(jsonProblems('statement.schema.json', statement)).toEqual([]);
  expect(jsonProblems('report.schema.json', JSON.stringify(report))).toEqual([]);
  const verified = await muster('verify', certificate, '--key', `${key}.pub`);
  expect(verified.stdout).toMatch(
    /^CONFORMANT in profile core: \d+ of \d+ checks decided it.*\nsimulated-agent 0.1.0 with the Device API\n/,
  );
  expect(verified.stdout).toMatch(/driven by: platform \+ process/);
  expect(verified.code).toBe(0);
}, 400_000);

test('an agent that is started by hand is awaited, and the terminal shows what it needs', async () => {
  const [socket, dir] = [join(folder, 'hand.sock'), join(folder, 'hand')];
  const words = ['--socket', socket, '--control', 'platform', '--only', 'device.deployment.shape.driven'];
  const checking = new Running(['check', 'device', ...words]);
  const shown = await checking.said(/MUSTER_PLATFORM_URL=(\S+)\n +MUSTER_MQTT_URL=(\S+)\n +MUSTER_TOKEN=(\S+)\n/);
  const [, platform = '', mqtt = '', token = ''] = shown;
  const uplink = ['--uplink', 'agent', '--platform', platform, '--mqtt', mqtt, '--log-level', 'warn'];
  const env = { MUSTER_TOKEN: token };
  await using agent = new Running(['simulate', 'device', '--socket', socket, '--dir', dir, ...uplink], { env });
  await agent.ready();
  const { code, stdout } = await checking.ended;
  expect(stdout).toContain('1 passed');
  expect(stdout).not.toContain(token);
  expect(code).toBe(0);
});

test('a container is refused before anything is started', async () => {
  const { code, stderr } = await muster('check', 'device', '--image', 'example/agent', '--control', 'platform');
  expect(stderr).toContain('docker run --rm --network host');
  expect(code).toBe(64);
});

test('an interrupt while an agent is awaited ends it as well', async () => {
  const [socket, dir, pidFile] = [join(folder, 'waits.sock'), join(folder, 'waits'), join(folder, 'waits.pid')];
  const agent =
    `node ${join(import.meta.dirname, '../main.ts')} simulate device --socket ${socket} --dir ${dir} ` +
    '--log-level warn';
  const command = `echo $$ > ${pidFile}; exec ${agent}`;
  const checking = new Running(['check', 'device', '--command', command, '--socket', socket, '--control', 'platform']);
  await checking.said(/waiting for it to enrol, with MUSTER_PLATFORM_URL/);
  checking.child.kill('SIGINT');
  const { code, stderr } = await checking.ended;
  expect(stderr).toMatch(/\nmuster: interrupted before anything was checked; nothing is left running\n$/);
  expect(code).toBe(130);
  expect(existsSync(socket)).toBe(false);
  expect(() => process.kill(Number(readFileSync(pidFile, 'utf8')), 0)).toThrow('ESRCH');
});

test('an agent that never enrols is reported, with what it needs', async () => {
  const redactor = new Redactor();
  const socket = join(folder, 'alone.sock');
  const command =
    `exec node ${join(import.meta.dirname, '../main.ts')} simulate device --socket ${socket} --dir ` +
    `${join(folder, 'alone')} --log-level warn`;
  const options = { redactor, announce: () => {}, enrolMs: 500 };
  await using target = await openEnrolledDevice({ redactor, command, socket }, options);
  expect(target.unreachable).toMatch(/no agent enrolled in Muster's platform.*MUSTER_PLATFORM_URL/);
});

const MAIN = join(import.meta.dirname, '../main.ts');
const UPLINK = '--uplink agent --platform $MUSTER_PLATFORM_URL --mqtt $MUSTER_MQTT_URL --log-level warn';
const agentLine = (dialect: string): string =>
  `NODE_EXTRA_CA_CERTS={ca} exec node ${MAIN} simulate device --socket {socket} --dir {dir} --heartbeat 1s ` +
  `${UPLINK} --dialect ${dialect}`;

test('an agent enrols over TLS in another dialect, and what a platform lacks comes from the target file', async () => {
  const target = join(folder, 'tls.yaml');
  const control = {
    compact: `echo called >> ${folder}/compact; echo '{"earliest_id":1,"latest_id":1}'`,
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
  expect(readFileSync(join(folder, 'compact'), 'utf8')).toBe('called\n');
  await opened.control.stop('SIGKILL');
  await opened.control.start();
  expect((await opened.control.deploy()).status).toBe('deployed');
}, 120_000);

test('a system over TLS is one command as well', async () => {
  const words = ['--command', agentLine('spec'), '--platform-tls', '--only', 'system.deploy', '--only', 'system.ping'];
  // As for a device, the word may be given.
  words.push('--control', 'platform');
  const { code, stdout } = await muster('check', 'system', ...words);
  expect(stdout).toContain('NO FAILURE FOUND');
  expect(code).toBe(0);
}, 120_000);

test('a port that is taken is a usage error, and so is one without a platform of Muster’s own', async () => {
  await using other = createServer().listen(0, '127.0.0.1');
  await once(other, 'listening');
  const { port } = other.address() as AddressInfo;
  const line = ['--command', agentLine('spec')];
  for (const words of [
    ['check', 'device', ...line, '--control', 'platform', '--mqtt-port', String(port)],
    ['check', 'system', ...line, '--platform-port', String(port)],
  ]) {
    const { code, stderr } = await muster(...words);
    expect(stderr).toContain(`Muster's platform cannot listen on port ${port}: something else already listens there`);
    expect(code).toBe(64);
  }
  const elsewhere = ['check', 'system', '--platform', 'http://127.0.0.1:1/beta', '--socket', '/x', '--mqtt-port', '1'];
  expect((await muster(...elsewhere)).stderr).toContain("--mqtt-port: is about Muster's own platform");
  const both = ['check', 'system', '--platform', 'http://127.0.0.1:1/beta', '--socket', '/x', '--control', 'platform'];
  expect((await muster(...both)).stderr).toContain("--control platform: that is Muster's own; leave out --platform");
}, 60_000);

test('an agent that compacts by itself alone is made to by filling its log, and a kill leaves no call waiting', async () => {
  const target = join(folder, 'fills.yaml');
  const [socket, dir] = [join(folder, 'fills.sock'), join(folder, 'fills')];
  const agent =
    `exec node ${join(import.meta.dirname, '../main.ts')} simulate device --socket ${socket} --dir ` +
    `${dir} --retain 60`;
  const uplink = '--uplink agent --platform $MUSTER_PLATFORM_URL --mqtt $MUSTER_MQTT_URL --log-level warn';
  const newest = `JSON.parse(log.trimEnd().split('\\n').at(-1))`;
  const copies = `Array.from({ length: 60 }, (_, at) => JSON.stringify({ ...kept, id: kept.id + at + 1 }) + '\\n')`;
  const script = `const fs = require('fs'); const path = '${dir}/events.jsonl'; const log = fs.readFileSync(path, 'utf8');
    const { object, id, type, occurred_at, data } = ${newest}; const kept = { object, id, type, occurred_at, data };
    fs.appendFileSync(path, ${copies}.join(''))`;
  writeFileSync(join(folder, 'fill.cjs'), script);
  const control = { event_log: join(dir, 'events.jsonl'), retention: 60, heartbeat_seconds: 1, fill: 'node fill.cjs' };
  writeFileSync(target, JSON.stringify({ name: 'fills', device: { command: `${agent} ${uplink}`, socket }, control }));
  const only = [
    'device.events.expired.410',
    'device.log.compaction',
    'device.log.crash',
    'device.events.replay.complete.histories',
  ].flatMap((id) => ['--only', id]);
  const file = join(folder, 'fills.json');
  const words = ['check', 'device', '--target', target, '--control', 'platform', ...only, '--report', `json=${file}`];
  const { code } = await muster(...words);
  const { checks, target: judged } = JSON.parse(readFileSync(file, 'utf8')) as Report;
  const passed = checks.filter(({ outcome }) => outcome === 'pass').map(({ id }) => id);
  expect(passed).toEqual(expect.arrayContaining(only.filter((word) => word !== '--only')));
  expect(judged.capabilities).toContain('compact');
  expect(code).toBe(0);
}, 400_000);
