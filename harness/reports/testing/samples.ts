import type { Recorded } from '../../client/recorder.ts';
import { coverageOf } from '../../runner/coverage.ts';
import { exitCode, summaryOf } from '../../runner/results.ts';
import { planOf } from '../../runner/testing/checks.ts';
import type { Capability, CheckResult, Report } from '../../runner/types.ts';

export function sampleExchange(change: Partial<Recorded> = {}): Recorded {
  const url = 'http://localhost/v0.2/events?after=7';
  return {
    method: 'GET',
    url,
    request_headers: { accept: 'text/event-stream' },
    status: 200,
    response_headers: { 'content-type': 'text/event-stream' },
    response_body: 'id: 7\nevent: deployment.deployed\ndata: {"object":"event","id":7}\n\n',
    duration_ms: 12,
    curl: `curl -sN -i --unix-socket /run/agent.sock -H 'accept: text/event-stream' '${url}'`,
    ...change,
  };
}

export function sampleResult(change: Partial<CheckResult> = {}): CheckResult {
  const id = change.id ?? 'device.events.frame';
  return {
    id,
    level: 'MUST',
    section: '6.1',
    requirement: 'Every event frame has an id that is a decimal integer, an event field and one JSON envelope as data.',
    requirement_id: id,
    outcome: 'pass',
    duration_ms: 35,
    ...change,
  };
}

export function sampleFailure(change: Partial<CheckResult> = {}): CheckResult {
  const exchange = sampleExchange();
  const { id = 'device.events.replay.exclusive' } = change;
  return sampleResult({
    id,
    section: '6.2',
    requirement:
      'Replay after a cursor starts with the first retained event after it; the event at the cursor is not sent again.',
    outcome: 'fail',
    duration_ms: 310,
    expected: 'a first event with an id above 7',
    actual: 'the first event has id 7',
    counterexample: 'publish 3 events, then replay after the last',
    seed: -1093459,
    path: '3:0:1',
    replay_path: 'A:B',
    curl: exchange.curl,
    exchanges: [exchange],
    replay_command: `muster check device --socket /run/agent.sock --only ${id} --seed 4711`,
    ...change,
  });
}

const UNDECLARED = 'needs loopback, which the target does not declare';
const OUTSIDE: Partial<CheckResult> = {
  section: '5',
  outcome: 'not_applicable',
  reason: UNDECLARED,
  needs: ['loopback'],
};
const FULL = 'control: POST /compact answered 500: disk full';
const KNOWN = 'the header wins until release 1.4 (until 2027-01-31)';
const OTHER_PING = { expected: 'a comment that reads `heartbeat`', actual: '`ping`' };
const FUTURE = 'a cursor beyond the newest id is answered with 200 and live events';
const AFTER = { expected: 'the events after 3', actual: 'the events after 9' };
const LOST = 'passed this time: lost under load (flaky, excused until 2027-01-31)';

export const sampleChecks = (): CheckResult[] => [
  sampleResult({ id: 'device.deployment.shape', section: '2.1' }),
  sampleResult({ id: 'device.socket.no-token', section: '5' }),
  sampleResult({ id: 'device.loopback.discovery', ...OUTSIDE }),
  sampleResult({ id: 'device.loopback.bearer-required', ...OUTSIDE }),
  sampleResult(),
  sampleFailure(),
  sampleResult({
    ...{ id: 'device.events.heartbeat', section: '6.2', outcome: 'warn', level: 'SHOULD', duration_ms: 30_512 },
    ...OTHER_PING,
    observations: ['should: expected a comment that reads `heartbeat`; actual: `ping`'],
  }),
  sampleResult({ id: 'device.events.cursor.future', section: '6.2', level: 'INFO', observations: [FUTURE] }),
  sampleResult({ id: 'device.events.expired.410', section: '7', outcome: 'blocked', reason: FULL }),
  sampleResult({ id: 'device.events.after-wins', section: '4.1', outcome: 'known', reason: KNOWN, ...AFTER }),
  sampleResult({ id: 'device.events.replay.seam', section: '6.2', outcome: 'flaky', reason: LOST }),
  sampleResult({
    id: 'device.version.prefix',
    section: '9',
    outcome: 'fixed',
    reason: 'passes now: remove it from the baseline',
  }),
];

const NAMED = { control: 'http /run/control.sock', name: 'example-agent', version: '1.3.0' };

export function sampleReport(checks: CheckResult[] = sampleChecks(), change: Partial<Report> = {}): Report {
  const summary = summaryOf(checks);
  const capabilities: Capability[] = ['unix', 'drive', 'compact'];
  const plan = planOf(checks);
  return {
    muster: '0.1.0',
    api: 'device',
    seed: 4711,
    target: { kind: 'unix', address: 'unix:/run/agent.sock', capabilities, ...NAMED },
    profile: 'full',
    requirements_version: '2026-11-21',
    narrowed_by: [],
    complete: summary.blocked === 0,
    started_at: '2026-11-21T02:00:00.000Z',
    duration_ms: 31_204,
    exit_code: exitCode(checks),
    summary,
    coverage: coverageOf(plan, checks, capabilities),
    profile_coverage: coverageOf(plan, checks, capabilities, { ofProfile: true }),
    checks,
    ...change,
  };
}

export function sampleReportWithAllowance(): Report {
  const deviation = { name: 'cursor-repeated', allowance: 'the event of the cursor is left out of a replay' };
  const allowing = { allowed_for: [deviation.name] };
  const later = sampleFailure({ id: 'device.events.types', ...allowing });
  return sampleReport([sampleFailure({ deviation }), later, sampleResult(allowing)]);
}

/** Fields with words of Muster, which no target can influence. */
const OWN = new Set('level,outcome,api,started_at,needs,capabilities,requirements_version,method'.split(','));

export function poisoned(value: unknown, text: () => string, inHeaders = false): unknown {
  if (typeof value === 'string') return `${value.slice(0, 3)}${text()}${value.slice(3)}`;
  if (Array.isArray(value)) return value.map((item) => poisoned(item, text));
  if (value === null || typeof value !== 'object') return value;
  const entries = Object.entries(value).map(([name, item]) => [
    inHeaders ? name + text() : name,
    OWN.has(name) ? item : poisoned(item, text, name.endsWith('_headers')),
  ]);
  return Object.fromEntries(entries);
}

export const fullReports = (): Report[] => {
  const full = [
    ...sampleChecks(),
    sampleFailure({ id: 'device.a', curl: 'curl x', exchanges: [sampleExchange({ error: 'reset' })] }),
    sampleFailure({ id: 'device.b', script: '#!/bin/sh\ncurl x\n', consequence_of: 'device.a' }),
    sampleResult({ id: 'device.c', outcome: 'blocked', reason: 'no', blocked_by: 'device.a' }),
    sampleResult({ id: 'device.d', observations: ['first', 'second'] }),
  ];
  const change = { unmet: ['--require drive'], narrowed_by: ['--fast'], options: { socket: '/a' } };
  return [
    sampleReport(full, change),
    sampleReport(full, { unreachable: 'cannot connect. Try: curl' }),
    sampleReport(full, { replay_of: { file: 'run.json', outcomes: { 'device.a': 'fail', 'device.z': 'warn' } } }),
    sampleReport([sampleResult()], { unmet: ['--require drive: it does not'], exit_code: 2, complete: false }),
  ];
};
