/**
 * SARIF 2.1.0 (OASIS), for code scanning. A rule for each requirement, a result for each check: a failed MUST is an
 * error, a failed SHOULD a warning, an undecided check `open`, and an excused one suppressed.
 */
import { defined } from '../common/defined.ts';
import { printableJson } from '../common/terminal.ts';
import type { CheckResult, Outcome, Report } from '../runner/types.ts';
import { findingText } from './findings.ts';
import type { DocumentFormat } from './format.ts';
import { headlineOf } from './verdict.ts';

export const sarifFormat: DocumentFormat = {
  name: 'sarif',
  document: (report) => `${printableJson(documentOf(report), 2)}\n`,
};

/** Kinds of results; only `fail` has a level other than `none`. */
const KINDS: Record<Outcome, 'pass' | 'fail' | 'open' | 'notApplicable' | 'review'> = {
  pass: 'pass',
  warn: 'fail',
  fail: 'fail',
  blocked: 'open',
  undecided: 'open',
  not_applicable: 'notApplicable',
  known: 'fail',
  flaky: 'fail',
  fixed: 'review',
};

function documentOf(report: Report): object {
  const rules = [...new Map(report.checks.map((check) => [check.requirement_id, check])).values()];
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
          },
        ],
        results: report.checks.map((check) => resultOf(check, report, indices.get(check.requirement_id) ?? -1)),
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

function resultOf(check: CheckResult, { target }: Report, ruleIndex: number): object {
  const { outcome, level, reason, fails_by: failsBy } = check;
  const kind = KINDS[outcome];
  const isError = level === 'MUST' || failsBy !== undefined;
  const isExcused = outcome === 'known' || outcome === 'flaky';
  const last = check.exchanges?.at(-1);
  return {
    ruleId: check.requirement_id,
    ruleIndex,
    kind,
    level: kind === 'fail' ? (isError ? 'error' : 'warning') : 'none',
    message: { text: outcome === 'pass' ? check.requirement : findingText(check) },
    locations: [
      {
        // The target's address stands for the file at which code scanning shows a result.
        physicalLocation: { artifactLocation: { uri: encodeURI((target.name ?? target.address).toWellFormed()) } },
        logicalLocations: [{ fullyQualifiedName: `${target.address} ${check.id}`, kind: 'resource' }],
      },
    ],
    partialFingerprints: { 'check/v1': check.id },
    ...(isExcused && { suppressions: [{ kind: 'external', ...defined({ justification: reason }) }] }),
    ...(kind !== 'pass' && last !== undefined && { ...requestOf(last), ...responseOf(last) }),
    properties: { check: check.id, outcome, ...defined({ rate: check.rate, counterexample: check.counterexample }) },
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
