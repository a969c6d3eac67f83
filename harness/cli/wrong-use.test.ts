import { execFile, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { promisify } from 'node:util';
import { expect, it, vi } from 'vitest';
import { LONGEST_SOCKET_PATH } from '../common/user-files.ts';
import { sampleFailure, sampleReport } from '../reports/testing/samples.ts';
import type { Report } from '../runner/types.ts';
import { MAIN, Running, refusal, reportIn, runCommand, shownText, typed, useFolder } from './testing/muster.ts';

const at = useFolder();
writeFileSync(at('shoulds.yaml'), 'device: { socket: agent.sock }\nfail_on: [platform.ping, device.loopback.onyl]\n');
writeFileSync(at('all.yaml'), 'device: { socket: agent.sock }\nfail_on: must\n');
symlinkSync(at('loop'), at('loop'));
writeFileSync(at('ids.txt'), 'dvc_1 # the first\ndvc_2 dvc_3\n');
const ROBOT = at('robot');
const OLD = at('reports', '1.json');
mkdirSync(at('reports'));
writeFileSync(OLD, JSON.stringify(sampleReport([sampleFailure()], { options: { socket: 'a' } })));
writeFileSync(at('old.json'), JSON.stringify({ api: 'device', arguments: ['check', 'device'], checks: [] }));
writeFileSync(at('client.json'), JSON.stringify(sampleReport([sampleFailure()], { api: 'client', options: {} })));
const RARE = 'name: r\nrobots: 5\nclasses: { most: { share: 95% }, rare: { share: 5% } }\n';
writeFileSync(at('rare.yaml'), `${RARE}phases: [{ do: ramp, over: 1s }, { do: storm, over: 1s, class: rare }]\n`);
writeFileSync(at('still.yaml'), 'name: still\nrobots: 2\nphases: [{ do: ramp, over: 1s }]\n');
const TAKEN = `${OLD} is taken by an input of the command`;
const CALLS = 'fleet --uplink calls --platform http://127.0.0.1:1 --api-key k';
const MUTATE = 'mutate client --command true --api device';

it.each<[string | string[], string]>([
  ['check device --socket a --socket a', '--socket: given twice; accepted: once'],
  ['check device --profile cor', 'no such profile of a device; accepted: core, observed, driven, full'],
  ['check device --socket', '--socket: needs a value'],
  ['check device --no-socket', '--no-socket: no such option'],
  ['check device --toString x', '--toString: no such option'],
  ['check device --socket a --seed 0.5', '--seed: must be a whole number'],
  ['check device --socket a -- x', '--: check device takes nothing after it'],
  ['check platform --url http://ops:pw@h/beta --api-key k --dry-run', '--url: credentials do not belong'],
  ['check platform --url http://h/beta --api-key dév', '--api-key: has a blank or a character beyond'],
  ['check device --socket a --only device.events.fram', 'did you mean device.events.frame?'],
  [`check device --target ${at('shoulds.yaml')}`, 'device.loopback.onyl: no check of the device suite has that id'],
  [`check device --target ${at('all.yaml')}`, 'all.yaml:2:1: /fail_on must'],
  ['check device --socket a --requirements 2020-01-01', 'no such requirement set; accepted: 20'],
  [`check device --socket /${'s'.repeat(139)}`, `s: is 140 bytes long; at most ${LONGEST_SOCKET_PATH} are possible`],
  ['check client --socket /x', '--socket'],
  [`fleet --uplink none --scenario ${at('still.yaml')} --judge --out ${at('out')}`, '--judge: judges the answers'],
  [`${CALLS} --devices ${at('none.txt')}`, '; accepted: a file with an id on each line'],
  [`${CALLS} --devices ${at('ids.txt')}`, 'ids.txt:2: is not an id alone; accepted: a file with an id on each line'],
  [`fleet --platform embedded --scenario ${at('rare.yaml')}`, 'cannot be measured; accepted: --robots 22 or more'],
  ['demo --robots 1 --out /proc/none', '--out: cannot write /proc/none/fleet.json'],
  ['fleet --platform embedded --for 0s', '--for: leaves no time; accepted: a duration above 0, e.g. 72h'],
  ['fleet --platform embedded --for 1h --shard 1/2', '--for: not with --shard'],
  ['fleet --platform https://ops:pw@h --api-key k', '--platform: credentials do not belong into the address'],
  ['mutate system --command false --api agent --url http://h --mqtt mqtt://a:pw@h', '--mqtt: credentials'],
  ['mutate system --command false --api agent --url http://h --agent-url http://a:pw@h', '--agent-url: credentials'],
  ['fleet --platform http://a --api-key k --header X-Tenant', "accepted: 'NAME: VALUE'"],
  [typed`fleet --platform http://a --api-key k --header ${'X-API-Key: a'}`, 'X-API-Key is set by the fleet itself'],
  ['fleet --platform embedded --rate 10', '--rate: the scenario rollout has no traffic to set'],
  ['simulate device --socket a', '--dir: missing'],
  [`simulate device --dir ${ROBOT}`, '--socket PATH, or --loopback'],
  [`simulate device --dir ${ROBOT} --loopback`, '--loopback and --discovery'],
  [`simulate device --dir ${ROBOT} --socket no/a`, '--socket no/a: the directory'],
  [`simulate device --dir ${ROBOT} --socket a --control 70000`, '--control 70000: must be a port up to 65535'],
  [`simulate device --dir ${ROBOT} --socket a --retain 0`, '--retain: must be a whole number from 1 on'],
  [`simulate device --dir ${ROBOT} --socket a --heartbeat 25d`, '--heartbeat 25d: must be above 0, and 24h at most'],
  [`simulate device --dir ${ROBOT} --socket a --retain-bytes lots`, '--retain-bytes lots: must be a size'],
  [`simulate device --dir ${ROBOT} --socket a --socket-mode 999`, '--socket-mode 999: three octal digits'],
  [`simulate device --dir ${ROBOT} --socket a --durability maybe`, '--durability: maybe is not accepted'],
  [`simulate device --dir ${ROBOT} --socket a --defect all`, 'muster simulate device --defect list prints all'],
  [`simulate device --dir ${ROBOT} --socket a --fault x`, 'torn-write=0.01'],
  [`simulate device --dir ${ROBOT} --socket a --name ${'n'.repeat(49)}`, '--name: must have 1 to 48 characters'],
  [`simulate device --dir ${ROBOT} --socket a --device-id x`, '--device-id x: must start with dvc_'],
  [`simulate device --dir ${ROBOT} --socket a --uplink agent`, '--uplink agent needs --platform'],
  [`simulate device --dir ${ROBOT} --socket a --uplink polling --platform http://x`, '--uplink polling needs --token'],
  [`simulate device --dir ${ROBOT} --socket a --uplink agent --platform x`, "--platform: 'x' is no address"],
  [`simulate device --dir ${ROBOT} --socket a --platform http://x`, '--platform needs --uplink'],
  ['simulate platform --port 70000', '--port: must be a whole number from 0 to 65535'],
  [['simulate', 'platform', '--db', ''], '--db: needs a value'],
  // An empty key is a mistake, e.g. of a script whose variable is empty.
  ['simulate platform --api-key', '--api-key: needs a value'],
  [`${MUTATE} --devices 3`, '--devices: needs --api platform'],
  ['mutate client --command true --api platform --heartbeat 1s', '--heartbeat: needs --api device'],
  [`${MUTATE} --only replay-inclusiv`, 'did you mean replay-inclusive'],
  [`${MUTATE} --test-timeout 5`, "--test-timeout 5: '5' is no duration"],
  [`${MUTATE} --kind variant --min-score 80`, '--min-score: needs defects'],
  [`${MUTATE} --update-baseline`, '--update-baseline: needs --baseline FILE'],
  [`${MUTATE} --update-baseline --baseline /proc/none/b.yaml`, '--baseline /proc/none/b.yaml: cannot write'],
  [`${MUTATE} --report json=${at('b')} --update-baseline --baseline ${at('b')}`, 'b is taken by --report json='],
  [`mutate client --command true --api platform --seed-file ${at('none.txt')}`, '--seed-file'],
  ['merge . --run-id auto', '--run-id auto: needs --watch'],
  [['merge', '.', '--run-id', 'a b'], "--run-id: 'a b' is not accepted; accepted: up to 63 letters"],
  ['fleet --platform embedded --robots 2 --run-id monday', '--run-id: needs --shard'],
  ['fleet --platform embedded --robots 2 --shard 3/4', '--shard: 4 shards need as many robots, and there are 2'],
  ['merge . --expect 2 --watch --serve 0', '--serve: needs --watch and --run-id'],
  ['fleet --platform embedded --robots 2 --results http://127.0.0.1:1', '--results: needs --shard and --run-id'],
  ['merge . --watch', '--watch: needs --expect'],
  [`compare --command false --out ${at('ids.txt')}`, '1.json (it is not a folder)'],
  [`compare ${'x'.repeat(300)} a`, 'xxx: ENAMETOOLONG'],
  [`fit ${at('loop')}`, 'loop: ELOOP'],
  ['verify a --key k --digest d --artifact f', '--digest and --artifact: give one of them'],
  [['keygen', ''], 'FILE: must not be empty'],
  [`replay ${OLD} -- --socket a --report json=${OLD}`, `--report json=${OLD}: ${TAKEN}`],
  [`report ${OLD} --report json=${OLD}`, `--report json=${OLD}: ${TAKEN}`],
  [`verify ${OLD} --key k --report json=${OLD}`, `--report json=${OLD}: ${TAKEN}`],
  [`verify c.json --key ${OLD} --report json=${OLD}`, `--report json=${OLD}: ${TAKEN}`],
  [`compare ${OLD} ${OLD} --report json=${OLD}`, `--report json=${OLD}: ${TAKEN}`],
  [`compare ${at('reports')} --command false --out ${at('reports')}`, `--out ${at('reports')}: ${TAKEN}`],
  ['check platform --url http://h --api-key k --dry-run --last-failed', 'and --last-failed: give one of them'],
  ['replay no-such-file.json', 'no-such-file.json'],
  [`replay ${at('old.json')}`, 'contains no options to run its checks with'],
  [`replay ${at('client.json')} --keep`, '--keep: each situation starts a new client'],
  ['list robots', 'API: robots is not accepted; accepted: device, platform, system, client'],
  ['merge', 'merge: DIR is missing'],
  ['check', 'Name what to check: device, platform, system or client.'],
  [[], 'Name a command.'],
  ['dashboard --help', 'dashboard: no such command; there are demo, init, check'],
  ['help flet', 'flet: no such command; did you mean fleet?'],
])('%j is refused, and the mistake named', async (words, said) => {
  expect(await refusal(typeof words === 'string' ? words.split(' ') : words)).toContain(said);
  expect(existsSync(ROBOT)).toBe(false);
});

it('a replay of a run whose target contains a secret asks for the target', async () => {
  const masked = foreignReport({ command: 'agent --key ***', socket: at('agent.sock') });
  expect(await refusal(['replay', masked])).toBe(`${masked}: masks a secret in --command, so name the target after --`);
});

it('all mistakes are named at once, each on a line of its own', async () => {
  const words = ['check', 'device', '--onyl', 'x', '--runs', '0', '--fast=maybe', 'extra'];
  expect((await refusal(words)).split(/\n */)).toEqual([
    '--onyl: no such option; did you mean --only?',
    'extra: check device takes no such argument',
    '--fast: takes no value',
    '--runs: must be a number above 0, up to 10000',
  ]);
});

it.each([
  [['explain'], 'muster: explain: ID is missing\nTry: muster explain --help\n'],
  [['check', 'devise'], 'muster: check devise: no such command; did you mean device?\nTry: muster check --help\n'],
  [['chek'], 'muster: chek: no such command; did you mean check?\nTry: muster --help\n'],
])('%j ends with exit code 64, and a hint at the help', async (words, said) => {
  const { code, stderr, stdout } = await new Running(words, { cwd: at() }).ended;
  expect(stderr).toBe(said);
  expect(stdout).toBe('');
  expect(code).toBe(64);
});

it.each<[string, string[], RegExp]>([
  ['is a command as well', ['help', 'fleet'], /muster fleet.*--robots.*Examples:/s],
  ['comes before mistakes', ['check', 'device', '--socket', 'a', '--socket', 'a', '--help'], /--discovery/],
  ['shows positionals by their own names', ['replay', '--help'], /^(?!.*--file).*Positionals:\n\s+file /s],
])('help %s', async (_, words, shown) => {
  expect(await shownText(words)).toMatch(shown);
});

it('a closed pipe ends the command without an error', async () => {
  const line = `set -o pipefail; "$0" "$1" list --json | head -c 1`;
  const { stdout, stderr } = await promisify(execFile)('bash', ['-c', line, process.execPath, MAIN]);
  expect(stdout).toBe('{');
  expect(stderr).toBe('');
});

it.each([
  ['40', 40],
  ['300', 100],
])('help is as wide as COLUMNS=%s says, up to 100', async (COLUMNS, most) => {
  vi.stubEnv('COLUMNS', COLUMNS);
  const text = await shownText(['--help']).finally(() => vi.unstubAllEnvs());
  const widest = Math.max(...text.split('\n').map((line) => line.length));
  expect(widest).toBeLessThanOrEqual(most);
  expect(widest).toBeGreaterThan(most - 20);
});

function foreignReport(options: NonNullable<Report['options']>): string {
  const failed = [sampleFailure({ id: 'device.deployment.shape' })];
  writeFileSync(at('foreign.json'), JSON.stringify(sampleReport(failed, { options })));
  return at('foreign.json');
}

it('a replay of a foreign report runs nothing and names the options to add', async () => {
  const ran = at('ran');
  const foreign = { command: `touch ${ran}; exit 1`, control: 'http://192.0.2.1/' };
  const said = await refusal(['replay', foreignReport({ ...foreign, patience: 3 })]);
  expect(said).toContain('no run in this folder was made with the target of this report');
  expect(said).toContain(`--command 'touch ${ran}; exit 1' --control http://192.0.2.1/`);
  expect(existsSync(ran)).toBe(false);
  // Options in a report are validated like those on the command line.
  const odd = foreignReport({ ...foreign, patience: -1 });
  expect(await refusal(['replay', odd, '--', '--socket', at('none.sock')])).toContain('--patience: must be');
});

it('a replay of a foreign report uses only the target that is typed', async () => {
  const ran = at('ran-beside');
  const theirs = foreignReport({ command: `touch ${ran}; exit 1`, control: `touch ${ran}`, name: 'theirs' });
  const file = at('again.json');
  const words = ['--socket', at('none.sock'), '--fast', '--report', `json=${file}`];
  expect(await runCommand(['replay', theirs, '--', ...words])).toBe(2);
  expect(existsSync(ran)).toBe(false);
  expect(reportIn(file).options).toMatchObject({ socket: at('none.sock'), name: 'theirs' });
  expect(reportIn(file).options).not.toHaveProperty('control');
});

const STARTING = ['check', 'device', '--command', 'x {socket}'];
const LINE_END = /^muster: --api-key: has a line end as character 4 of 4; accepted: ASCII letters, digits and signs$/m;

it.each<[NodeJS.ProcessEnv, string[], RegExp]>([
  [{ TMPDIR: '/none' }, STARTING, /^muster: \/none: no folder can be made here \(ENOENT.*TMPDIR names a writable/m],
  [{ TMPDIR: at('a b') }, STARTING, /TMPDIR .*a b: placeholders of a command need a path without blanks or quotes/],
  [{ MUSTER_API_KEY: 'key\n' }, ['check', 'platform', '--url', 'http://h/beta'], LINE_END],
  [{ MUSTER_API_KEY: 'key\n' }, ['fleet', '--platform', 'http://h/beta', '--robots', '2'], LINE_END],
])('an unusable variable of the environment is named: %j with %j', async (env, words, message) => {
  mkdirSync(at('a b'), { recursive: true });
  const { code, stderr } = await new Running(words, { env }).ended;
  expect(code).toBe(64);
  expect(stderr).toMatch(message);
  expect(readdirSync(at('a b')).filter((name) => name.startsWith('muster-'))).toEqual([]);
});

it('a check survives a full standard error, but list fails on a full output', () => {
  const full = (words: string, redirect: string) =>
    spawnSync('/bin/sh', ['-c', `exec '${process.execPath}' '${MAIN}' ${words} ${redirect}`], { encoding: 'utf8' });
  const report = at('kept.json');
  expect(full(`check device --socket ${at('none.sock')} --report json=${report}`, '2>/dev/full').status).toBe(2);
  expect(reportIn(report).unreachable).toBeDefined();
  const list = full('list', '>/dev/full');
  expect(list.status).toBe(3);
  expect(list.stderr).toBe('muster: standard output cannot be written (ENOSPC)\n');
});
