/**
 * JUnit XML: a suite for each section, a case for each defect and variant. Survivors and brittle variants are failures,
 * unless the score is reached without the survivor. A server or tests that could not run are errors; other undecided
 * subjects are skipped.
 */
import { EXIT } from '../../common/usage.ts';
import { sectionTitle } from '../../contract/sections.ts';
import { element, junitDocument } from '../junit.ts';
import { findingOf, inState, isFinding, type MutationReport, type MutationSubject, requirementOf } from './report.ts';

export function mutationJunit(report: MutationReport): string {
  const { side, subjects, exit_code: code, meaning } = report;
  const suites = [...Map.groupBy(subjects, ({ section }) => section)]
    .toSorted(([a], [b]) => a.localeCompare(b, 'en', { numeric: true }))
    .map(([section, members]) =>
      element('testsuite', { name: `${section} ${sectionTitle(section)}`.trim(), ...totals(members, report) }, [
        ...members.map((one) => testCase(one, report)),
      ]),
    );
  const isOpen = code !== EXIT.conformant && code !== EXIT.nonconformant;
  const open = isOpen
    ? [
        element('testsuite', { name: 'The run', ...totals([], report, 1) }, [
          element('testcase', { name: 'the run', classname: `muster.mutate.${side}`, time: '0.000' }, [
            element('error', { message: meaning, type: 'incomplete' }, meaning),
          ]),
        ]),
      ]
    : [];
  const sum = totals(subjects, report, open.length);
  const timestamp = report.started_at.slice(0, 19);
  return junitDocument(
    element('testsuites', { name: `muster mutate ${side}`, ...sum, timestamp }, [...suites, ...open]),
  );
}

function testCase(subject: MutationSubject, report: MutationReport): string {
  const { side, api } = report;
  const { name, kind, section, duration_ms: ms = 0 } = subject;
  const attributes = {
    name: `${kind} ${name}`,
    classname: `muster.mutate.${side}.${api}.${section}`.replace(/\.$/, ''),
    time: (ms / 1000).toFixed(3),
  };
  return element('testcase', attributes, outcome(subject, report));
}

/** Whether a subject is a failure: a survivor is none if the score is reached. */
const fails = (subject: MutationSubject, { score = 0, min_score: least }: MutationReport): boolean =>
  isFinding(subject) && (subject.state === 'brittle' || least === undefined || score < least);

function outcome(subject: MutationSubject, report: MutationReport): string[] {
  const { state, summary, by_hand: byHand, wrote, reason = '' } = subject;
  if (isFinding(subject)) {
    const required = requirementOf(subject);
    const lines = [summary, required && `required: ${required}`, reason, `by hand: ${byHand}`];
    const text = [...lines, state === 'brittle' ? wrote : ''].filter(Boolean).join('\n');
    return fails(subject, report)
      ? [element('failure', { message: findingOf(subject), type: state }, text)]
      : [element('system-out', {}, `${findingOf(subject)}\n${text}`)];
  }
  if (state === 'blocked') return [element('error', { message: reason, type: state }, reason)];
  if (state === 'known' || state === 'never_asked' || state === 'not_run')
    return [element('skipped', { message: `${state.replace('_', ' ')}: ${reason}` })];
  return [];
}

function totals(
  subjects: readonly MutationSubject[],
  report: MutationReport,
  open = 0,
): Record<string, string | number> {
  const skipped = (['known', 'never_asked', 'not_run'] as const).map((state) => inState(subjects, state).length);
  return {
    tests: subjects.length + open,
    failures: subjects.filter((one) => fails(one, report)).length,
    errors: inState(subjects, 'blocked').length + open,
    skipped: skipped.reduce((sum, each) => sum + each, 0),
    time: (subjects.reduce((sum, { duration_ms: ms = 0 }) => sum + ms, 0) / 1000).toFixed(3),
  };
}
