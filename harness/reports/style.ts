/** Colour and line breaking for text that a person reads in a terminal. */
import { stripVTControlCharacters, styleText } from 'node:util';
import type { Output } from './types.ts';

type Format = Parameters<typeof styleText>[0];
export type Paint = (format: Format, text: string) => string;

/** FORCE_COLOR wins over NO_COLOR, and both over what the stream is. */
export function wantsColour(output: Output, env: Record<string, string | undefined>): boolean {
  const force = env['FORCE_COLOR'];
  if (force !== undefined) return force !== '0' && force !== 'false';
  if ((env['NO_COLOR'] ?? '') !== '' || env['NODE_DISABLE_COLORS'] === '1') return false;
  return output.isTTY === true && env['TERM'] !== 'dumb';
}

export function painter(output: Output, env: Record<string, string | undefined>): Paint {
  const on = wantsColour(output, env);
  return (format, text) => (on ? styleText(format, text, { validateStream: false }) : text);
}

export const width = (text: string): number => [...stripVTControlCharacters(text)].length;

/** Text to `columns`, broken at spaces; what has no space stays whole so that it can be copied. */
export function wrap(text: string, columns: number): string[] {
  return text.split('\n').flatMap((line) => {
    const lines: string[] = [];
    let current = '';
    for (const word of line.split(' ')) {
      if (current !== '' && width(current) + 1 + width(word) > columns) {
        lines.push(current);
        current = word;
      } else current = current === '' ? word : `${current} ${word}`;
    }
    lines.push(current);
    return lines;
  });
}

/** A label in a column of its own, the text hanging beside it. */
export function hanging(label: string, text: readonly string[], indent: number, labelWidth: number): string[] {
  const pad = ' '.repeat(indent);
  return text.map((line, index) =>
    index === 0
      ? `${pad}${label}${' '.repeat(Math.max(1, labelWidth - width(label)))}${line}`
      : `${pad}${' '.repeat(labelWidth)}${line}`.trimEnd(),
  );
}

/** On one line, as far as there is room. */
export function cutTo(text: string, columns: number): string {
  const line = text.replaceAll(/\s+/g, ' ');
  return line.length > columns ? `${line.slice(0, columns - 1)}…` : line;
}

/** Control characters would let a target write to the reader's terminal. */
export function printable(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what has to be made visible
  return text.replaceAll(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u2028\u2029]/g, (character) =>
    character === '\r' ? '␍' : `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

export function seconds(milliseconds: number): string {
  if (milliseconds < 1000) return `${Math.round(milliseconds)} ms`;
  return milliseconds < 60_000
    ? `${(milliseconds / 1000).toFixed(1)} s`
    : `${Math.floor(milliseconds / 60_000)} min ${Math.round((milliseconds % 60_000) / 1000)} s`;
}
