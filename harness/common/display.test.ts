import { describe, expect, it } from 'vitest';
import { Display } from './display.ts';
import type { Output } from './terminal.ts';

const COLUMNS = 60;
const screen = (isTTY: boolean): Output & { text: string } => ({
  text: '',
  isTTY,
  columns: COLUMNS,
  write(text: string) {
    this.text += text;
  },
});

describe('the display', () => {
  it('keeps every line of long rows within 60 columns, beside their label', () => {
    const on = screen(true);
    const display = new Display(on, { labels: 16 });
    display.row('✓ robots', '200/200 online, each with a socket, an event log and config files of its own  2.1 s');
    const lines = on.text.trimEnd().split('\n');
    expect(lines.length).toBeGreaterThan(1);
    expect(lines[0]).toMatch(/^ {2}✓ robots {8}200\/200/);
    for (const line of lines.slice(1)) expect(line).toMatch(/^ {18}\S/);
    expect(lines.every((line) => line.length <= COLUMNS)).toBe(true);
  });

  it('shows what is done, its rate, what is left, and what it is at', () => {
    const on = screen(true);
    const display = new Display(on, { labels: 16 });
    display.progress('device API', 0, 100, { nowMs: 0 });
    display.progress('device API', 20, 100, { nowMs: 2000, doing: 'device.events.replay' });
    const [line = ''] = on.text.split('\r').slice(-1);
    expect(line).toContain('20/100  10/s, 8 s left');
    expect([...line.replace('\u001b[J', '')].length).toBeLessThanOrEqual(COLUMNS);
  });

  it('counts the rate of another label anew', () => {
    const on = screen(true);
    const display = new Display(on, { labels: 9 });
    display.progress('keys', 1000, 1000, { nowMs: 1000 });
    display.progress('robots', 0, 10, { nowMs: 2000 });
    display.progress('robots', 5, 10, { nowMs: 7000 });
    expect(on.text).toContain('5/10  1/s, 5 s left');
  });

  it('says once that all is done, where there is no terminal', () => {
    const on = screen(false);
    const display = new Display(on, { labels: 9 });
    display.progress('robots', 9, 10, { nowMs: 0 });
    display.progress('robots', 10, 10, { nowMs: 100 });
    display.progress('robots', 10, 10, { nowMs: 9000 });
    expect(on.text.match(/10\/10/g)).toHaveLength(1);
  });
});
