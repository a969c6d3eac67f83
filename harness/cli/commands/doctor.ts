import process from 'node:process';
import { hanging, inert, type Paint, painter, printableJson, printableLine, wrap } from '../../common/terminal.ts';
import { EXIT, exitCodesText } from '../../common/usage.ts';
import { diagnose, type Finding, NEEDED } from '../doctor.ts';
import { columns, command, OPTION } from '../options.ts';

export const doctor = command({
  options: { json: OPTION.flag('As JSON') },
  examples: [
    ['muster doctor', 'what works here, and what to do about the rest'],
    ['muster doctor --json', 'for a script'],
  ],
  epilogue: `Exit codes: ${exitCodesText('doctor')}.`,
  async run({ json }) {
    const findings: Finding[] = [];
    const paint = painter(process.stdout, process.env);
    for await (const finding of diagnose()) {
      if (!json) process.stdout.write(inert(textOf(finding, findings.at(-1)?.group, paint)));
      findings.push(finding);
    }
    const able = findings.every(({ group, ok }) => ok || group !== NEEDED);
    process.stdout.write(
      json
        ? `${printableJson({ checks: findings.map(({ group: _, waits: __, ...check }) => check) }, 2)}\n`
        : `\n${ending(able, findings)}\n`,
    );
    const code = able ? EXIT.conformant : EXIT.harness;
    // Exits at once: a silent server would hold the process open.
    if (findings.some(({ waits }) => waits)) process.exit(code);
    return code;
  },
});

function textOf({ group, name, ok, seen, todo }: Finding, before: string | undefined, paint: Paint): string {
  const heading = group === before ? [] : [...(before === undefined ? [] : ['']), paint(['bold', 'cyan'], group)];
  const mark = ok ? paint('green', '✓') : paint(group === NEEDED ? 'red' : 'yellow', '!');
  const words = printableLine(`${name}: ${seen}${todo === undefined ? '' : `. ${todo}`}`);
  return `${[...heading, ...hanging(mark, wrap(words, columns() - 4), 2, 2)].join('\n')}\n`;
}

function ending(able: boolean, findings: readonly Finding[]): string {
  if (!able) return `Checks cannot run here: see ! below ${NEEDED}.`;
  if (findings.every(({ ok }) => ok)) return 'Everything can run here.';
  return 'Checks can run here. What ! names is needed only for what its heading says.';
}
