/**
 * Text that a person reads in a terminal: colours, widths, line breaks, bars, and lines that are drawn again in place.
 */
import { stripVTControlCharacters, styleText } from 'node:util';

/** The part of a stream that is needed to write to it; `process.stdout` fits. */
export interface Output {
  write(text: string): unknown;
  isTTY?: boolean;
  columns?: number;
}

/** Format names as `util.styleText` takes them, such as `red` or `['bold', 'green']`. */
export type Format = Parameters<typeof styleText>[0];
/** Formats a text, or returns it as it is where colours are not wanted. */
export type Paint = (format: Format, text: string) => string;

/** Whether to write colours: FORCE_COLOR wins over NO_COLOR, and both win over what kind of stream it is. */
export function wantsColour(output: Output, env: Record<string, string | undefined>): boolean {
  const force = env['FORCE_COLOR'];
  if (force !== undefined) return force !== '0' && force !== 'false';
  if ((env['NO_COLOR'] ?? '') !== '' || env['NODE_DISABLE_COLORS'] === '1') return false;
  return output.isTTY === true && env['TERM'] !== 'dumb';
}

/** The Paint for an output and its environment. */
export function painter(output: Output, env: Record<string, string | undefined>): Paint {
  const on = wantsColour(output, env);
  return (format, text) => (on ? styleText(format, text, { validateStream: false }) : text);
}

/** Characters that a text takes up, without its colours. */
export const width = (text: string): number => [...stripVTControlCharacters(text)].length;

/** Breaks text into lines of at most `columns`, at spaces; a longer word stays whole so that it can be copied. */
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

/** Lines of text beside a label that has a column of its own, `labelWidth` wide. */
export function hanging(label: string, text: readonly string[], indent: number, labelWidth: number): string[] {
  const pad = ' '.repeat(indent);
  return text.map((line, index) =>
    index === 0
      ? `${pad}${label}${' '.repeat(Math.max(1, labelWidth - width(label)))}${line}`
      : `${pad}${' '.repeat(labelWidth)}${line}`.trimEnd(),
  );
}

/** The text on one line, cut to `columns`. */
export function cutTo(text: string, columns: number): string {
  const line = text.replaceAll(/\s+/g, ' ');
  return line.length > columns ? `${line.slice(0, columns - 1)}…` : line;
}

/**
 * What could command a terminal, break a line or show text in another order than it has: every control character but
 * tab and line feed (C0, DEL, C1), the separators of lines and paragraphs, and the controls of writing direction. Each
 * is one UTF-16 unit.
 */
const UNPRINTABLE = /(?![\t\n])[\p{Cc}\p{Bidi_Control}\u2028\u2029]/gu;

const spelled = (character: string): string => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;

/**
 * The text with such characters spelled out. Text of a target goes through here on its way to a person, whatever the
 * format.
 */
export const printable = (text: string): string =>
  text.replaceAll(UNPRINTABLE, (character) => (character === '\r' ? '␍' : spelled(character)));

/** The same on one line, for what has no line break of its own: with one, it could write lines in our name. */
export const printableLine = (text: string): string => printable(text).replaceAll('\n', '␊');

/** What runners of workflows obey: a line `::command …::…` (GitHub), `##[command]` and `##vso[…]` anywhere (Azure). */
const COMMANDS = new RegExp(`(?<=^(?:\\s|${'\u001b'}\\[[\\d;]*m)*:)(?=:\\s*[\\w-]+.*::)|(?<=##)(?=\\[|vso\\[)`, 'gim');

/** Text that holds what a target or a foreign file says, on its way to a terminal, without a command to a runner. */
export const inert = (text: string): string => text.replaceAll(COMMANDS, ' ');

/** A value as JSON that any terminal can show; parsed, it is the same value. `indent`: spaces a level. */
export const printableJson = (value: unknown, indent = 0): string =>
  JSON.stringify(value, null, indent).replaceAll(UNPRINTABLE, spelled);

/** The same for every string in a value, keys included. `spell` is `printable` or `printableLine`. */
export function printableValue<T>(value: T, spell: (text: string) => string = printable): T {
  if (typeof value === 'string') return spell(value) as T;
  if (Array.isArray(value)) return value.map((item) => printableValue(item, spell)) as T;
  if (value === null || typeof value !== 'object') return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [spell(key), printableValue(item, spell)])) as T;
}

/** How much of something is done, as a bar that can be read without colours: `█████░░░░░`. */
export function bar(done: number, total: number, options: { columns?: number; paint?: Paint } = {}): string {
  const { columns = 20, paint = (_, text) => text } = options;
  const full = total <= 0 ? columns : Math.max(0, Math.min(columns, Math.round((done / total) * columns)));
  return paint('cyan', '█'.repeat(full)) + paint('dim', '░'.repeat(columns - full));
}

/** Values as bars of eight heights, the highest as full. */
export function sparkline(values: readonly number[]): string {
  const highest = Math.max(...values, Number.MIN_VALUE);
  return values.map((value) => BARS[Math.round((Math.max(0, value) / highest) * (BARS.length - 1))]).join('');
}
const BARS = '▁▂▃▄▅▆▇█';

/** One frame of a spinner; `count` goes up by one with each drawing. */
export const spinner = (count: number): string => SPINNER[count % SPINNER.length] ?? '';
const SPINNER = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏'];

/**
 * The last lines of a terminal, drawn again in place. Draws nothing on an output that is no terminal: what matters
 * there has to be written as a line of its own.
 */
export class LiveArea {
  readonly #output: Output;
  #drawn = 0;

  constructor(output: Output) {
    this.#output = output;
  }

  /** Whether the output is a terminal. */
  get live(): boolean {
    return this.#output.isTTY === true;
  }

  /** Replaces what was drawn. A line wider than the terminal is cut, since a broken one could not be erased. */
  draw(lines: readonly string[]): void {
    if (!this.live) return;
    const columns = this.#output.columns ?? 80;
    // The cut could lose the code that ends a colour, so such a line has none.
    const fit = (line: string): string =>
      width(line) <= columns ? line : `${[...stripVTControlCharacters(line)].slice(0, columns - 1).join('')}…`;
    this.#output.write(`${this.#erasing()}${lines.map(fit).join('\n')}`);
    this.#drawn = lines.length;
  }

  /** Erases what was drawn. */
  clear(): void {
    if (this.#drawn > 0) this.#output.write(this.#erasing());
    this.#drawn = 0;
  }

  /** Writes a line that stays, above what is drawn next. On any output. */
  line(text: string): void {
    this.clear();
    this.#output.write(`${text}\n`);
  }

  /** Leaves what was drawn on the screen; the next drawing begins below it. */
  keep(): void {
    if (this.#drawn > 0) this.#output.write('\n');
    this.#drawn = 0;
  }

  #erasing(): string {
    if (this.#drawn === 0) return '';
    return `\r${this.#drawn > 1 ? `\u001b[${this.#drawn - 1}A` : ''}\u001b[J`;
  }
}
