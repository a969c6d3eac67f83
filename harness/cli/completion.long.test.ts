import { spawnSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { delimiter } from 'node:path';
import { expect, it } from 'vitest';
import { MAIN, printed, refusal, shownText, useFolder } from './testing/muster.ts';

const at = useFolder();
for (const name of ['bin', 'broken', 'empty']) mkdirSync(at(name));
writeFileSync(at('bin/muster'), `#!/bin/sh\nexec '${process.execPath}' '${MAIN}' "$@"\n`, { mode: 0o755 });
writeFileSync(at('broken/muster'), '#!/bin/sh\necho broken >&2\nexit 3\n', { mode: 0o755 });

const DRIVERS: Readonly<Record<string, (script: string, words: readonly string[]) => string>> = {
  bash: (script, words) => `source '${script}'
    COMP_WORDS=(${quoted(words)}); COMP_CWORD=${words.length - 1}
    "$(complete -p muster | sed 's/.*-F \\([^ ]*\\).*/\\1/')"
    printf '%s\\n' "\${COMPREPLY[@]}"`,
  zsh: (script, words) => `compdef() { completer=$1 }
    _describe() { print -rl -- \${(M)\${(P)2}:#\${words[CURRENT]}*} }
    _files() { }
    source '${script}'; words=(${quoted(words)}); CURRENT=${words.length}; $completer`,
  fish: (script, words) => `source '${script}'; complete -C '${words.join(' ')}'`,
};
const quoted = (words: readonly string[]): string => words.map((word) => `'${word}'`).join(' ');

const CASES: [typed: string, completions: string][] = [
  ['che', 'check'],
  ['check ', 'client device platform system'],
  ['check device --so', '--socket'],
  ['check device --dialect ', 'miru spec'],
  ['list pl', 'platform'],
  ['keygen ', ''],
  ['list device x', ''],
];

it.for(Object.entries(DRIVERS))('%s completes typed words without an error', async ([shell, driver], context) => {
  if (spawnSync(shell, ['-c', 'exit']).error !== undefined) context.skip(`no ${shell} on this machine`);
  const script = at(`muster.${shell}`);
  writeFileSync(script, (await printed(['completion', shell])).text);
  const completed = (typed: string, place: string): string => {
    const PATH = [at(place), process.env['PATH']].join(delimiter);
    const env = { ...process.env, PATH, HOME: at('empty'), SHELL: shell === 'bash' ? '/bin/zsh' : '/bin/bash' };
    const words = ['-c', driver(script, ['muster', ...typed.split(' ')])];
    const { stdout, stderr } = spawnSync(shell, words, { env, cwd: at('empty'), encoding: 'utf8' });
    expect(stderr).toBe('');
    const lines = stdout.split('\n').filter((each) => each !== '');
    const found = lines.map((each) => each.replace(/[\t:].*/, ''));
    return found.sort().join(' ');
  };
  expect(CASES.map(([typed]) => [typed, completed(typed, 'bin')])).toEqual(CASES);
  expect(completed('check ', 'broken')).toBe('');
});

it('completion completes the names of shells, and lists them when SHELL is missing', async () => {
  const text = await shownText(['--get-yargs-completions', 'muster', 'completion', '']);
  expect(text.split('\n')).toEqual(['bash', 'zsh', 'fish']);
  expect(await refusal(['completion'])).toBe('completion: SHELL is missing; accepted: bash, zsh, fish');
});
