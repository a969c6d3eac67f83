/** Reporter for the Common Test Report Format (ctrf.io), version 0.0. */

import { createHash } from 'node:crypto';
import { defined } from '../common/defined.ts';
import { printableJson } from '../common/terminal.ts';
import { summaryOf } from '../runner/results.ts';
import type { CheckResult, Outcome, Report } from '../runner/types.ts';
import { bySection, findingText, followsIn, howOften, lines } from './findings.ts';
import type { DocumentFormat } from './format.ts';

type Status = 'passed' | 'failed' | 'skipped' | 'pending' | 'other';

/** Status of each outcome in CTRF, which has no warnings, so that a warning passes. */
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

export const ctrfFormat: DocumentFormat = {
  name: 'ctrf',
  document: (report) => `${printableJson(documentOf(report), 2)}\n`,
};

function documentOf(report: Report): Record<string, unknown> {
  const start = Date.parse(report.started_at);
  const sum = summaryOf(report.checks);
  const count = (status: Status): number => report.checks.filter((check) => STATUS[check.outcome] === status).length;
  return {
    reportFormat: 'CTRF',
    specVersion: '0.0.0',
    reportId: uuidOf(JSON.stringify(report)),
    timestamp: new Date(start + report.duration_ms).toISOString(),
    generatedBy: `muster ${report.muster}`,
    results: {
      tool: { name: 'muster', version: report.muster },
      summary: {
        tests: report.checks.length,
        passed: count('passed'),
        failed: count('failed'),
        skipped: count('skipped'),
        flaky: sum.flaky,
        pending: 0,
        other: count('other'),
        suites: bySection(report.checks).length,
        start,
        stop: start + report.duration_ms,
        duration: report.duration_ms,
        extra: {
          outcomes: sum,
          exit_code: report.exit_code,
          complete: report.complete,
          coverage: report.coverage,
          declarations: report.declarations ?? [],
        },
      },
      tests: report.checks.map(test),
      environment: {
        reportName: `muster check ${report.api}`,
        appName: report.target.name ?? report.target.address,
        ...defined({ appVersion: report.target.version }),
        extra: {
          target: report.target,
          seed: report.seed,
          profile: report.profile,
          profile_coverage: report.profile_coverage,
          requirements_version: report.requirements_version,
          narrowed_by: report.narrowed_by,
        },
      },
    },
  };
}

function test(result: CheckResult): Record<string, unknown> {
  const holds = result.outcome === 'pass';
  const { expected, actual = '' } = result;
  const message =
    expected === undefined
      ? result.reason
      : lines(followsIn(result), lines(`expected ${expected}; actual: ${actual}`, howOften(result)).join('; ')).join(
          ': ',
        );
  return {
    name: result.id,
    status: STATUS[result.outcome],
    duration: Math.round(result.duration_ms),
    suite: [`section ${result.section}`],
    rawStatus: result.outcome,
    ...(result.outcome === 'flaky' ? { flaky: true } : {}),
    tags: [result.level, `section:${result.section}`],
    type: 'conformance',
    ...(holds || message === undefined ? {} : { message }),
    ...(holds ? {} : { trace: findingText(result) }),
    extra: {
      requirement: result.requirement,
      requirement_id: result.requirement_id,
      ...defined({
        observations: result.observations,
        counterexample: result.counterexample,
        curl: result.curl,
        script: result.script,
        consequence_of: result.consequence_of,
        blocked_by: result.blocked_by,
        rate: result.rate,
        saw: result.saw,
      }),
    },
  };
}

/** UUID of version 8 (RFC 9562), derived from the report alone, so that equal reports have equal ids. */
function uuidOf(text: string): string {
  const hex = createHash('sha256').update(text).digest('hex');
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-a${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
}
