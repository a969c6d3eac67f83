/**
 * Writes TAP 14 (testanything.org). A run that decided too little adds a failed point, because skipped points are
 * green.
 */
import { printable } from '../common/terminal.ts';
import { EXIT } from '../common/usage.ts';
import type { CheckResult } from '../runner/types.ts';
import { findingText } from './findings.ts';
import type { DocumentFormat } from './format.ts';
import { headlineOf } from './verdict.ts';

export const tapFormat: DocumentFormat = {
  name: 'tap',
  document(report) {
    const points = report.checks.map(pointOf);
    const isOpen = report.exit_code === EXIT.incomplete || report.interrupted === true;
    if (isOpen) points.push({ isOk: false, name: 'the run', detail: headlineOf(report).meaning });
    const headline = line(`${headlineOf(report).word}, seed ${report.seed}`);
    const lines = points.flatMap(({ isOk, name, skip, detail }, index) => {
      const why = skip === undefined ? '' : ` # SKIP ${line(skip)}`;
      const first = `${isOk ? 'ok' : 'not ok'} ${index + 1} - ${line(name)}${why}`;
      if (detail === undefined) return [first];
      return [first, '  ---', '  finding: |-', printable(detail).replaceAll(/^/gm, '    '), '  ...'];
    });
    return `${['TAP version 14', `1..${points.length}`, `# ${headline}`, ...lines].join('\n')}\n`;
  },
};

interface Point {
  isOk: boolean;
  name: string;
  skip?: string;
  detail?: string;
}

function pointOf(check: CheckResult): Point {
  const { id: name, outcome, reason = '', fails_by: failsBy } = check;
  switch (outcome) {
    case 'pass':
      return { isOk: true, name };
    case 'fail':
    case 'fixed':
      return { isOk: false, name, detail: findingText(check) };
    case 'warn':
      return { isOk: failsBy === undefined, name, detail: findingText(check) };
    default:
      return { isOk: check.fault !== true, name, skip: `${outcome.replace('_', ' ')}: ${reason}` };
  }
}

/** Text on one line, with TAP's special characters `\` and `#` escaped. */
const line = (text: string): string => printable(text).replaceAll(/\s+/g, ' ').replaceAll(/[\\#]/g, '\\$&').trim();
