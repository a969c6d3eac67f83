import { expect, test } from 'vitest';
import { excerpt, telling, tellingMost } from './excerpt.ts';

const item = (number: number, more = ''): string => `{"object":"device","id":"dvc_${number}","name":"robot"${more}}`;
const list = (count: number, wrong: number, more: string): string =>
  `{"data":[${Array.from({ length: count }, (_, at) => item(at, at === wrong ? more : '')).join(',')}]}`;

test.each([0, 1, 40, 98, 99])('an excerpt shows the part that a finding names: item %i', (wrong) => {
  const body = list(100, wrong, ',"status":"exploded"');
  const about = telling({ expected: 'one of "online", "offline"', actual: `"exploded" as status of dvc_${wrong}` });
  const shown = excerpt(body, 400, about);
  expect(shown).toContain(item(wrong, ',"status":"exploded"'));
  expect(shown.length).toBeLessThanOrEqual(402);
  expect(shown.startsWith('…')).toBe(wrong > 1);
  expect(shown.endsWith('…')).toBe(wrong < 98);
});

test('an excerpt prefers text that differs between expected and actual', () => {
  const event = (id: number, at: string): string => `id: ${id}\ndata: {"id":${id},"occurred_at":"${at}","data":{}}\n\n`;
  const body = Array.from({ length: 50 }, (_, at) => event(at, at === 30 ? '2026-01-01T00:00:00Z' : 'now')).join('');
  const [wrong, right] = ['2026-01-01T00:00:00Z', '2026-11-25T07:01:54Z'].map((at) => event(30, at));
  const about = telling({ expected: `event 30 as it was sent before: ${right}`, actual: `${wrong}` });
  expect(excerpt(body, 200, about)).toContain(event(30, '2026-01-01T00:00:00Z'));
});

test('an excerpt shows a value of expected when actual has no other', () => {
  const body = Array.from({ length: 50 }, (_, at) => `id: ${at + 10}\nevent: a.b\n\n`).join('');
  const about = telling({ expected: 'event 11, the first retained after 10', actual: 'event 10' });
  expect(excerpt(body, 100, about)).toContain('id: 10\n');
});

test('an excerpt follows the words of a finding, not its quoted value', () => {
  const body = `{"padding":"${'x'.repeat(300)}","created_at":17,"more":"${'y'.repeat(300)}"}`;
  const about = telling({ expected: 'a Deployment', actual: `/created_at must be string in ${body}` });
  expect(excerpt(body, 100, about)).toContain('"created_at":17');
});

test('an excerpt shows the neighbours of a missing number', () => {
  const ids = Array.from({ length: 400 }, (_, at) => at + 1).filter((id) => id !== 251);
  const body = ids.map((id) => `id: ${id}\nevent: a.b\n\n`).join('');
  const about = telling({ expected: 'the events [1, 2, 3, … 399, 400] (400)', actual: '[1, 2, … 400], missing [251]' });
  expect(excerpt(body, 100, about)).toContain('id: 250\nevent: a.b\n\nid: 252\n');
});

test('an excerpt without a match shows the beginning', () => {
  expect(excerpt('word '.repeat(100), 20, telling({ expected: '200', actual: '500' }))).toBe('word word word word …');
});

test('an excerpt splits no character, and takes little time', () => {
  const faces = '😀'.repeat(300);
  const shown = excerpt(`${faces} wrong ${faces}😀`, 51, telling({ expected: '', actual: 'wrong' }));
  expect(shown.isWellFormed()).toBe(true);
  expect(shown).toContain(' wrong ');
  const numbers = Array.from({ length: 300_000 }, (_, at) => at).join(' ');
  const started = performance.now();
  expect(excerpt(numbers, 100, telling({ actual: '299000' }))).toContain(' 299000 ');
  expect(performance.now() - started).toBeLessThan(10_000);
});

test('tellingMost selects the texts with distinctive words, and the last ones', () => {
  const texts = Array.from(
    { length: 20 },
    (_, at) => `GET /devices 200 ${at === 4 ? '2026-05-03.rainier' : 'x'} ${at}`,
  );
  const shown = (actual: string, most = 3): string[] =>
    tellingMost(texts, (text) => text, most, telling({ actual })).map((text) => text.split(' ').at(-1) ?? '');
  expect(shown('Service-Version: 2026-05-03.rainier in GET /devices')).toEqual(['4', '18', '19']);
  expect(shown('nothing')).toEqual(['17', '18', '19']);
  expect(shown('GET /devices answered 7 with 200')).toEqual(['7', '18', '19']);
  expect(shown('GET', 30)).toHaveLength(20);
});
