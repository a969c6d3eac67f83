import process from 'node:process';
import { printableJson, withoutCiCommands } from '../../common/terminal.ts';
import { exitCodesText } from '../../common/usage.ts';
import { type Fit, fitJson, fitOf, fitPage, fitText, readEvidence } from '../../reports/fit/fit.ts';
import { paintOf, reportWriter, type WritableFormat } from '../../reports/format.ts';
import { columns, command, OPTION, REPORTED, wholePath } from '../options.ts';
import { VERSION } from '../version.ts';

const WHICH = 'as NAME, NAME@VERSION or sha256:…';

export const fit = command({
  options: {
    path: OPTION.list('Reports in JSON, certificates, or folders of these', {
      positional: true,
      required: true,
      path: wholePath,
    }),
    agent: OPTION.list(`Agent that goes out, ${WHICH}`, { defaultText: 'the newest version of each' }),
    platform: OPTION.list(`Platform that it meets, ${WHICH}`, { defaultText: 'the newest version of each' }),
    client: OPTION.list(`Client of either, ${WHICH}`, { defaultText: 'the newest version of each' }),
    report: OPTION.list('Report: pretty, html or json, each with =FILE', REPORTED),
  },
  examples: [
    ['muster fit reports/ --agent acme-agent@1.4 --platform hub@7', 'may this agent be released for that platform?'],
    ['muster fit reports/ --report html=fit.html', 'every pair, as a page'],
  ],
  epilogue:
    'A server and a client fit when each conforms by its newest run; an agent and a platform when muster check ' +
    'system says so (--name, --platform-name). Certificates are read without a look at their signature: muster ' +
    `verify checks it.\n\nExit codes: ${exitCodesText('fit')}.`,
  run({ path, report = ['pretty'], ...wanted }) {
    const write = reportWriter(report, FORMATS, process.stdout);
    const answer = fitOf(readEvidence(path, new Date().toISOString().slice(0, 10)), wanted);
    write(answer);
    return answer.code;
  },
});

const FORMATS: readonly WritableFormat<Fit>[] = [
  {
    name: 'pretty',
    text: (answer, isTerminal) => withoutCiCommands(fitText(answer, paintOf(process, isTerminal), columns())),
  },
  { name: 'html', text: (answer) => fitPage(answer, VERSION) },
  { name: 'json', text: (answer) => `${printableJson(fitJson(answer), 2)}\n` },
];
