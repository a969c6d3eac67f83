import { existsSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { afterAll, describe, expect, it, test } from 'vitest';
import { listenAt } from '../../simulators/defects/null.ts';
import { ENDING_SIGNALS, type EndingSignal, EXIT_CODE_COMMANDS, type ExitTable, exitCodesOf } from '../common/usage.ts';
import { DEPLOYMENT } from '../contract/client.ts';
import { certificateIssuer, ownSuites } from '../reports/certificate/certificate.ts';
import { generateKey } from '../reports/certificate/envelope.ts';
import { LASTING } from '../reports/certificate/testing/signed.ts';
import { sampleFailure, sampleReport, sampleResult } from '../reports/testing/samples.ts';
import type { Report } from '../runner/types.ts';
import { loadSuites } from './catalogue.ts';
import { MAIN, type Running, typed, unlessSaturated, useFleetRuns } from './testing/muster.ts';

const fleets = useFleetRuns();
const at = fleets.path;

interface Row {
  code: number;
  words(): string[];
  env?: Record<string, string>;
  sent?: EndingSignal;
}

const FAULT = {
  NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(
    `process.once('beforeExit',()=>void Promise.reject(new Error('planted fault')))`,
  )}`,
};

const silent = await listenAt(createServer(), { port: 0 });
afterAll(() => silent.close());
const SILENT_DOCKER = { DOCKER_HOST: `tcp://127.0.0.1:${silent.port}` };

const NOBODY = 'http://127.0.0.1:1/beta';
const SOME_KEY = { MUSTER_API_KEY: 'k' };
const AGENT = `${process.execPath} ${MAIN} simulate device --socket {socket} --control {control} --dir {dir}`;
const check = (agent: string, ...more: string[]) => typed`check device --command ${agent} --fast ${more}`;
const shape = () => check(AGENT, '--only', 'device.deployment.shape');
const whole = () => typed`check device --command ${AGENT}`;

const EXCLUSIVE = 'device.events.replay.exclusive';
const GOOD = [sampleResult({ id: EXCLUSIVE })];
const BAD = [sampleFailure({ id: EXCLUSIVE })];
const OTHER = [sampleResult({ id: 'device.events.frame' })];

function report(name: string, checks = GOOD, change: Partial<Report> = {}): string {
  writeFileSync(at(name), JSON.stringify(sampleReport(checks, { complete: true, ...change })));
  return at(name);
}

const target = { ...sampleReport([]).target, name: 'agent', platform: { name: 'hub' } };
const together = (checks = GOOD): string => report('both.json', checks, { api: 'system', target });
const fitted = (file: string): string[] => ['fit', file, '--agent', 'agent', '--platform', 'hub'];

const compared = (before: string, after: string): string[] => ['compare', before, after, '--gate', 'regressions'];
const gated = () => compared(report('1.json'), report('2.json'));

const { api, profile, requirements_version: date } = sampleReport();
const WHOLE = ownSuites('0.0.1', await loadSuites()).checkIds(api, profile, date);

function certified([decided = sampleResult()] = GOOD): string[] {
  const checks = WHOLE.map((id) => (id === decided.id ? decided : sampleResult({ id })));
  if (!existsSync(at('key.pem'))) generateKey(at('key.pem'));
  certificateIssuer(at('c.json'), at('key.pem'), LASTING).issue(
    sampleReport(checks, { complete: true, muster: '0.0.1' }),
  );
  return ['verify', at('c.json'), '--key', at('key.pem.pub')];
}

const ROLLOUT = '  - { do: rollout, over: 200ms }\n';
const rolledOut = () => fleets.words(ROLLOUT);

const tests = (seen: string, ...more: string[]): string[] => [
  ...['mutate', 'client', '--api', 'device', '--jobs', '1', '--only', 'deployment-wrapped', ...more],
  ...['--command', `curl -sS --max-time 5 "$MUSTER_URL/deployments/current" | ${seen}`],
];
const killing = (...more: string[]) => tests('grep -q \'^{"object"\'', ...more);

const onEach = (words: () => string[]): Row[] =>
  ENDING_SIGNALS.map((sent) => ({ code: { SIGHUP: 129, SIGINT: 130, SIGTERM: 143 }[sent], words, sent }));
const serving = () => ['simulate', 'device', '--socket', at('s'), '--control', at('c'), '--dir', at('r')];

const watching = () => ['watch', 'device', '--socket', at('none.sock'), '--listen', at('watched.sock')];

function recorded(body?: object): string[] {
  const answer = { status: 200, headers: [], content: { text: JSON.stringify(body) } };
  const request = { method: 'GET', url: 'http://localhost/v0.2/deployments/current', headers: [] };
  const entries = [{ startedDateTime: '2026-11-26T10:00:00Z', time: 1, request, response: answer }];
  const log = { version: '1.2', entries: body === undefined ? [] : entries };
  writeFileSync(at('watched.har'), JSON.stringify({ log }));
  return ['watch', 'device', '--replay', at('watched.har')];
}

const ROWS: Readonly<Record<ExitTable, readonly Row[]>> = {
  check: [
    { code: 0, words: shape },
    { code: 1, words: () => check(`${AGENT} --defect replay-inclusive`, '--only', EXCLUSIVE) },
    { code: 2, words: () => ['check', 'device', '--socket', at('none.sock'), '--fast'] },
    { code: 3, words: shape, env: FAULT },
    { code: 64, words: () => check(AGENT, '--only', 'device.nothing') },
    ...onEach(whole),
  ],
  compare: [
    { code: 0, words: gated },
    { code: 1, words: () => compared(report('1.json'), report('2.json', BAD)) },
    { code: 2, words: () => compared(report('1.json'), report('2.json', OTHER)) },
    { code: 3, words: gated, env: FAULT },
    { code: 64, words: () => ['compare', at('none.json')] },
    ...onEach(() => ['compare', '--command', AGENT]),
  ],
  fit: [
    { code: 0, words: () => fitted(together()) },
    { code: 1, words: () => fitted(together(BAD)) },
    { code: 2, words: () => fitted(report('1.json')) },
    { code: 3, words: () => fitted(together()), env: FAULT },
    { code: 64, words: () => ['fit', at('none.json')] },
  ],
  fleet: [
    { code: 0, words: rolledOut },
    { code: 1, words: () => fleets.words(ROLLOUT.repeat(2), { robots: '40', defect: 'batch-reversed@17' }) },
    { code: 2, words: () => fleets.words('', { platform: NOBODY }), env: SOME_KEY },
    { code: 3, words: rolledOut, env: FAULT },
    { code: 64, words: () => ['fleet', '--robots', 'many'] },
    { code: 98, words: () => fleets.words('  - { do: hold, for: 100ms, lists: 200000/s, arrivals: constant }\n') },
    { code: 99, words: () => fleets.words(ROLLOUT, { threshold: 'rollout.ms.p50<1us' }) },
    ...onEach(() => fleets.words('  - { do: hold, for: 1h }\n')),
  ],
  mutate: [
    { code: 0, words: killing },
    { code: 1, words: () => tests('cat') },
    { code: 2, words: () => tests('false') },
    { code: 2, words: () => typed`mutate system --api agent --url ${NOBODY} --command true`, env: SOME_KEY },
    { code: 3, words: killing, env: FAULT },
    { code: 64, words: () => killing('--section', '99') },
    ...onEach(() => ['mutate', 'client', '--api', 'device', '--command', 'curl -sS "$MUSTER_URL/health"; sleep 1']),
  ],
  verify: [
    { code: 0, words: certified },
    { code: 1, words: () => certified(BAD) },
    { code: 2, words: () => [...certified(), '--digest', '0'.repeat(64)] },
    { code: 3, words: certified, env: FAULT },
    { code: 64, words: () => ['verify', at('none.json'), '--key', at('none.pub')] },
  ],
  simulate: [
    { code: 0, words: serving, sent: 'SIGINT' },
    { code: 3, words: serving, sent: 'SIGTERM', env: FAULT },
    { code: 64, words: () => ['simulate', 'device', '--socket', at('s')] },
    { code: 129, words: serving, sent: 'SIGHUP' },
    { code: 129, words: () => ['simulate', 'platform'], sent: 'SIGHUP' },
  ],
  doctor: [
    { code: 0, words: () => ['doctor'] },
    { code: 0, words: () => ['doctor'], env: SILENT_DOCKER },
    { code: 3, words: () => ['doctor'], env: FAULT },
    { code: 64, words: () => ['doctor', 'all'] },
  ],
  watch: [
    { code: 0, words: () => recorded(DEPLOYMENT) },
    { code: 1, words: () => recorded({ ...DEPLOYMENT, id: 1 }) },
    { code: 2, words: () => recorded() },
    { code: 2, words: watching, sent: 'SIGINT' },
    { code: 3, words: () => recorded(DEPLOYMENT), env: FAULT },
    { code: 64, words: () => ['watch', 'platform', '--url', NOBODY] },
    { code: 129, words: watching, sent: 'SIGHUP' },
  ],
};

async function underWay(running: Running, [name]: readonly string[]): Promise<void> {
  if (name === 'compare') await running.said(/^checking /);
  else if (name === 'mutate') await running.said(/^survived /m);
  else if (name === 'fleet') await running.said(/phase 2\/2 hold · robots online 8/);
  else if (name === 'simulate' || name === 'watch') await running.ready();
  else await running.line((text) => text.startsWith('check device'));
}

describe.each(EXIT_CODE_COMMANDS)('muster %s', { timeout: 240_000 }, (table) => {
  test('has a test row for each of its exit codes', () => {
    expect([...new Set(ROWS[table].map(({ code }) => code))]).toEqual(exitCodesOf(table));
  });

  const rows = ROWS[table].map((row) => [row.code, row.sent ?? 'its own end', row] as const);
  it.each(rows)('exits with %i after %s', async (_, __, row) => {
    const words = row.words();
    await using running = fleets.start(words, row.env);
    if (row.sent !== undefined) {
      await underWay(running, words);
      running.child.kill(row.sent);
    }
    const { code, stderr } = await running.ended;
    const mayBeSaturated = table === 'fleet' && (row.code === 0 || row.code === 99);
    const due = mayBeSaturated ? unlessSaturated(row.code, fleets.result()) : row.code;
    expect({ code, stderr }).toEqual({ code: due, stderr });
  });
});
