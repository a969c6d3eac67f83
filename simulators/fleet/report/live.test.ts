import { expect, it } from 'vitest';
import { judgedWith, tickWith } from '../result/testing/result.ts';
import { type LiveState, LiveView } from './live.ts';

const viewOn = (isTTY: boolean) => {
  const on = {
    text: '',
    isTTY,
    columns: 60,
    write(text: string): void {
      this.text += text;
    },
  };
  return { on, view: new LiveView(on) };
};
const state = (elapsedMs: number): LiveState => ({
  title: 'steady',
  phase: { number: 2, of: 4, name: 'hold' },
  elapsedMs,
  remainingMs: 30_000,
  errors: 1,
  trouble: undefined,
  violations: 0,
  thresholds: [
    { expr: 'ping.ms.p99<1s', value: 12.5, ok: true },
    { expr: 'rollout.missed.count==0', value: 2, ok: false },
  ],
  tick: tickWith({
    at_ms: elapsedMs,
    robots: { online: 4998, down: 2 },
    rates: { ping: 50, 'http.errors': 0 },
    p99: { 'ping.ms': 12.5 },
    loop_max_ms: 3,
  }),
});

it('the live view redraws on a terminal, within its width', () => {
  const { on, view } = viewOn(true);
  view.show(state(1000));
  const first = on.text;
  expect(first).toContain('online 4998');
  expect(first).toContain('ping.ms 12.5 ms');
  expect(first.split('\n').every((line) => line.length <= 60)).toBe(true);
  expect(first).not.toContain('…');
  for (const text of ['✓ ping.ms.p99<1s', '✗ rollout.missed.count==0', 'stall 3 ms', '1 s, 30 s to go'])
    expect(first.replaceAll(/\s+/g, ' ')).toContain(text);
  view.show(state(2000));
  expect(on.text.slice(first.length).startsWith(`\r\u001b[${first.split('\n').length - 1}A`)).toBe(true);
});

it('the live view writes a plain line every few seconds where there is no terminal', () => {
  const { on, view } = viewOn(false);
  for (let second = 0; second < 11; second += 1) view.show(state(second * 1000));
  expect(on.text).not.toContain('\u001b');
  expect(on.text.trim().split('\n')).toHaveLength(3);
  expect(on.text).toContain(
    'phase 2/4 hold · robots online 4998  down 2 · p99 ping.ms 12.5 ms · errors 1 · violations 0',
  );
});

it.each<[what: string, isTTY: boolean, change: Partial<LiveState>, words: RegExp]>([
  ['judged answers', true, { judged: judgedWith([{}]) }, /10 of 100 answers \(10 %\).*rules\s+broken\s+1/s],
  ['broken rules', false, { judged: judgedWith([{}]) }, /rules broken 1/],
  ['no broken rules', true, { judged: judgedWith([]) }, /^(?!.*rules broken)/s],
  ['why robots are away', true, { trouble: 'connect ECONNREFUSED' }, /not online: connect ECONNREFUSED/],
  ['why robots are away', false, { trouble: 'connect ECONNREFUSED' }, /not online: connect ECONNREFUSED/],
])('the live view shows %s (terminal: %s)', (_what, isTTY, change, words) => {
  const { on, view } = viewOn(isTTY);
  view.show({ ...state(1000), ...change });
  expect(on.text).toMatch(words);
});

it('the live view shows how fast robots start, and the remaining time', () => {
  const { on, view } = viewOn(true);
  const ramp = (elapsedMs: number, online: number): LiveState => {
    const of = state(elapsedMs);
    const tick = { ...of.tick, robots: { online, waiting: 100 - online }, rates: {} };
    return { ...of, tick, phase: { number: 1, of: 2, name: 'ramp' } };
  };
  view.show(ramp(1000, 10));
  view.show(ramp(3000, 50));
  expect(on.text.replaceAll(/\s+/g, ' ')).toContain('online 50 waiting 50 20/s, 2.5 s left');
});
