/** Formats of `muster mutate --report`. */
import { inert, type Output, printableJson } from '../../common/terminal.ts';
import { paintOf, reportWriter } from '../format.ts';
import { mutationElements } from './elements.ts';
import type { MutationReport } from './report.ts';
import { mutationText } from './text.ts';

export interface MutationWriting {
  readonly stdout: Output;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly columns: number;
  readonly verbose: boolean;
  sourceOf(file: string): string;
}

interface Format {
  readonly name: string;
  text(report: MutationReport, writing: MutationWriting, isTerminal: boolean): string;
}

const FORMATS: readonly Format[] = [
  {
    name: 'pretty',
    text: (report, writing, isTerminal) =>
      inert(mutationText(report, { ...writing, paint: paintOf(writing, isTerminal) })),
  },
  { name: 'json', text: (report) => `${printableJson(report, 2)}\n` },
  { name: 'mutation', text: (report, { sourceOf }) => mutationElements(report, sourceOf) },
];

export const MUTATION_FORMATS_TEXT =
  'Report: pretty, json or mutation (the mutation testing report schema, for its viewers), each with =FILE';

/** Writer of the chosen reports, by default `pretty`. Throws UsageError if a file cannot be written. */
export function mutationWriters(specs: readonly string[], writing: MutationWriting): (report: MutationReport) => void {
  const write = reportWriter(specs.length === 0 ? ['pretty'] : specs, FORMATS, writing.stdout);
  return (report) => write((format, isTerminal) => format.text(report, writing, isTerminal));
}
