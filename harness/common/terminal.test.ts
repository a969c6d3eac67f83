import { stripVTControlCharacters } from 'node:util';
import { describe, expect, it, test } from 'vitest';
import { bar, cutTo, hanging, LiveArea, type Output, painter, printable, spinner, width, wrap } from './terminal.ts';

/** What a terminal of some lines shows after everything that was written, as far as these tests need one. */
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

describe('a live area', () => {
  it('is drawn again in place, whether it grows or shrinks', () => {
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

  it('leaves lines above it, and itself when it is kept', () => {
    const terminal = new Terminal();
    const area = new LiveArea(terminal);
    area.draw(['10 %']);
    area.line('a line that stays');
    area.draw(['20 %', 'x']);
    area.keep();
    area.draw(['next']);
    expect(terminal.lines).toEqual(['a line that stays', '20 %', 'x', 'next']);
  });

  it('cuts what is wider than the terminal, colours not counted', () => {
    const terminal = new Terminal();
    const paint = painter(terminal, { FORCE_COLOR: '1' });
    const area = new LiveArea(terminal);
    area.draw(['x'.repeat(21)]);
    expect(terminal.lines).toEqual([`${'x'.repeat(19)}…`]);
    const said: string[] = [];
    const wide = new LiveArea({ isTTY: true, columns: 20, write: (text) => said.push(text) });
    wide.draw([paint('red', 'x'.repeat(20)), paint('red', 'y'.repeat(21))]);
    expect(said.join('')).toBe(`${paint('red', 'x'.repeat(20))}\n${'y'.repeat(19)}…`);
  });

  it('writes nothing but lines that stay where there is no terminal', () => {
    const said: string[] = [];
    const area = new LiveArea({ write: (text) => said.push(text) });
    area.draw(['unseen']);
    area.line('seen');
    area.draw(['unseen']);
    area.keep();
    area.clear();
    expect(said).toEqual(['seen\n']);
  });
});

test('a bar can be read without colours, and has one length whatever is done', () => {
  expect([0, 5, 10].map((done) => bar(done, 10, { columns: 4 }))).toEqual(['░░░░', '██░░', '████']);
  expect([bar(11, 10), bar(-1, 10), bar(0, 0)].map(width)).toEqual([20, 20, 20]);
  const paint = painter({ write: () => {} }, { FORCE_COLOR: '1' });
  expect(stripVTControlCharacters(bar(1, 2, { columns: 4, paint }))).toBe('██░░');
});

test('a spinner goes round', () => {
  expect(new Set(Array.from({ length: 40 }, (_, at) => spinner(at))).size).toBe(10);
  expect(spinner(10)).toBe(spinner(0));
});

test('text is broken at spaces, and what hangs beside a label keeps its column', () => {
  expect(wrap('aa bb\ncc dddddd', 5)).toEqual(['aa bb', 'cc', 'dddddd']);
  expect(hanging('to', ['one', 'two', ''], 2, 4)).toEqual(['  to  one', '      two', '']);
  expect(cutTo('one\n  two three', 7)).toBe('one tw…');
});

test('control characters are spelled out', () => {
  expect(printable('a\u001b[2J\u0007\r\n\tb\u009b')).toBe('a\\u001b[2J\\u0007␍\n\tb\\u009b');
});
