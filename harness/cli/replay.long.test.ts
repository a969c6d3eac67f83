import { execFileSync, spawnSync } from 'node:child_process';
import { appendFileSync, existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { HttpClient } from '../client/http.ts';
import { HttpControl } from '../targets/control/ends.ts';
import { MAIN, muster, Running, reportIn, typed, useFolder } from './testing/muster.ts';

const at = useFolder();

async function publish(control: string, count: number): Promise<void> {
  const client = new HttpControl(control);
  await client.publish(count);
  await client.close();
}

const BOTH = ['replay-inclusive', 'malformed-crashes'];

test('replay repeats only the failed checks, which pass on a mended device', async () => {
  const [socket, control, dir] = [at('inclusive.sock'), at('inclusive-control.sock'), at('inclusive')];
  const place = ['--socket', socket, '--control', control];
  await using device = new Running(typed`simulate device ${place} --dir ${dir} --defect ${BOTH}`);
  await device.ready();
  const file = at('run.json');
  await publish(control, 30);
  // Uses two checks that publish no events, so that neither sees events of the other.
  const id = 'device.events.replay.exclusive.retained';
  const other = 'device.events.cursor.malformed';
  expect((await muster(...typed`check device ${place} --only ${id} ${other} --report json=${file}`)).code).toBe(1);
  const failed = reportIn(file).checks.filter(({ outcome }) => outcome === 'fail' || outcome === 'warn');
  expect(failed).toHaveLength(2);
  const { code, stdout } = await muster('replay', file);
  expect(stdout.match(/HAPPENED AGAIN/g)).toHaveLength(1);
  expect(stdout).toContain(`${failed.length} of ${failed.length} findings happened again\n`);
  expect(stdout).toContain(`✗ ${id}  MUST`);
  expect(stdout).toContain(`again      muster replay ${file} --only ${id}\n`);
  expect(code).toBe(1);
  const instead = ['--socket', `${socket}.mended`, '--control', `${control}.mended`];
  await using mended = new Running(typed`simulate device ${instead} --dir ${dir}.mended`);
  await mended.ready();
  await publish(`${control}.mended`, 30);
  const now = await muster('replay', file, '--', ...instead);
  expect(now.stdout).toMatch(/DID NOT HAPPEN AGAIN {2}\d passed/);
  expect(now.stdout).toContain(`0 of ${failed.length} findings happened again; not again: `);
  expect(now.code).toBe(0);
  expect((await muster('replay', file, '--only', 'device.version.prefix')).code).toBe(64);
});

const ID = 'device.events.replay.exclusive';
/** Pattern of ids, which leaves out the check of the same requirement that publishes no events of its own. */
const DRIVEN = '*.replay.exclusive';
const AGENT = ['--socket', at('agent.sock'), '--control', at('control.sock')];

async function brokenDevice(dir: string): Promise<Running> {
  const device = new Running(typed`simulate device ${AGENT} --dir ${at(dir)} --defect replay-inclusive`);
  await device.ready();
  return device;
}

test('the line that repeats a finding of a run with muster.yaml works in a folder below it', async () => {
  await using _ = await brokenDevice('configured');
  mkdirSync(at('.git'));
  mkdirSync(at('sub'));
  const options = 'socket: agent.sock, control: control.sock, report: [pretty, json=below.json]';
  writeFileSync(at('muster.yaml'), `check: { device: { ${options} } }`);
  const below = (words: string[]) => new Running(words, { cwd: at('sub') }).ended;
  const first = await below(typed`check device --only ${DRIVEN} --bail 1`);
  const again = /^ +again +muster (.*)$/m.exec(first.stdout)?.[1] ?? first.stderr;
  const report = ['--report', 'json=again.json'];
  const second = await below([...again.split(' '), '--', ...report]);
  expect([first.code, second.code], second.stderr).toEqual([1, 1]);
  expect(reportIn(at('sub', 'again.json')).replay_of?.file).toBe(at('below.json'));
  // Options of `replay` itself make it run in the folder of the file, and typed paths stay relative to the user's.
  appendFileSync(at('muster.yaml'), '\nreplay: { keep: false }\n');
  const third = await below([...again.split(' '), '--', '--report', 'json=third.json']);
  expect([third.code, existsSync(at('sub', 'third.json'))], third.stderr).toEqual([1, true]);
  // Without options of `check`, the run was made in the user's folder.
  writeFileSync(at('muster.yaml'), 'replay: { keep: false }\n');
  await below(typed`check device ${AGENT} --only ${DRIVEN} --bail 1 --report json=own.json`);
  const fourth = await below(['replay', 'own.json']);
  expect(fourth.code, fourth.stderr).toBe(1);
  rmSync(at('muster.yaml'));
});

test('the script of a driven finding reproduces it on a fresh device', async () => {
  const file = at('driven.json');
  {
    await using _ = await brokenDevice('first');
    // `--bail` prevents a second attempt, which would find events of the first attempt.
    const words = typed`check device ${AGENT} --only ${DRIVEN} --bail 1 --seed 7 --report json=${file}`;
    expect((await muster(...words)).code).toBe(1);
  }
  const [result] = reportIn(file).checks;
  expect(result).not.toHaveProperty('curl');
  await using _ = await brokenDevice('second');
  const said = execFileSync('/bin/sh', ['-c', result?.script ?? ''], { encoding: 'utf8' });
  const [, number = '', cursor = ''] = /# (\d+)\. GET \/v0\.2\/events\?after=(\d+): opens a stream/.exec(said) ?? [];
  const [, came = ''] = said.split(`# ${number}. came on that stream:`);
  expect(/^id: (\d+)$/m.exec(came)?.[1], said).toBe(cursor);
  expect((await muster('replay', file, '--keep')).stderr).toContain('did not start this target');
});

test('replay --keep starts the target anew and keeps it up until an interrupt', async () => {
  const file = at('started.json');
  const line =
    `exec ${process.execPath} ${MAIN} simulate device --socket {socket} --control {control} --dir {dir} ` +
    '--defect replay-inclusive';
  const only = ['--only', DRIVEN, '--bail', '1'];
  const run = await muster(...typed`check device --command ${line} ${only} --report pretty --report json=${file}`);
  expect(run.stdout).toMatch(/What was started for this run has ended: the line 'again' starts it again; add --keep/);
  expect(reportIn(file).target.ended).toBe(true);
  expect(reportIn(file).checks.find(({ id }) => id === ID)).not.toHaveProperty('script');

  const other = ['--socket', at('none.sock'), '--fast', '--report', `json=${at('other.json')}`];
  expect((await muster('replay', file, '--only', ID, '--', ...other)).code).toBe(2);
  expect(reportIn(at('other.json')).options).not.toHaveProperty('command');

  // Leaves out the other check of this requirement, which may find no events in a replay.
  const replay = new Running(['replay', file, '--only', ID, '--keep']);
  const [, socketPath = ''] = await replay.said(/The target is up: unix:(\S+), control/);
  const http = new HttpClient({ endpoint: { origin: 'http://localhost', socketPath }, basePath: '/v0.2' });
  expect((await http.get('/events', { query: { after: 'x' } })).status).toBeLessThan(500);
  await http.close();
  const { code, stdout } = await replay.stop('SIGINT');
  expect(code).toBe(1);
  expect(stdout, stdout).toMatch(/HAPPENED AGAIN {2}(.|\n)*(\d) of \2 findings? happened again/);
  expect(stdout).toContain(` --unix-socket ${socketPath} `);
  expect(() => execFileSync('curl', ['-s', '--unix-socket', socketPath, 'http://localhost/v0.2/events'])).toThrow();
});

test('the line that repeats a check runs in a shell, with keys from variables', async () => {
  const keys = ['--api-key', 'dev', 'limited=deployments:read'];
  await using platform = new Running(typed`simulate platform --port 0 ${keys} --devices 2 --defect key-optional`);
  const { url } = await platform.ready();
  const check = typed`check platform --url ${String(url)} --api-key dev --limited-key limited --read-only --bail 1`;
  const first = await muster(...check, '--only', 'platform.auth.key-required');
  expect(first.code).toBe(1);
  const again = /^ +again +(muster .*)$/m.exec(first.stdout)?.[1] ?? '';
  expect(again).toContain('--limited-key "$MUSTER_LIMITED_KEY"');
  const shell = `muster() { exec ${process.execPath} ${MAIN} "$@"; }; ${again}`;
  const env = { ...process.env, NO_COLOR: '1', MUSTER_API_KEY: 'dev', MUSTER_LIMITED_KEY: 'limited' };
  const second = spawnSync('/bin/sh', ['-c', shell], { encoding: 'utf8', env });
  expect(second).toMatchObject({ status: 1, stderr: '' });
  // The seed decides which check runs first, and `--bail` ends the run.
  expect(second.stdout).toMatch(/platform\.auth\.key-required(\.writes)? {2}MUST/);
  const line = /^ +try +(curl .*)$/m.exec(second.stdout)?.[1] ?? '';
  expect(spawnSync('/bin/sh', ['-c', line], { encoding: 'utf8', env }).stdout).toMatch(/^HTTP\/1\.1 200 /);
});
