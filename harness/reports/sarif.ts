/**
 * Writes SARIF 2.1.0 (OASIS) for code scanning, which tracks alerts by `primaryLocationLineHash`. Lists findings as
 * results, and blocked, stale and undecided checks as notifications.
 */
import { createHash } from 'node:crypto';
import type { Recorded } from '../client/recorder.ts';
import { defined } from '../common/defined.ts';
import { isFinding } from '../runner/attempts.ts';
import type { CheckResult, Outcome, Report } from '../runner/types.ts';
import { findingText } from './findings.ts';
import { jsonDocument } from './format.ts';
import { headlineOf, isOpen } from './verdict.ts';

const NOTIFIED: Partial<Record<Outcome, 'error' | 'warning' | 'note'>> = {
  blocked: 'error',
  fixed: 'warning',
  undecided: 'note',
};

export const sarifFormat = jsonDocument('sarif', (report) => {
  const problems = report.checks.filter(isFinding);
  const rules = [...new Map(problems.map((check) => [check.requirement_id, check])).values()];
  const indices = new Map(rules.map(({ requirement_id }, index) => [requirement_id, index]));
  const start = Date.parse(report.started_at);
  const notifications = report.checks.flatMap((check) => {
    const level = NOTIFIED[check.outcome];
    return level === undefined ? [] : [{ level, descriptor: { id: check.id }, message: { text: findingText(check) } }];
  });
  return {
    $schema: 'https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json',
    version: '2.1.0',
    runs: [
      {
        tool: { driver: { name: 'muster', semanticVersion: report.muster, rules: rules.map(ruleOf) } },
        automationDetails: { id: `muster/${report.api}/` },
        invocations: [
          {
            executionSuccessful: !isOpen(report),
            exitCode: report.exit_code,
            exitCodeDescription: headlineOf(report).meaning,
            startTimeUtc: new Date(start).toISOString(),
            endTimeUtc: new Date(start + report.duration_ms).toISOString(),
            toolExecutionNotifications: notifications,
          },
        ],
        results: problems.map((check) => resultOf(check, report, indices.get(check.requirement_id) ?? -1)),
        properties: {
          seed: report.seed,
          profile: report.profile,
          requirements_version: report.requirements_version,
          coverage: report.coverage,
        },
      },
    ],
  };
});

const ruleOf = ({ requirement_id: id, requirement, clause, level, section }: CheckResult): object => ({
  id,
  shortDescription: { text: requirement },
  // Maximum characters of a description that code scanning accepts.
  fullDescription: { text: (clause ?? requirement).slice(0, 1024) },
  help: { text: `muster explain ${id}` },
  defaultConfiguration: { level: level === 'MUST' ? 'error' : level === 'SHOULD' ? 'warning' : 'note' },
  properties: { level, section, tags: [level, `section ${section}`] },
});

function resultOf(check: CheckResult, { api }: Report, ruleIndex: number): object {
  const { id, outcome, level, fails_by: failsBy } = check;
  const isError = outcome === 'fail' && level === 'MUST';
  const last = check.exchanges?.at(-1);
  return {
    ruleId: check.requirement_id,
    ruleIndex,
    level: isError || failsBy !== undefined ? 'error' : 'warning',
    message: { text: findingText(check) },
    locations: [
      {
        // Names a fixed file for the API, because code scanning needs a file for each alert.
        physicalLocation: {
          artifactLocation: { uri: `muster/${api}` },
          region: { startLine: 1, startColumn: 1, endLine: 1, endColumn: 2 },
        },
        logicalLocations: [{ fullyQualifiedName: id, kind: 'resource' }],
      },
    ],
    partialFingerprints: { primaryLocationLineHash: `${createHash('sha256').update(id).digest('hex').slice(0, 16)}:1` },
    ...(last && exchangeOf(last)),
    properties: { check: id, outcome, ...defined({ rate: check.rate, counterexample: check.counterexample }) },
  };
}

function exchangeOf(exchange: Recorded): object {
  const { method, url, request_headers, request_body, status, response_headers: headers, response_body } = exchange;
  const bodyOf = (text: string | undefined) => text !== undefined && { body: { text } };
  return {
    webRequest: { protocol: 'http', method, target: url, headers: request_headers, ...bodyOf(request_body) },
    webResponse:
      status === undefined
        ? { noResponseReceived: true }
        : { protocol: 'http', statusCode: status, ...defined({ headers }), ...bodyOf(response_body) },
  };
}
