import { stripVTControlCharacters } from 'node:util';
import fc from 'fast-check';
import { expect, it, test } from 'vitest';
import { Display } from './display.ts';
import { escapeAttribute, escapeText, html } from './html.ts';
import { bar, cutTo, hanging, LiveArea, type Output, painter, width, wrap } from './terminal.ts';
import { decades, ticks } from './units.ts';

class Terminal implements Output {
  isTTY = true;
  columns = 20;
  readonly lines = [''];
  #row = 0;
  #column = 0;

  write(text: string): void {
    // biome-ignore lint/suspicious/noControlCharactersInRegex: a terminal is told what to do by them
    for (const [part] of text.matchAll(/\u001b\[(\d*)([AJ])|[\r\n]|[^\u001b\r\n]+/g)) this.#obey(part);
  }

  #obey(part: string): void {
    if (part === '\r') this.#column = 0;
    else if (part === '\n') {
      this.#row += 1;
      this.#column = 0;
      this.lines[this.#row] ??= '';
    } else if (part.endsWith('A') && part.startsWith('\u001b')) this.#row -= Number(part.slice(2, -1));
    else if (part === '\u001b[J') {
      this.lines.length = this.#row + 1;
      this.lines[this.#row] = (this.lines[this.#row] ?? '').slice(0, this.#column);
    } else {
      this.lines[this.#row] = (this.lines[this.#row] ?? '').slice(0, this.#column) + part;
      this.#column += part.length;
    }
  }
}

it('a live area redraws in place when it grows or shrinks', () => {
  const terminal = new Terminal();
  const area = new LiveArea(terminal);
  area.line('before');
  area.draw(['one']);
  area.draw(['one', 'two', 'three']);
  area.draw(['four', 'five']);
  expect(terminal.lines).toEqual(['before', 'four', 'five']);
  area.clear();
  area.clear();
  expect(terminal.lines).toEqual(['before', '']);
});

it('a live area keeps lines above it, and its own lines once kept', () => {
  const terminal = new Terminal();
  const area = new LiveArea(terminal);
  area.draw(['10 %']);
  area.line('a line that stays');
  area.draw(['20 %', 'x']);
  area.keep();
  area.draw(['next']);
  expect(terminal.lines).toEqual(['a line that stays', '20 %', 'x', 'next']);
});

it('a live area cuts lines wider than the terminal, without counting colours', () => {
  const terminal = new Terminal();
  const paint = painter(terminal, { FORCE_COLOR: '1' });
  new LiveArea(terminal).draw(['x'.repeat(21)]);
  expect(terminal.lines).toEqual([`${'x'.repeat(19)}…`]);
  const said: string[] = [];
  const wide = new LiveArea({ isTTY: true, columns: 20, write: (text) => said.push(text) });
  wide.draw([paint('red', 'x'.repeat(20)), paint('red', 'y'.repeat(21))]);
  expect(said.join('')).toBe(`${paint('red', 'x'.repeat(20))}\n${'y'.repeat(19)}…`);
});

it('a live area writes only permanent lines where there is no terminal', () => {
  const said: string[] = [];
  const area = new LiveArea({ write: (text) => said.push(text) });
  area.draw(['unseen']);
  area.line('seen');
  area.draw(['unseen']);
  area.keep();
  area.clear();
  expect(said).toEqual(['seen\n']);
});

test('a bar is readable without colours and has a constant length', () => {
  expect([0, 5, 10].map((done) => bar(done, 10, { columns: 4 }))).toEqual(['░░░░', '██░░', '████']);
  expect([bar(11, 10), bar(-1, 10), bar(0, 0)].map(width)).toEqual([20, 20, 20]);
  const paint = painter({ write: () => {} }, { FORCE_COLOR: '1' });
  expect(stripVTControlCharacters(bar(1, 2, { columns: 4, paint }))).toBe('██░░');
});

test('text wraps at spaces, and text beside a label keeps its column', () => {
  expect(wrap('aa bb\ncc dddddd', 5)).toEqual(['aa bb', 'cc', 'dddddd']);
  expect(hanging('to', ['one', 'two', ''], 2, 4)).toEqual(['  to  one', '      two', '']);
  expect(cutTo('one\n  two three', 7)).toBe('one tw…');
});

const COLUMNS = 60;
const screen = (isTTY: boolean): Output & { text: string } => ({
  text: '',
  isTTY,
  columns: COLUMNS,
  write(text: string) {
    this.text += text;
  },
});

it('the display keeps all lines of long rows within 60 columns, beside their label', () => {
  const on = screen(true);
  const display = new Display(on, { labels: 16 });
  display.row('✓ robots', '200/200 online, each with a socket, an event log and config files of its own  2.1 s');
  const lines = on.text.trimEnd().split('\n');
  expect(lines.length).toBeGreaterThan(1);
  expect(lines[0]).toMatch(/^ {2}✓ robots {8}200\/200/);
  for (const line of lines.slice(1)) expect(line).toMatch(/^ {18}\S/);
  expect(lines.every((line) => line.length <= COLUMNS)).toBe(true);
});

it('the display shows the count, the rate, the remaining time and the current work', () => {
  const on = screen(true);
  const display = new Display(on, { labels: 16 });
  display.progress('device API', 0, 100, { nowMs: 0 });
  display.progress('device API', 20, 100, { nowMs: 2000, doing: 'device.events.replay' });
  const [line = ''] = on.text.split('\r').slice(-1);
  expect(line).toContain('20/100  10/s, 8 s left');
  expect([...line.replace('\u001b[J', '')].length).toBeLessThanOrEqual(COLUMNS);
});

it('the display starts a new rate for another label', () => {
  const on = screen(true);
  const display = new Display(on, { labels: 9 });
  display.progress('keys', 1000, 1000, { nowMs: 1000 });
  display.progress('robots', 0, 10, { nowMs: 2000 });
  display.progress('robots', 5, 10, { nowMs: 7000 });
  expect(on.text).toContain('5/10  1/s, 5 s left');
});

it('the display reports completion once where there is no terminal', () => {
  const on = screen(false);
  const display = new Display(on, { labels: 9 });
  display.progress('robots', 9, 10, { nowMs: 0 });
  display.progress('robots', 10, 10, { nowMs: 100 });
  display.progress('robots', 10, 10, { nowMs: 9000 });
  expect(on.text.match(/10\/10/g)).toHaveLength(1);
});

it('axis ticks are round numbers within the axis', () => {
  expect(ticks(0, 100, 5)).toEqual([0, 20, 40, 60, 80, 100]);
  expect(ticks(3, 11, 4)).toEqual([4, 6, 8, 10]);
  expect(ticks(0, 0.3, 3)).toEqual([0, 0.1, 0.2, 0.3]);
  expect(ticks(5, 5, 3)).toEqual([5]);
  expect(decades(0.3, 200)).toEqual([0.1, 1, 10, 100, 1000]);
  expect(decades(1, 1)).toEqual([1, 10]);
});

it('axis ticks stay within the axis, and within the wanted number', () => {
  const bound = fc.double({ min: 0, max: 1e9, noNaN: true });
  fc.assert(
    fc.property(
      bound,
      fc.double({ min: 1e-3, max: 1e9, noNaN: true }),
      fc.integer({ min: 2, max: 12 }),
      (from, length, wanted) => {
        const marks = ticks(from, from + length, wanted);
        expect(marks.length).toBeLessThanOrEqual(wanted + 1);
        for (const mark of marks)
          expect(mark >= from - length * 1e-6 - from * 1e-9 && mark <= (from + length) * (1 + 1e-9)).toBe(true);
      },
    ),
  );
});

test('inserted text opens no tag, ends no attribute and begins no entity', () => {
  fc.assert(
    fc.property(fc.string({ unit: fc.constantFrom('<', '>', '&', '"', "'", 'a', ';', '#') }), (text) => {
      const { markup } = html`${text}`;
      expect(markup).not.toMatch(/[<>"']/);
      expect(markup).not.toMatch(/&(?!(amp|lt|gt|quot|#39);)/);
      expect(unescaped(markup)).toBe(text);
      expect(escapeAttribute(text)).toBe(markup);
      expect(unescaped(escapeText(text))).toBe(text);
    }),
  );
});

/** Replaces `&amp;` last, so that no text is unescaped twice. */
const unescaped = (markup: string): string =>
  markup
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&quot;', '"')
    .replaceAll('&#39;', "'")
    .replaceAll('&amp;', '&');
