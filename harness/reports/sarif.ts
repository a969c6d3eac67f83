/**
 * Writes SARIF 2.1.0 (OASIS) for code scanning, which tracks alerts by `primaryLocationLineHash`. Lists problems as
 * results, and checks without an answer as notifications.
 */
import { createHash } from 'node:crypto';
import { defined } from '../common/defined.ts';
import { printableJson } from '../common/terminal.ts';
import { isFinding } from '../runner/attempts.ts';
import type { CheckResult, Outcome, Report } from '../runner/types.ts';
import { findingText } from './findings.ts';
import type { DocumentFormat } from './format.ts';
import { headlineOf } from './verdict.ts';

export const sarifFormat: DocumentFormat = {
  name: 'sarif',
  document: (report) => `${printableJson(documentOf(report), 2)}\n`,
};

const NOTIFIED: Partial<Record<Outcome, 'error' | 'warning' | 'note'>> = {
  blocked: 'error',
  fixed: 'warning',
  undecided: 'note',
};

function documentOf(report: Report): object {
  const problems = report.checks.filter(isFinding);
  const rules = [...new Map(problems.map((check) => [check.requirement_id, check])).values()];
  const indices = new Map(rules.map(({ requirement_id }, index) => [requirement_id, index]));
  const start = Date.parse(report.started_at);
  return {
    $schema: 'https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json',
    version: '2.1.0',
    runs: [
      {
        tool: { driver: { name: 'muster', semanticVersion: report.muster, rules: rules.map(ruleOf) } },
        automationDetails: { id: `muster/${report.api}/` },
        invocations: [
          {
            executionSuccessful: report.complete,
            exitCode: report.exit_code,
            exitCodeDescription: headlineOf(report).meaning,
            startTimeUtc: new Date(start).toISOString(),
            endTimeUtc: new Date(start + report.duration_ms).toISOString(),
            toolExecutionNotifications: report.checks.flatMap(notificationOf),
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
}

const ruleOf = ({ requirement_id: id, requirement, clause, level, section }: CheckResult): object => ({
  id,
  shortDescription: { text: requirement },
  ...(clause !== undefined && { fullDescription: { text: clause } }),
  help: { text: `muster explain ${id}` },
  defaultConfiguration: { level: level === 'MUST' ? 'error' : level === 'SHOULD' ? 'warning' : 'note' },
  properties: { level, section, tags: [level, `section ${section}`] },
});

const notificationOf = (check: CheckResult): object[] => {
  const level = NOTIFIED[check.outcome];
  return level === undefined ? [] : [{ level, descriptor: { id: check.id }, message: { text: findingText(check) } }];
};

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
        physicalLocation: { artifactLocation: { uri: `muster/${api}` }, region: { startLine: 1 } },
        logicalLocations: [{ fullyQualifiedName: id, kind: 'resource' }],
      },
    ],
    partialFingerprints: { primaryLocationLineHash: `${createHash('sha256').update(id).digest('hex').slice(0, 16)}:1` },
    ...(last !== undefined && { ...requestOf(last), ...responseOf(last) }),
    properties: { check: id, outcome, ...defined({ rate: check.rate, counterexample: check.counterexample }) },
  };
}

type Exchange = NonNullable<CheckResult['exchanges']>[number];

const requestOf = ({ method, url, request_headers: headers, request_body: body }: Exchange): object => ({
  webRequest: { protocol: 'http', method, target: url, headers, ...(body !== undefined && { body: { text: body } }) },
});

const responseOf = ({ status, response_headers: headers, response_body: body }: Exchange): object =>
  status === undefined
    ? { webResponse: { noResponseReceived: true } }
    : {
        webResponse: {
          protocol: 'http',
          statusCode: status,
          ...defined({ headers }),
          ...(body !== undefined && { body: { text: body } }),
        },
      };
