import { expect, it } from 'vitest';
import { Bytes } from '../common/bytes.ts';
import { Recent } from './sse.ts';

it('keeps everything until it was read, and then the newest by what they cost', () => {
  const recent = new Recent<number>(100, (item) => item);
  for (let item = 1; item <= 40; item += 1) recent.push(item);
  expect([recent.length, recent.dropped, recent.unreadCost]).toEqual([40, 0, 820]);
  recent.read(39);
  expect(recent.unreadCost).toBe(40);
  expect([...recent].at(-1)).toBe(40);
  expect([...recent].reduce((sum, item) => sum + item, 0)).toBeLessThanOrEqual(140);
  expect(recent.dropped).toBeGreaterThan(0);
  expect(recent.length).toBe(40);
});

it('counts from the first that ever came', () => {
  const recent = new Recent<string>(4, () => 1);
  for (const item of 'abcdefgh') recent.push(item);
  recent.read(8);
  expect(recent.dropped).toBe(5);
  expect([0, 4, 5, 7, 8, -1, -3].map((index) => recent.at(index))).toEqual([
    ...[undefined, undefined, 'f', 'h', undefined],
    ...['h', 'f'],
  ]);
  expect(recent.at(-4)).toBeUndefined();
  expect(recent.slice(0).join('')).toBe('fgh');
  expect(recent.slice(6).join('')).toBe('gh');
  expect(recent.slice(9)).toEqual([]);
  expect(recent.findLast((item) => item < 'h')).toBe('g');
  expect(recent.filter((item) => item > 'f').join('')).toBe('gh');
});

it('bytes that come one by one take little more than their number', () => {
  const bytes = new Bytes(1000);
  for (let index = 0; index < 1000; index += 1) expect(bytes.append(Buffer.from([index % 256]))).toBe(true);
  expect(bytes.view()[999]).toBe(999 % 256);
  expect(bytes.view().buffer.byteLength).toBeLessThanOrEqual(1024);
  expect(bytes.append(Buffer.from('x'))).toBe(false);
  bytes.drop(998);
  expect([...bytes.view()]).toEqual([998 % 256, 999 % 256]);
  expect(bytes.append(Buffer.alloc(999))).toBe(false);
  expect(bytes.length).toBe(1000);
  bytes.clear();
  expect(bytes.view().length).toBe(0);
});
