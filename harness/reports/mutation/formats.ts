/** Formats of `muster mutate --report`. */
import { inert, type Output, painter, printableJson } from '../../common/terminal.ts';
import { UsageError } from '../../common/usage.ts';
import { isOneFile, prepareFile } from '../../common/user-files.ts';
import { formatOf, writeReport } from '../format.ts';
import { mutationElements } from './elements.ts';
import type { MutationReport } from './report.ts';
import { mutationText } from './text.ts';

export interface MutationWriting {
  readonly stdout: Output;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly columns: number;
  readonly verbose: boolean;
  /** Text of a file of the catalogue; '' if it is missing. */
  sourceOf(file: string): string;
}

interface Format {
  readonly name: string;
  text(report: MutationReport, writing: MutationWriting, terminal: boolean): string;
}

const FORMATS: readonly Format[] = [
  {
    name: 'pretty',
    text: (report, { stdout, env, columns, verbose }, terminal) =>
      inert(mutationText(report, { paint: painter(stdout, terminal ? env : { NO_COLOR: '1' }), columns, verbose })),
  },
  { name: 'json', text: (report) => `${printableJson(report, 2)}\n` },
  { name: 'mutation', text: (report, { sourceOf }) => mutationElements(report, sourceOf) },
];

export const MUTATION_FORMATS_TEXT =
  'Report: pretty, json or mutation (the mutation testing report schema, for its viewers), each with =FILE';

/**
 * Writer of the requested reports; default: `pretty`. Tries files before the work.
 *
 * @throws UsageError for an unknown format, an unwritable place, and two reports in one place
 */
export function mutationWriters(specs: readonly string[]): (report: MutationReport, writing: MutationWriting) => void {
  const wanted = (specs.length === 0 ? ['pretty'] : specs).map((spec) => {
    const { format, file } = formatOf(spec, FORMATS);
    return { spec, format, path: file === undefined ? undefined : prepareFile(`--report ${spec}`, file) };
  });
  const places = new Set<string | undefined>();
  for (const { spec, path } of wanted) {
    if (places.has(path) && (path === undefined || isOneFile(path)))
      throw new UsageError(`--report ${spec}: another report goes to ${path ?? 'stdout'} already`);
    places.add(path);
  }
  return (report, writing) => {
    for (const { format, path } of wanted) {
      const text = format.text(report, writing, path === undefined);
      if (path === undefined) writing.stdout.write(text);
      else writeReport(path, text);
    }
  };
}
