import { dirname } from 'node:path';
import process from 'node:process';
import { reportHtml } from '../../../simulators/fleet/report/report.ts';
import { exitCode, type FleetResult } from '../../../simulators/fleet/result/result.ts';
import { Redactor } from '../../common/redact.ts';
import { EXIT, UsageError } from '../../common/usage.ts';
import { createReporters, REPORT_FORMATS_TEXT } from '../../reports/create.ts';
import { paintOf, placesOf, reportWriter, type WritableFormat } from '../../reports/format.ts';
import { looksLikeReport, readJson, reportFrom } from '../../reports/json.ts';
import { RunListeners } from '../../runner/run.ts';
import { endingText, fleetIn, isFleet, summaryText } from '../fleet-summary.ts';
import { command, OPTION, REPORTED } from '../options.ts';

export const report = command({
  options: {
    file: OPTION.file("A report of `muster check` in JSON, or a fleet's result.json", {
      positional: true,
      required: true,
    }),
    report: OPTION.list(`Report: ${REPORT_FORMATS_TEXT}; of a fleet, pretty or html`, REPORTED),
    verbose: OPTION.flag('Show a line for each check that passed, too'),
  },
  examples: [
    ['muster report run.json --report html=run.html', 'a page to send to somebody'],
    ['muster report run.json', 'what the run printed, once more'],
    ['muster report muster-report/fleet/result.json --report html=fleet.html', 'the page of a fleet'],
  ],
  epilogue: 'The exit code is 0 whatever the report says: nothing is judged again.',
  async run({ file, report: formats, verbose }) {
    const value = readJson(file);
    const { stdout, stderr, env } = process;
    const places = placesOf([file]);
    if (looksLikeReport(value)) {
      const run = reportFrom(value, file);
      // Masks no secrets, because Muster masked the report when writing it.
      const writing = { redactor: new Redactor(), stdout, stderr, env, verbose };
      await new RunListeners(createReporters(formats ?? [], writing, places)).end(run);
    } else if (isFleet(value)) {
      const write = reportWriter(formats ?? ['pretty'], FLEET_FORMATS, stdout, places);
      write({ result: fleetIn(file), out: dirname(file) });
    } else {
      throw new UsageError(
        `${file}: is neither a report of \`muster check\` in JSON (--report json=FILE) nor the result.json of a ` +
          'fleet; `muster verify FILE --key KEY --report html=FILE` shows a certificate',
      );
    }
    return EXIT.conformant;
  },
});

const FLEET_FORMATS: readonly WritableFormat<{ result: FleetResult; out: string }>[] = [
  {
    name: 'pretty',
    text: ({ result, out }, isTerminal) => {
      const paint = paintOf(process, isTerminal);
      return summaryText(result, paint) + endingText({ out, code: exitCode(result) }, paint);
    },
  },
  { name: 'html', text: ({ result }) => reportHtml(result) },
];
