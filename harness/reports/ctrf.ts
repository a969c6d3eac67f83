/**
 * Reporter for the Common Test Report Format (ctrf.io), version 0.0. A run that decided too little adds a failed test.
 * Omits `flaky`, which CTRF has for tests that passed after failed attempts.
 */

import { createHash } from 'node:crypto';
import { defined } from '../common/defined.ts';
import { summaryOf } from '../runner/results.ts';
import type { CheckResult, Outcome } from '../runner/types.ts';
import { bySection, findingText, followsIn, howOften, lines } from './findings.ts';
import { jsonDocument } from './format.ts';
import { headlineOf, isOpen } from './verdict.ts';

type Status = 'passed' | 'failed' | 'skipped' | 'pending' | 'other';

/** A warning, which CTRF lacks, passes unless it fails the run. */
const STATUS: Record<Outcome, Status> = {
  pass: 'passed',
  warn: 'passed',
  fail: 'failed',
  blocked: 'other',
  fixed: 'other',
  not_applicable: 'skipped',
  undecided: 'other',
  known: 'skipped',
  flaky: 'skipped',
};

export const ctrfFormat = jsonDocument('ctrf', (report) => {
  // UUID of version 8 (RFC 9562) from the report only, so that equal reports have equal ids.
  const hex = createHash('sha256').update(JSON.stringify(report)).digest('hex');
  const start = Date.parse(report.started_at);
  const sum = summaryOf(report.checks);
  const run = { name: 'the run', status: 'failed', duration: 0, message: headlineOf(report).meaning };
  const tests = [...report.checks.map(test), ...(isOpen(report) ? [run] : [])];
  const count = (status: Status): number => tests.filter((each) => each.status === status).length;
  const { muster, api, target, seed, profile, profile_coverage, requirements_version, narrowed_by } = report;
  const { exit_code, complete, coverage, declarations = [] } = report;
  return {
    reportFormat: 'CTRF',
    specVersion: '0.0.0',
    reportId: `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-a${hex.slice(17, 20)}-${hex.slice(20, 32)}`,
    timestamp: new Date(start + report.duration_ms).toISOString(),
    generatedBy: `muster ${muster}`,
    results: {
      tool: { name: 'muster', version: muster },
      summary: {
        tests: tests.length,
        passed: count('passed'),
        failed: count('failed'),
        skipped: count('skipped'),
        pending: 0,
        other: count('other'),
        suites: bySection(report.checks).length,
        start,
        stop: start + report.duration_ms,
        duration: report.duration_ms,
        extra: { outcomes: sum, exit_code, complete, coverage, declarations },
      },
      tests,
      environment: {
        reportName: `muster check ${api}`,
        appName: target.name ?? target.address,
        ...defined({ appVersion: target.version }),
        extra: { target, seed, profile, profile_coverage, requirements_version, narrowed_by },
      },
    },
  };
});

function test(result: CheckResult) {
  const holds = result.outcome === 'pass';
  const { expected, actual = '', requirement, requirement_id } = result;
  const { observations, counterexample, curl, script, consequence_of, blocked_by, rate, saw } = result;
  const differs = lines(`expected ${expected}; actual: ${actual}`, howOften(result)).join('; ');
  const message = expected === undefined ? result.reason : lines(followsIn(result), differs).join(': ');
  return {
    name: result.id,
    status: result.fails_by === undefined ? STATUS[result.outcome] : 'failed',
    duration: Math.round(result.duration_ms),
    suite: [`section ${result.section}`],
    rawStatus: result.outcome,
    tags: [result.level, `section:${result.section}`],
    type: 'conformance',
    ...(holds || message === undefined ? {} : { message }),
    ...(holds ? {} : { trace: findingText(result) }),
    extra: {
      requirement,
      requirement_id,
      ...defined({ observations, counterexample, curl, script, consequence_of, blocked_by, rate, saw }),
    },
  };
}
