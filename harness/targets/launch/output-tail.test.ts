import { expect, test } from 'vitest';
import { Redactor } from '../../client/redact.ts';
import { OutputTail } from './output-tail.ts';

const SECRET = 'k7Q2-xW9z_Bf4vN8';

test('keeps the end, and marks that the beginning is missing', () => {
  const tail = new OutputTail(5);
  tail.add('abc');
  expect(tail.text).toBe('abc');
  tail.add('defg');
  expect(tail.text).toBe('…cdefg');
});

test('masks a secret that the cut goes through, in whatever pieces it came', () => {
  const redactor = new Redactor();
  redactor.add(SECRET);
  for (let kept = 0; kept <= SECRET.length + 1; kept += 1) {
    for (let piece = 1; piece <= SECRET.length; piece += 5) {
      const tail = new OutputTail(100);
      const said = `${'a'.repeat(200)}${SECRET}${'.'.repeat(100 - kept)}`;
      for (let at = 0; at < said.length; at += piece) tail.add(said.slice(at, at + piece));
      const shown = redactor.text(tail.text);
      for (let at = 0; at + 4 <= SECRET.length; at += 1) expect(shown).not.toContain(SECRET.slice(at, at + 4));
    }
  }
});
