import { stripVTControlCharacters, styleText } from 'node:util';

export interface Output {
  write(text: string): unknown;
  isTTY?: boolean;
  columns?: number;
}

export type Format = Parameters<typeof styleText>[0];
export type Paint = (format: Format, text: string) => string;

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
 * Characters that can forge terminal output: controls except tab and line feed, line separators, and controls of the
 * writing direction.
 */
const UNPRINTABLE = /(?![\t\n])[\p{Cc}\p{Bidi_Control}\u2028\u2029]/gu;

const spelled = (character: string): string => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;

/** Spells out control characters in text of a target. */
export const printable = (text: string): string =>
  text.replaceAll(UNPRINTABLE, (character) => (character === '\r' ? '␍' : spelled(character)));

/** Spells out control characters and line breaks, with which a target could forge a line. */
export const printableLine = (text: string): string => printable(text).replaceAll('\n', '␊');

/** Positions where a blank disables a CI command: `::command …::` (GitHub), `##[command]`, `##vso[…]` (Azure). */
const COMMANDS = new RegExp(`(?<=^(?:\\s|${'\u001b'}\\[[\\d;]*m)*:)(?=:\\s*[\\w-]+.*::)|(?<=##)(?=\\[|vso\\[)`, 'gim');

export const withoutCiCommands = (text: string): string => text.replaceAll(COMMANDS, ' ');

export const printableJson = (value: unknown, indent = 0): string =>
  JSON.stringify(value, null, indent).replaceAll(UNPRINTABLE, spelled);

export function printableValue<T>(value: T, spell: (text: string) => string = printable): T {
  if (typeof value === 'string') return spell(value) as T;
  if (Array.isArray(value)) return value.map((item) => printableValue(item, spell)) as T;
  if (value === null || typeof value !== 'object') return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [spell(key), printableValue(item, spell)])) as T;
}

export function bar(done: number, total: number, options: { columns?: number; paint?: Paint } = {}): string {
  const { columns = 20, paint = (_, text) => text } = options;
  const full = total <= 0 ? columns : Math.max(0, Math.min(columns, Math.round((done / total) * columns)));
  return paint('cyan', '█'.repeat(full)) + paint('dim', '░'.repeat(columns - full));
}

export function sparkline(values: readonly number[]): string {
  const highest = Math.max(...values, Number.MIN_VALUE);
  return values.map((value) => BARS[Math.round((Math.max(0, value) / highest) * (BARS.length - 1))]).join('');
}
const BARS = '▁▂▃▄▅▆▇█';

export const spinner = (count: number): string => SPINNER[count % SPINNER.length] ?? '';
const SPINNER = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏'];

export class LiveArea {
  readonly #output: Output;
  #drawn = 0;

  constructor(output: Output) {
    this.#output = output;
  }

  get live(): boolean {
    return this.#output.isTTY === true;
  }

  /** Cuts lines to the terminal's width, because a terminal cannot erase wrapped lines. */
  draw(lines: readonly string[]): void {
    if (!this.live) return;
    const columns = this.#output.columns ?? 80;
    // Removes colours from a cut line, because the cut may remove the code that ends a colour.
    const fit = (line: string): string =>
      width(line) <= columns ? line : `${[...stripVTControlCharacters(line)].slice(0, columns - 1).join('')}…`;
    this.#output.write(`${this.#erasing()}${lines.map(fit).join('\n')}`);
    this.#drawn = lines.length;
  }

  clear(): void {
    if (this.#drawn > 0) this.#output.write(this.#erasing());
    this.#drawn = 0;
  }

  line(text: string): void {
    this.clear();
    this.#output.write(`${text}\n`);
  }

  keep(): void {
    if (this.#drawn > 0) this.#output.write('\n');
    this.#drawn = 0;
  }

  #erasing(): string {
    if (this.#drawn === 0) return '';
    return `\r${this.#drawn > 1 ? `\u001b[${this.#drawn - 1}A` : ''}\u001b[J`;
  }
}
