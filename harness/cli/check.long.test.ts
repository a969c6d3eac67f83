import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import process from 'node:process';
import { pathToFileURL } from 'node:url';
import { validate } from 'ctrf';
import { afterAll, expect, test } from 'vitest';
import { unwillingControl } from '../../simulators/defects/controls.ts';
import { referenceBehaviour } from '../../simulators/device/index.ts';
import { robot } from '../../simulators/device/testing/robot.ts';
import { simulatePlatform } from '../../simulators/platform/index.ts';
import { REPORT_FORMATS } from '../reports/create.ts';
import { jsonProblems, junitProblems } from '../reports/testing/schemas.ts';
import { muster, Running, reportIn, typed, useFolder } from './testing/muster.ts';

const at = useFolder();
const deploymentBody = (shown: object): object => ({ ...shown, status: 'fine' });
const behaviour = { ...referenceBehaviour, http: { ...referenceBehaviour.http, deploymentBody } };
const [right, wrong] = [await robot(), await robot({ behaviour })];
for (const { device } of [right, wrong]) await device.deploy({});
const [good, bad] = [right.socket, wrong.socket];
afterAll(() => Promise.all([right, wrong].map((each) => each[Symbol.asyncDispose]())));

const shape = ['--only', 'device.deployment.shape'];

test('exit code 0: a narrowed check passes, and its reports name the narrowing', async () => {
  const words = typed`check device --socket ${good} ${shape} --report json --seed 7 --verbose`;
  const { code, stdout } = await muster(...words, '--report', `pretty=${at('good.txt')}`);
  const out = readFileSync(at('good.txt'), 'utf8');
  expect(out).toMatch(/✓ 2.1 .*\n +✓ device.deployment.shape .*1 request.*\n/);
  expect(out).toMatch(/NO FAILURE FOUND {2}2 passed(.|\n)*left out: --only device.deployment.shape/);
  expect(JSON.parse(stdout)).toMatchObject({
    seed: 7,
    exit_code: 0,
    complete: false,
    narrowed_by: ['--only device.deployment.shape'],
    summary: { fail: 0 },
    checks: expect.arrayContaining([
      expect.objectContaining({ id: 'device.deployment.shape', level: 'MUST', section: '2.1' }),
    ]),
  });
  expect(code).toBe(0);
});

test('exit code 1: a MUST fails, and every report shows it', async () => {
  const files = ['json', 'junit', 'ctrf', 'html'].map((format) => `${format}=${at(`bad.${format}`)}`);
  const reports = ['pretty', ...files].flatMap((spec) => ['--report', spec]);
  const { code, stdout: out } = await muster('check', 'device', '--socket', bad, ...shape, ...reports);
  expect(code).toBe(1);
  expect(out).toMatch(/✗ device.deployment.shape {2}MUST · section 2.1 Deployment/);
  expect(out).toMatch(
    /try +curl -s -i --max-time 10 --unix-socket \S+agent.sock .*http:\/\/localhost\/v0.2\/deployments\/current/,
  );
  expect(out).toMatch(/NOT CONFORMANT {2}1 finding, 1 may follow/);
  const text = (format: string): string => readFileSync(at(`bad.${format}`), 'utf8');
  for (const format of ['json', 'junit', 'ctrf', 'html']) expect(text(format)).toContain('device.deployment.shape');
  expect(jsonProblems('report.schema.json', text('json'))).toEqual([]);
  expect(await junitProblems(text('junit'))).toEqual([]);
  expect(validate(JSON.parse(text('ctrf')))).toMatchObject({ valid: true });
});

test('a control that crashes is told once, before the finding of the agent and apart from it', async () => {
  await using agent = await robot({ behaviour, control: { path: at('rig.sock') }, heartbeatMs: 2000 });
  const deed = (call: string) => (call === 'remove' ? 'fail' : 'forward');
  await using rig = await unwillingControl({ name: 'x', summary: '', deed }, at('rig.sock'), {
    path: at('front.sock'),
  });
  const only = ['--only', 'device.deployment.*', '--only', 'device.events.types*'];
  const words = typed`check device --socket ${agent.socket} --control ${rig.address} --fast ${only}`;
  const { code, stdout } = await muster(...words, '--report', 'pretty', '--report', `json=${at('rig.json')}`);
  const reasons = reportIn(at('rig.json')).checks.filter(({ outcome }) => outcome === 'blocked');
  expect(reasons.filter(({ reason }) => reason?.includes('KeyError')).length).toBeGreaterThan(1);
  expect(stdout.match(/KeyError/g)).toHaveLength(1);
  expect(stdout).toMatch(
    /Blocked \d+\n {2}control POST .*remove answered 500: Traceback.*\nFailed: a MUST does not hold 2\n/s,
  );
  expect(code).toBe(1);
}, 600_000);

