import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import process from 'node:process';
import { expect, it } from 'vitest';
import { scratch } from '../../../simulators/common/testing/scratch.ts';
import {
  ACTIVE_MUTANT,
  instrumentedServer,
  isEquivalent,
  mutantText,
  PLAIN_APIS,
  readEquivalents,
  splitEquivalents,
  withMutants,
} from './mutants.ts';

const SOURCE = `
const most: number = 10;
function isAbove(value: number): boolean {
  return value > most;
}
process.stdout.write(String(isAbove(10)));
`;

it('the instrumented code runs unchanged, or with the named mutant', async () => {
  using folder = scratch();
  const { code, mutants } = await withMutants('above.ts', SOURCE);
  const program = join(folder.path, 'above.mts');
  writeFileSync(program, code);
  const said = (id: string): string =>
    execFileSync(process.execPath, [program], { encoding: 'utf8', env: { [ACTIVE_MUTANT]: id } });
  const atLeast = mutants.find(({ now }) => now === 'value >= most');
  expect(atLeast && mutantText(atLeast)).toBe('above.ts:4 EqualityOperator: value > most → value >= most');
  expect([said('none'), said(atLeast?.id ?? '')]).toEqual(['false', 'true']);
});

it('a mutant with a reason is left out, even after its code moves', async () => {
  const both = { file: 'above.ts', mutator: 'EqualityOperator', now: '>=', why: 'nobody asks for ten' };
  for (const source of [SOURCE, `\n\n${SOURCE}`]) {
    const { mutants } = await withMutants('above.ts', source);
    const { visible, equivalent } = splitEquivalents(mutants, [
      { ...both, within: '^function isAbove', text: '^return value' },
      { ...both, within: '^function isBelow', mutator: '' },
      { ...both, file: 'other.ts', mutator: '' },
    ]);
    expect(equivalent.map(({ now }) => now)).toEqual(['value >= most']);
    expect(visible).toHaveLength(mutants.length - 1);
  }
});

it('every stored reason matches a mutant', async () => {
  const mutants = (await Promise.all(PLAIN_APIS.map(instrumentedServer))).flatMap((server) => server.mutants);
  expect(readEquivalents().filter((each) => !mutants.some((mutant) => isEquivalent(mutant, each)))).toEqual([]);
});
