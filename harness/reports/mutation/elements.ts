/**
 * Writes reports in the mutation testing schema, version 2 (stryker-mutator/mutation-testing-elements). Lists defects
 * as mutants, and omits variants, for which the schema has no term.
 */
import { printableJson } from '../../common/terminal.ts';
import type { MutationReport, MutationState, MutationSubject } from './report.ts';

type MutantStatus = 'Killed' | 'Survived' | 'NoCoverage' | 'RuntimeError' | 'Timeout' | 'Ignored' | 'Pending';

const STATUS: Readonly<Partial<Record<MutationState, MutantStatus>>> = {
  killed: 'Killed',
  timed_out: 'Timeout',
  survived: 'Survived',
  known: 'Ignored',
  never_asked: 'NoCoverage',
  blocked: 'RuntimeError',
  not_run: 'Pending',
};

/** Default thresholds in per cent, by which viewers colour a score. */
const HIGH = 80;
const LOW = 60;

/** `sourceOf`: text of the file that declares a defect, '' for a missing file. */
export function mutationElements(report: MutationReport, sourceOf: (file: string) => string): string {
  const defects = report.subjects.filter(({ kind }) => kind === 'defect');
  const files = [...Map.groupBy(defects, ({ file }) => file)].map(([file, members]) => {
    const source = sourceOf(file);
    return [file, { language: 'typescript', source, mutants: members.map((one) => mutant(one, source)) }];
  });
  const high = Math.round(report.min_score ?? HIGH);
  const document = {
    schemaVersion: '2',
    thresholds: { high, low: Math.min(high, LOW) },
    files: Object.fromEntries(files),
    framework: { name: 'muster', version: report.muster },
    config: { command: report.command, seed: report.seed, api: report.api },
    performance: {
      setup: report.first_run.duration_ms,
      initialRun: report.first_run.duration_ms,
      mutation: report.duration_ms,
    },
  };
  return `${printableJson(document, 2)}\n`;
}

function mutant(subject: MutationSubject, source: string) {
  const { name, state, section, summary, requirements, by_hand: byHand, how, reason, duration_ms: duration } = subject;
  const required = requirements.map(({ text }) => text).join(' ');
  const why = [reason, how === undefined ? undefined : `the tests ${how}`]
    .filter((part) => part !== undefined)
    .join('; ');
  return {
    id: name,
    mutatorName: `section ${section}`,
    description: `${summary} Required: ${required}`,
    replacement: byHand,
    location: locationOf(name, source),
    status: STATUS[state] ?? 'Pending',
    ...(why === '' ? {} : { statusReason: why }),
    ...(duration === undefined ? {} : { duration }),
  };
}

function locationOf(name: string, source: string) {
  const lines = source.split('\n');
  const line = lines.findIndex((text) => text.includes(`'${name}'`));
  const text = lines[line] ?? '';
  const from = Math.max(0, text.indexOf(`'${name}'`));
  const number = Math.max(0, line) + 1;
  return { start: { line: number, column: from + 1 }, end: { line: number, column: Math.max(from, text.length) + 1 } };
}
