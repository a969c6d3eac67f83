/** Texts of `--report`, in formats other than those of `muster check`. */
import process from 'node:process';
import { type Paint, painter } from '../common/terminal.ts';
import { prepareFile, writeWhole } from '../common/user-files.ts';
import { formatOf } from '../reports/format.ts';

/** Colours on the terminal, none in a file. */
export const paintOf = (isTerminal: boolean): Paint =>
  painter(process.stdout, isTerminal ? process.env : { NO_COLOR: '1' });

/** Writer of each requested format, to its file or standard output. Throws UsageError, before the work. */
export function textWriter<F extends { readonly name: string }>(specs: readonly string[], formats: readonly F[]) {
  const wanted = specs.map((spec) => ({ spec, ...formatOf(spec, formats) }));
  const places = wanted.map(({ spec, file, format }) => {
    return { format, file: file === undefined ? undefined : prepareFile(`--report ${spec}`, file) };
  });
  return (textOf: (format: F, isTerminal: boolean) => string): void => {
    for (const { format, file } of places) {
      const text = textOf(format, file === undefined);
      if (file === undefined) process.stdout.write(text);
      else writeWhole(file, text);
    }
  };
}
