/** No secret is in what the console shows, wherever it stood; what is none stays as it is. */

import { expect, it } from 'vitest';
import { TrafficRedactor } from './redact.ts';

const KEY = `k7Q2/xW9"z Bf4v`;
const mask = new TrafficRedactor([KEY, 'dev']);

it.each([
  [`{"name":"robot ${JSON.stringify(KEY).slice(1, -1)}"}`, false],
  [`{"token":"s3cr3t","note":"n"}`, false],
  [`{"data":[{"content":"{\\"wifi_password\\":\\"s3cr3t\\"}"}]}`, false],
  [`{"data":[{"content":"{\\"wifi_password\\":\\"s3cr3t`, true],
  [`{"access_token": "s3cr3t\\"s3cr3t", "name": "cut`, true],
  [`{"secret":"s3cr3t`, true],
  ['Authorization: Bearer s3cr3t', false],
  ['eyJhbGciOiJIUzI1NiJ9.s3cr3t.s3cr3t', false],
])('masks %s', (text, cut) => {
  const shown = mask.body(text, cut);
  expect(shown).not.toMatch(/s3cr3t|k7Q2/);
  expect(shown).toContain('***');
});

const LONG = 300_000;
it.each([
  ['a query without =', () => mask.url(`/x?${'a'.repeat(LONG)}`)],
  ['names that never end', () => mask.url(`/x?${'token'.repeat(LONG / 5)}!=`)],
  ['beginnings of tokens', () => mask.text('eyJ-'.repeat(LONG / 4))],
  ['dots', () => mask.text('eyJa.'.repeat(LONG / 5))],
  ['backslashes', () => mask.body('\\'.repeat(LONG), true)],
  ['backslashes in a member', () => mask.body(`\\"token\\":\\"${'\\'.repeat(LONG)}`, true)],
  ['members', () => mask.body('\\"token\\":\\"'.repeat(LONG / 13), true)],
  ['quotes', () => mask.body('"'.repeat(LONG), true)],
  ['a name without an end', () => mask.body(`"${'token'.repeat(LONG / 5)}`, true)],
  ['blanks', () => mask.text(`Bearer${' '.repeat(LONG)}`)],
])('reads %s once', (_, work) => {
  const began = performance.now();
  work();
  // Some milliseconds; what goes over it again and again takes minutes.
  expect(performance.now() - began).toBeLessThan(20_000);
});

it('masks what stands in a URL or a header', () => {
  expect(mask.url(`/x?name=${encodeURIComponent(KEY)}&limit=3`)).toBe('/x?name=***&limit=3');
  expect(mask.url('/x?api_key=s3cr3t&name=dev')).toBe('/x?api_key=***&name=dev');
  expect(mask.url('/x?a=1?&token=a=b&c&dev=2')).toBe('/x?a=1?&token=***&c&dev=2');
  expect(mask.header('X-API-Key', 'dev')).toBe('***');
  expect(mask.header('x-auth-token', 'dev')).toBe('***');
  expect(mask.header('x-other', `${KEY} dev`)).toBe('*** dev');
});

it('changes no path and no word for a key that is a word', () => {
  expect(mask.url('/beta/devices/dvc_1?order_by=dev')).toBe('/beta/devices/dvc_1?order_by=dev');
  expect(mask.text('POST /devices answered 404: the device dev is unknown')).toContain(
    '/devices answered 404: the dev',
  );
  expect(mask.body('{"api_key":"dev","name":"dev"}', false)).toBe('{"api_key":"***","name":"dev"}');
});

it.each(['{"slot_key":"main","device":"dvc_1","development":7}', '{"key":"value"}', 'deployments of developers'])(
  'leaves %s as it is',
  (text) => {
    expect(mask.body(text, false)).toBe(text);
    expect(mask.body(text, true)).toBe(text);
  },
);

it.each([
  '{"id":9223372036854775807,"a":1e3,"b":1.0,"a":-0,"text":"\\u00e9\\/"}',
  '  [1e3, 1.0,\n 1234567890123456789 ]',
  '{"key":"lidar-360-front"}',
])('changes no number and no space of %s', (text) => expect(mask.body(text, false)).toBe(text));

it('masks members and leaves all else as it was written', () => {
  expect(mask.body('{"id": 9223372036854775807, "token": {"a":[1]}, "b":1.0}', false)).toBe(
    '{"id": 9223372036854775807, "token": "***", "b":1.0}',
  );
  expect(mask.body('{"key":"mk_0123456789abcdef","access_key":"x","n":1e3}', false)).toBe(
    '{"key":"***","access_key":"***","n":1e3}',
  );
});

it.each([
  ['a form', () => mask.body('grant_type=x&client_secret=s3cr3t&a=1', false)],
  ['Location', () => mask.header('Location', 'https://x/y?a=1&access_token=s3cr3t#z')],
  ['Referer', () => mask.header('Referer', 'https://x/?key=s3cr3t0-1')],
  ['X-Secret-Key', () => mask.header('X-Secret-Key', 's3cr3t')],
  ['?access_key=', () => mask.url('/x?access_key=s3cr3t&b=2')],
  ['?key=', () => mask.url('/x?key=s3cr3t0-1')],
])('masks %s', (_, shown) => {
  expect(shown()).not.toContain('s3cr3t');
  expect(shown()).toContain('***');
});

it('knows a thousand secrets as they are, and no word', () => {
  const many = new TrafficRedactor();
  for (let index = 0; index < 1500; index += 1) many.addWord(`mk_${100_000 + index}`);
  many.addWord('deployments');
  expect(many.text('mk_101499 mk_100500 deployments')).toBe('*** *** deployments');
  expect(many.text('mk_100000')).toBe('mk_100000');
});
