import { spawnSync } from 'node:child_process';
import { expect, it, type TestContext } from 'vitest';
import { type CommandHelp, helpOfCommands, manPage, roff } from './man-page.ts';

const commands = await helpOfCommands();
const page = manPage(commands);

/** What a program prints that reads a page from its standard input. */
function output(context: TestContext, program: string, words: readonly string[], input: string): string {
  const { error, stdout, stderr } = spawnSync(program, words, { input, encoding: 'utf8' });
  if (error !== undefined) context.skip(`no ${program} on this machine`);
  return `${stdout}${stderr}`;
}

it.for([
  ['groff', '-ww', '-z', '-man', '-Tutf8'],
  // It warns of a page without a date, which is one that the same sources make again.
  ['mandoc', '-T', 'lint', '-W', 'error'],
])('%s accepts the page', ([program = '', ...words], context) => {
  expect(output(context, program, words, page)).toBe('');
});

it.each(commands)('the section of $name has all of its options and examples', ({ name, options, examples = [] }) => {
  const section = page.split('\n.SS ').find((text) => text.startsWith(`\\fBmuster ${name}\\fR`)) ?? '';
  const tags = Object.entries(options).map(([option, { positional }]) =>
    positional === true ? `.TP\n\\fI${option}\\fR` : `.TP\n\\fB\\-\\-${option.replaceAll('-', '\\-')}\\fR`,
  );
  for (const tag of tags) expect(section).toContain(tag);
  for (const [line] of examples) expect(section).toContain(`.TP\n\\fB${roff(line)}\\fR`);
});

it('codes that mean the same are told once, and each secret has its variable', () => {
  expect(page).toContain('.TP\n\\fBfleet\\fR, \\fBmerge\\fR\n0 all thresholds met');
  expect(page).toContain('.TP\n\\fBMUSTER_TOKEN\\fR\nIn place of \\-\\-token of check device, ');
});

it.each([
  ['C:\\new', 'C:\\enew'],
  ['.br\n.so /etc/passwd', '\\&.br\n\\&.so /etc/passwd'],
  ["'twas", '\\(aqtwas'],
  ['--last-failed', '\\-\\-last\\-failed'],
  ['… 😀', '\\[u2026] \\[u1F600]'],
])('%j is written as %j', (text, written) => {
  expect(roff(text)).toBe(written);
});

it('a terminal shows what the tables say, whatever signs are in it', (context) => {
  const describe = '.so \\fB "it\'s" `a^~b` --x …';
  const strange: CommandHelp = { name: 'odd', positionals: [], describe, options: {}, examples: [["'x' \\n", '.y']] };
  const text = output(context, 'groff', ['-man', '-Tutf8', '-P-c', '-P-b', '-P-u'], manPage([strange]));
  expect(text).toContain(describe);
  expect(text).toMatch(/ 'x' \\n\s+\.y\n/);
});