test('read_only of a target file leaves out a check that writes', async () => {
  await using platform = await simulatePlatform({ devices: 3, mqtt: false });
  writeFileSync(at('read.yaml'), `platform: { url: "${platform.url}", read_only: true }\n`);
  const report = at('read.json');
  const only = ['--only', 'platform.ping.unknown-device', '--report', `json=${report}`];
  const words = typed`check platform --target ${at('read.yaml')} ${only}`;
  const env = { MUSTER_API_KEY: platform.apiKey };
  const { code, stderr } = await new Running(words, { env }).ended;
  const reason = 'not run: --read-only sends nothing but GET';
  expect(reportIn(report).checks).toMatchObject([{ id: 'platform.ping.unknown-device', reason }]);
  expect(reportIn(report).checks[0]).not.toHaveProperty('fault');
  expect(code).toBe(2);
  expect(stderr).not.toContain('stay on the platform');
  const writing = await new Running(typed`check platform --url ${platform.url} ${only}`, { env }).ended;
  expect(writing.stderr).toContain('muster: records that this run makes stay on the platform');
});

test('a baseline excuses findings, and a stale entry exits with code 2', async () => {
  const baseline = ['--baseline', at('known.yaml')];
  const first = await muster('check', 'device', '--socket', bad, ...shape, ...baseline, '--update-baseline');
  expect(first.stdout).toMatch(/Known 2\n {2}found on \d{4}-/);
  expect(first).toMatchObject({
    code: 0,
    stderr: expect.stringMatching(/\+ device\.deployment\.shape: expected .*\n.* excuses 2 findings;/s),
  });
  const fixed = await muster('check', 'device', '--socket', good, ...shape, ...baseline);
  expect(fixed.code).toBe(2);
  expect(fixed.stdout).toMatch(/Stale in the baseline 2\n {2}holds now: remove lines \d+-\d+ of \S*known\.yaml/);
});

test('exit code 130: an interrupted check still writes its reports', async () => {
  const words = typed`check device --socket ${good} --only device.events.heartbeat`;
  const running = new Running([...words, '--report', 'pretty', '--report', `json=${at('interrupted.json')}`]);
  await running.line((line) => line.startsWith('check device'));
  const { code, stdout } = await running.stop('SIGINT');
  expect(stdout).toContain('interrupted');
  expect(code).toBe(130);
  expect(reportIn(at('interrupted.json'))).toMatchObject({ interrupted: true, exit_code: 130 });
});

const SECRET = 'k7Q2-xW9z_Bf4vN8';

function expectNoSecret(texts: Record<string, string>): void {
  for (const [name, text] of Object.entries(texts)) {
    for (let at = 0; at + 6 <= SECRET.length; at += 1) {
      expect(text.includes(SECRET.slice(at, at + 6)), `${name} has ${SECRET.slice(at, at + 6)}`).toBe(false);
    }
  }
}

test('reports and output mask the token that an agent prints as it dies', async () => {
  writeFileSync(
    at('agent.sh'),
    `echo "padding $1" >&2
for i in $(seq 300); do printf 'token=%s ' "$MUSTER_TOKEN" >&2; done
printf '\\n{"token":"%s"}\\n' "$MUSTER_TOKEN"
exit 7
`,
  );
  const reports = REPORT_FORMATS.flatMap((format) => ['--report', `${format}=${at(`out.${format}`)}`]);
  const agent = `sh ${at('agent.sh')} ${SECRET}`;
  const words = typed`check device --url http://127.0.0.1:1 --command ${agent} --fast ${reports} --report pretty`;
  const { code, stdout, stderr } = await new Running(words, { env: { MUSTER_TOKEN: SECRET } }).ended;
  expect(code).toBe(2);
  expect(stdout).toMatch(/ended with exit code 7 before it served .*token=\*\*\*/s);
  const files = readdirSync(at()).filter((name) => name.startsWith('out.'));
  expect(files.length).toBe(REPORT_FORMATS.length);
  const texts = Object.fromEntries(files.map((name) => [name, readFileSync(at(name), 'utf8')]));
  expectNoSecret({ stdout, stderr, ...texts });
});

