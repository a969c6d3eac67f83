import { expect, test } from 'vitest';
import { heardIn } from './heard.ts';

test.each([
  ['{"saw":"event","id":9007199254740993,"type":"a.b","data":{}}', '9007199254740993'],
  ['{"saw":"event","id":"9007199254740993","type":"a.b","data":{}}', '9007199254740993'],
  ['{"id":7,"type":"a.b","data":null,"saw":"event"}', '7'],
  // Before the member that makes it a line of the contract, and inside of a payload.
  ['{"type":"a.b","id":12345678901234567890,"data":{"id":3},"saw":"event"}', '12345678901234567890'],
])('%s has the id %s', (text, id) => {
  expect(heardIn(text)).toMatchObject({ saw: 'event', id });
});

test('a payload keeps its numbers', () => {
  expect(heardIn('{"saw":"event","id":7,"type":"a.b","data":{"id":3,"saw":true}}')).toMatchObject({
    data: { id: 3, saw: true },
  });
});

test.each([
  '',
  'connected',
  '{"saw":"event"',
  '{"saw":"event","type":"a.b","data":1}',
  '[]',
  '{"saw":"nothing"}',
  'null',
])('%j is no line of the contract', (text) => {
  expect(heardIn(text)).toBeUndefined();
});

test.each(['{"saw":"gap"}', '{"saw":"end"}', '{"saw":"end","reason":"410","status":410}'])('%s is one', (text) => {
  expect(heardIn(text)?.saw).toBe(JSON.parse(text).saw);
});
