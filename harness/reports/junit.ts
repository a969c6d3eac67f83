/**
 * JUnit XML (github.com/testmoapp/junitxml): a suite per section, a case per check. A run that decided too little adds
 * an error, because CI servers show skipped cases as green.
 */
import { escapeAttribute, escapeText } from '../common/html.ts';
import { failingWarnings } from '../runner/results.ts';
import type { CheckResult, Report } from '../runner/types.ts';
import {
  blockedWords,
  bySection,
  differencesIn,
  findingText,
  followsIn,
  howOften,
  lines,
  type SectionGroup,
  sawInWords,
} from './findings.ts';
import { type DocumentFormat, writable } from './format.ts';
import { decided, headlineOf, isOpen } from './verdict.ts';

export const junitFormat: DocumentFormat = {
  name: 'junit',
  document(report) {
    const suites = bySection(report.checks).map((group) => suite(group, report));
    const name = `muster check ${report.api} ${report.target.address}`;
    const message = headlineOf(report).meaning;
    const error = element('error', { message, type: 'incomplete' }, message);
    const run = element('testcase', { name: 'the run', classname: `muster.${report.api}`, time: '0.000' }, [error]);
    const ofRun = { name: 'The run', ...totals([], 1), timestamp: stamp(report) };
    const undecided = isOpen(report) ? [element('testsuite', ofRun, [run])] : [];
    // Omits `skipped` and `timestamp`, because the xUnit plugin of Jenkins rejects a root that has them.
    const { skipped: _, ...sum } = totals(report.checks, undecided.length);
    const root = element('testsuites', { name, ...sum }, [...suites, ...undecided]);
    return `<?xml version="1.0" encoding="UTF-8"?>\n${root}\n`;
  },
};

function suite({ section, title, checks }: SectionGroup, report: Report): string {
  const name = `${section} ${title}`.trim();
  const untrue = differencesIn(report);
  const properties = {
    muster: report.muster,
    seed: report.seed,
    target: report.target.address,
    profile: report.profile,
    requirements_version: report.requirements_version,
    verdict: headlineOf(report).word,
    coverage: decided(report.coverage),
    ...(untrue.length > 0 && { 'not as declared': untrue.join('; ') }),
  };
  const listed = Object.entries(properties).map(([key, value]) => element('property', { name: key, value }));
  return element('testsuite', { name, ...totals(checks), timestamp: stamp(report) }, [
    element('properties', {}, listed),
    ...checks.map((check) => testCase(check, report)),
  ]);
}

function testCase(result: CheckResult, report: Report): string {
  const attributes = {
    name: result.id,
    classname: `muster.${report.api}.${result.section}`.replace(/\.$/, ''),
    time: (result.duration_ms / 1000).toFixed(3),
  };
  const [rate, saw] = [howOften(result), sawInWords(result)];
  const detail = findingText(result);
  const output = lines(
    result.outcome === 'warn' && result.fails_by === undefined && detail,
    result.observations?.map((note) => `observed: ${note}`),
    result.outcome === 'pass' && rate !== undefined && `how often: ${rate}`,
    saw !== undefined && `saw: ${saw}`,
  ).join('\n');
  return element('testcase', attributes, [
    ...verdict(result, detail),
    ...(output === '' ? [] : [element('system-out', {}, output)]),
  ]);
}

function failure(result: CheckResult, detail: string, by: string | undefined): string {
  const { expected = 'the requirement to hold', actual = 'it does not', level, section } = result;
  const rate = howOften(result);
  const often = rate === undefined ? '' : `; ${rate}`;
  const message = `${by === undefined ? '' : `${by}: `}expected ${expected}; actual: ${actual}${often}`;
  return element('failure', { message, type: `${level} ${section}` }, detail);
}

/** Writes the message twice, because Jenkins reads the attribute and GitLab the content. */
const skipped = (message: string): string[] => [element('skipped', { message }, message)];

function verdict(result: CheckResult, detail: string): string[] {
  const { fails_by: by } = result;
  switch (result.outcome) {
    case 'fail':
      return [failure(result, detail, followsIn(result))];
    case 'fixed':
      return [element('error', { message: result.reason || result.outcome, type: result.outcome }, detail)];
    case 'blocked':
      if (result.fault === true) return [element('error', { message: result.reason, type: 'fault' }, detail)];
      return skipped(blockedWords(result));
    case 'not_applicable':
    case 'undecided':
    case 'known':
    case 'flaky':
      return skipped(`${result.outcome.replace('_', ' ')}: ${result.reason ?? ''}`);
    case 'warn':
      return by === undefined ? [] : [failure(result, detail, by)];
    case 'pass':
      return [];
  }
}

function totals(checks: readonly CheckResult[], undecided = 0): Record<string, string | number> {
  const count = (...outcomes: string[]): number => checks.filter((check) => outcomes.includes(check.outcome)).length;
  const faults = checks.filter(({ fault }) => fault === true).length;
  return {
    tests: checks.length + undecided,
    failures: count('fail') + failingWarnings(checks).length,
    errors: count('fixed') + faults + undecided,
    skipped: count('blocked', 'not_applicable', 'undecided', 'known', 'flaky') - faults,
    time: (checks.reduce((sum, check) => sum + check.duration_ms, 0) / 1000).toFixed(3),
  };
}

/** UTC without an offset, as readers of JUnit expect. */
const stamp = (report: Report): string => report.started_at.slice(0, 19);

type Attributes = Record<string, string | number | undefined>;

function element(name: string, attributes: Attributes, content: readonly string[] | string = []): string {
  const written = Object.entries(attributes)
    .filter(([, value]) => value !== undefined)
    .map(([key, value]) => ` ${key}="${escapeAttribute(writable(String(value)))}"`)
    .join('')
    // An XML parser otherwise turns line breaks and tabs into spaces.
    .replaceAll('\n', '&#10;')
    .replaceAll('\t', '&#9;');
  if (typeof content === 'string') return `<${name}${written}>${escapeText(writable(content))}</${name}>`;
  if (content.length === 0) return `<${name}${written}/>`;
  const inner = content.map((line) => line.replaceAll(/^(?=\s*<)/gm, '  ')).join('\n');
  return `<${name}${written}>\n${inner}\n</${name}>`;
}
