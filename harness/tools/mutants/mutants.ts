/** Makes mutants of a source file, small changes that an environment variable activates. */
import { readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { Instrumenter } from '@stryker-mutator/instrumenter';
import { readYaml } from '../../common/yaml.ts';

export const PLAIN_APIS = ['device', 'platform'] as const;
export type PlainApi = (typeof PLAIN_APIS)[number];

export const ACTIVE_MUTANT = '__STRYKER_ACTIVE_MUTANT__';

export interface Mutant {
  id: string;
  file: string;
  line: number;
  mutator: string;
  was: string;
  now: string;
  /** `text`: line in which the mutant starts; `within`: first line of the top-level statement around it. */
  text: string;
  within: string;
}

/** Writes nothing, and has no level enabled. */
const LOGGER = new Proxy({} as ConstructorParameters<typeof Instrumenter>[0], { get: () => () => false });

export function instrumentedServer(api: PlainApi) {
  const source = join(import.meta.dirname, '..', '..', '..', 'simulators', 'plain', `${api}.ts`);
  return withMutants(source, readFileSync(source, 'utf8'));
}

export async function withMutants(name: string, source: string) {
  const options = { plugins: null, excludedMutations: [], ignorers: [] };
  const made = await new Instrumenter(LOGGER).instrument([{ name, mutate: true, content: source }], options);
  const lines = source.split('\n');
  const mutants = made.mutants.map(({ id, location: { start, end }, mutatorName: mutator, replacement }): Mutant => {
    const whole = lines.slice(start.line, end.line + 1);
    // Cuts the end first, because start and end may be in the same line.
    whole.push((whole.pop() ?? '').slice(0, end.column));
    const was = [(whole.shift() ?? '').slice(start.column), ...whole].join('\n');
    return {
      id,
      file: basename(name),
      line: start.line + 1,
      mutator,
      was: inOneLine(was),
      now: inOneLine(replacement),
      text: (lines[start.line] ?? '').trim(),
      within: lines.slice(0, start.line + 1).findLast((line) => /^\w/.test(line)) ?? '',
    };
  });
  return { code: made.files[0]?.content ?? '', mutants };
}

const inOneLine = (code: string): string => code.replaceAll(/\s+/g, ' ').trim();

const SHOWN = 100;
const shortened = (code: string): string => (code.length > SHOWN ? `${code.slice(0, SHOWN)}…` : code);

export const mutantText = ({ file, line, mutator, was, now }: Mutant): string =>
  `${file}:${line} ${mutator}: ${shortened(was)} → ${shortened(now)}`;

/** Mutants that no test can detect, for the reason in `why`. */
export type Equivalent = { file: string; why: string } & Partial<Pick<Mutant, (typeof PATTERNS)[number]>>;

export const readEquivalents = (): Equivalent[] =>
  readYaml('the mutants that are none', join(import.meta.dirname, 'equivalent.yaml')).value as Equivalent[];

const PATTERNS = ['mutator', 'text', 'within', 'was', 'now'] as const;

export function isEquivalent(mutant: Mutant, equivalent: Equivalent): boolean {
  const fits = PATTERNS.every((name) => new RegExp(equivalent[name] ?? '', 'u').test(mutant[name]));
  return equivalent.file === mutant.file && fits;
}

export function splitEquivalents(mutants: readonly Mutant[], equivalents: readonly Equivalent[]) {
  const isOne = (mutant: Mutant): boolean => equivalents.some((each) => isEquivalent(mutant, each));
  return { visible: mutants.filter((mutant) => !isOne(mutant)), equivalent: mutants.filter(isOne) };
}
