/**
 * Writes TAP 13 (testanything.org), because `prove` of Perl before 5.40 rejects TAP 14. A run that decided too little
 * adds a failed point, because skipped points are green.
 */
import type { CheckResult } from '../runner/types.ts';
import { findingText } from './findings.ts';
import { type DocumentFormat, writable } from './format.ts';
import { headlineOf, isOpen } from './verdict.ts';

export const tapFormat: DocumentFormat = {
  name: 'tap',
  document(report) {
    const points = report.checks.map(pointOf);
    if (isOpen(report)) points.push({ isOk: false, name: 'the run', detail: headlineOf(report).meaning });
    const headline = line(`${headlineOf(report).word}, seed ${report.seed}`);
    const lines = points.flatMap(({ isOk, name, skip, detail }, index) => {
      const why = skip === undefined ? '' : ` # SKIP ${line(skip)}`;
      const first = `${isOk ? 'ok' : 'not ok'} ${index + 1} - ${line(name)}${why}`;
      if (detail === undefined) return [first];
      // Writes `|`, because `prove` does not know `|-`.
      return [first, '  ---', '  finding: |', writable(detail).replaceAll(/^/gm, '    '), '  ...'];
    });
    return `${['TAP version 13', `1..${points.length}`, `# ${headline}`, ...lines].join('\n')}\n`;
  },
};

interface Point {
  isOk: boolean;
  name: string;
  skip?: string;
  detail?: string;
}

function pointOf(check: CheckResult): Point {
  const { id: name, outcome, reason = '', fails_by: failsBy, fault } = check;
  // Treats a fault as a failure, because node-tap counts a skipped point as good even if it is not ok.
  switch (fault === true ? 'fail' : outcome) {
    case 'pass':
      return { isOk: true, name };
    case 'fail':
    case 'fixed':
      return { isOk: false, name, detail: findingText(check) };
    case 'warn':
      return { isOk: failsBy === undefined, name, detail: findingText(check) };
    default:
      return { isOk: true, name, skip: `${outcome.replace('_', ' ')}: ${reason}` };
  }
}

/** Text on one line, with TAP's special characters `\` and `#` escaped. */
const line = (text: string): string => writable(text).replaceAll(/\s+/g, ' ').replaceAll(/[\\#]/g, '\\$&').trim();
