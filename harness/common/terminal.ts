/** Text for a terminal: colours, widths, line breaks, bars, and redrawn lines. */
import { stripVTControlCharacters, styleText } from 'node:util';

export interface Output {
  write(text: string): unknown;
  isTTY?: boolean;
  columns?: number;
}

/** Formats of `util.styleText`, such as `red` or `['bold', 'green']`. */
export type Format = Parameters<typeof styleText>[0];
export type Paint = (format: Format, text: string) => string;

/** Whether to write colours: FORCE_COLOR, then NO_COLOR, then the kind of stream. */
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

/** Columns of a text, without its colours. */
export const width = (text: string): number => [...stripVTControlCharacters(text)].length;

/** Breaks text at spaces into lines of at most `columns`; a longer word stays whole, so that it can be copied. */
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

export function hanging(label: string, text: readonly string[], indent: number, labelWidth: number): string[] {
  const pad = ' '.repeat(indent);
  return text.map((line, index) =>
    index === 0
      ? `${pad}${label}${' '.repeat(Math.max(1, labelWidth - width(label)))}${line}`
      : `${pad}${' '.repeat(labelWidth)}${line}`.trimEnd(),
  );
}

export function cutTo(text: string, columns: number): string {
  const line = text.replaceAll(/\s+/g, ' ');
  return line.length > columns ? `${line.slice(0, columns - 1)}…` : line;
}

/**
 * Characters that could command a terminal, break a line or reorder text: control characters except tab and line feed
 * (C0, DEL, C1), separators of lines and paragraphs, and controls of writing direction. Each is one UTF-16 unit.
 */
const UNPRINTABLE = /(?![\t\n])[\p{Cc}\p{Bidi_Control}\u2028\u2029]/gu;

const spelled = (character: string): string => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;

/** Text with such characters spelled out. Applied to text of a target before a person reads it, in any format. */
export const printable = (text: string): string =>
  text.replaceAll(UNPRINTABLE, (character) => (character === '\r' ? '␍' : spelled(character)));

/** `printable` on one line, for text without line breaks of its own: with one, it could forge a line. */
export const printableLine = (text: string): string => printable(text).replaceAll('\n', '␊');

/** Commands of workflow runners: a line `::command …::…` (GitHub), `##[command]` and `##vso[…]` anywhere (Azure). */
const COMMANDS = new RegExp(`(?<=^(?:\\s|${'\u001b'}\\[[\\d;]*m)*:)(?=:\\s*[\\w-]+.*::)|(?<=##)(?=\\[|vso\\[)`, 'gim');

/** Disables commands to a workflow runner in text of a target or foreign file. */
export const inert = (text: string): string => text.replaceAll(COMMANDS, ' ');

/** JSON for any terminal, which parses to the same value. `indent`: spaces a level. */
export const printableJson = (value: unknown, indent = 0): string =>
  JSON.stringify(value, null, indent).replaceAll(UNPRINTABLE, spelled);

/** Value with `spell` applied to every string, keys included; `spell` is `printable` or `printableLine`. */
export function printableValue<T>(value: T, spell: (text: string) => string = printable): T {
  if (typeof value === 'string') return spell(value) as T;
  if (Array.isArray(value)) return value.map((item) => printableValue(item, spell)) as T;
  if (value === null || typeof value !== 'object') return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [spell(key), printableValue(item, spell)])) as T;
}

/** Progress as a bar that is readable without colours: `█████░░░░░`. */
export function bar(done: number, total: number, options: { columns?: number; paint?: Paint } = {}): string {
  const { columns = 20, paint = (_, text) => text } = options;
  const full = total <= 0 ? columns : Math.max(0, Math.min(columns, Math.round((done / total) * columns)));
  return paint('cyan', '█'.repeat(full)) + paint('dim', '░'.repeat(columns - full));
}

/** Values as bars of eight heights; the highest is full. */
export function sparkline(values: readonly number[]): string {
  const highest = Math.max(...values, Number.MIN_VALUE);
  return values.map((value) => BARS[Math.round((Math.max(0, value) / highest) * (BARS.length - 1))]).join('');
}
const BARS = '▁▂▃▄▅▆▇█';

export const spinner = (count: number): string => SPINNER[count % SPINNER.length] ?? '';
const SPINNER = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏'];

/**
 * Last lines of a terminal, redrawn in place. Draws nothing without a terminal, where lines must be written instead.
 */
export class LiveArea {
  readonly #output: Output;
  #drawn = 0;

  constructor(output: Output) {
    this.#output = output;
  }

  get live(): boolean {
    return this.#output.isTTY === true;
  }

  /** Redraws. Cuts lines to the terminal's width, because a wrapped line could not be erased. */
  draw(lines: readonly string[]): void {
    if (!this.live) return;
    const columns = this.#output.columns ?? 80;
    // Without colours: the cut could drop the code that ends one.
    const fit = (line: string): string =>
      width(line) <= columns ? line : `${[...stripVTControlCharacters(line)].slice(0, columns - 1).join('')}…`;
    this.#output.write(`${this.#erasing()}${lines.map(fit).join('\n')}`);
    this.#drawn = lines.length;
  }

  clear(): void {
    if (this.#drawn > 0) this.#output.write(this.#erasing());
    this.#drawn = 0;
  }

  /** Writes a permanent line above the next drawing, on any output. */
  line(text: string): void {
    this.clear();
    this.#output.write(`${text}\n`);
  }

  /** Keeps the drawing on the screen; the next one begins below. */
  keep(): void {
    if (this.#drawn > 0) this.#output.write('\n');
    this.#drawn = 0;
  }

  #erasing(): string {
    if (this.#drawn === 0) return '';
    return `\r${this.#drawn > 1 ? `\u001b[${this.#drawn - 1}A` : ''}\u001b[J`;
  }
}