test('compare masks the token in the command line of an agent', async () => {
  const [agent, other] = [`exit 7 # ${SECRET}`, 'exit 8'];
  const words = typed`compare --command ${agent} --command ${other} -- --url http://127.0.0.1:1 --fast`;
  const { code, stdout, stderr } = await new Running(words, { env: { MUSTER_TOKEN: SECRET } }).ended;
  expect(code).toBe(0);
  expect(stdout).toContain('exit 7 # ***');
  expectNoSecret({ stdout, stderr });
});

test('exit code 3: a report that cannot be written is a failure of Muster', async () => {
  const words = typed`check platform --url http://127.0.0.1:1/beta --only platform.list.envelope --name ${SECRET}`;
  const reports = ['--report', 'json=/dev/full', '--report', `json=${at('other.json')}`];
  const trouble = await new Running([...words, ...reports], { env: { MUSTER_API_KEY: SECRET } }).ended;
  expect(trouble.stderr).toContain('/dev/full was not written: the disk is full (ENOSPC)');
  expect(trouble.stderr).not.toMatch(/^ +at /m);
  expect(trouble.code).toBe(3);
  expect(reportIn(at('other.json'))).toMatchObject({ exit_code: 2 });
  expectNoSecret({ trouble: trouble.stderr + trouble.stdout });
});

const AGENT = at('agent.mjs');
writeFileSync(
  AGENT,
  `import { createServer } from 'node:http';
const json = { 'content-type': 'application/json' };
createServer((_, response) => {
  console.error('a trace');
  response.writeHead(200, json).end('{}');
}).listen(process.argv[2]);
`,
);
const NODE = process.execPath;
const ONE = ['--fast', '--only', 'device.deployment.shape'];

test('a check ends while an orphan of the agent holds its output open', async () => {
  const child = at('child');
  const line = `setsid sh -c 'echo $$ > ${child}; exec sleep 600' & exec ${NODE} ${AGENT} {socket}`;
  const began = performance.now();
  const { stderr } = await muster('check', 'device', '--command', line, ...ONE);
  const pid = Number(readFileSync(child, 'utf8'));
  try {
    expect(performance.now() - began).toBeLessThan(300_000);
    expect(existsSync(`/proc/${pid}`)).toBe(true);
    expect(stderr).toMatch(/has ended, but something that it started in a session of its own still runs/);
  } finally {
    process.kill(pid, 'SIGKILL');
  }
}, 900_000);

test('a finding holds the standard error that the agent wrote during its check', async () => {
  const line = `echo starting >&2; exec ${NODE} ${AGENT} {socket}`;
  const report = at('wrote.json');
  await muster('check', 'device', '--command', line, ...ONE, '--report', `json=${report}`);
  expect(reportIn(report).checks.find(({ outcome }) => outcome === 'fail')?.stderr).toMatch(/^a trace(\na trace)*$/);
});

test('exit code 3: an uncaught exception in Muster blocks the running checks', async () => {
  const planted = at('planted.mjs');
  const fault = "setImmediate(() => { throw new Error('planted fault'); });";
  writeFileSync(planted, `import process from 'node:process';\nprocess.on('SIGUSR2', () => { ${fault} });\n`);
  // Slow heartbeats keep the check running until the error.
  await using on = await robot({ heartbeatMs: 30_000 });
  const file = at('planted.json');
  const words = typed`check device --socket ${on.socket} --report json=${file} --report pretty`;
  await using run = new Running(words, { env: { NODE_OPTIONS: `--import=${pathToFileURL(planted).href}` } });
  await run.line((line) => line.includes('muster'));
  run.child.kill('SIGUSR2');
  const { code, stderr } = await run.ended;
  expect(stderr).toContain('planted fault');
  const report = reportIn(file);
  expect(report.checks.length).toBeGreaterThan(50);
  const faults = report.checks.filter(({ fault }) => fault === true);
  expect(faults.length).toBeGreaterThan(0);
  for (const { outcome, reason } of faults)
    expect({ outcome, reason }).toEqual({ outcome: 'blocked', reason: 'a fault in Muster: Error: planted fault' });
  expect(report.summary.fail).toBe(0);
  expect([code, report.exit_code]).toEqual([3, 3]);
});
