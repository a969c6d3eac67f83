import { globSync } from 'node:fs';
import { join } from 'node:path';
import { COMMANDS, type CommandEntry } from '../commands.ts';

export const ROOT = join(import.meta.dirname, '../../..');

export const DOCUMENTS = globSync(['*.md', '{fixtures,harness,simulators,suites}/**/*.md', '.github/**/*.md'], {
  cwd: ROOT,
  exclude: ['**/node_modules/**'],
}).sort();

export const NAMED_COMMANDS: readonly (readonly [name: string, entry: CommandEntry])[] = COMMANDS.flatMap((each) =>
  'members' in each
    ? each.members.map((member) => [`${each.name} ${member.name}`, member] as const)
    : [[each.name, each] as const],
);
