import { createServer } from 'node:http';
import { expect, test } from 'vitest';
import { clientOf } from '../client/testing/served.ts';
import { allOf, NoListError } from './records.ts';

test('a list that repeats its pages is read once', async () => {
  const answer = JSON.stringify({ data: [{ id: 'dvc_1' }], has_more: true });
  let asked = 0;
  const server = createServer((_request, response) => {
    asked += 1;
    response.end(answer);
  });
  expect(await allOf(await clientOf(server), '/devices')).toEqual([{ id: 'dvc_1' }]);
  expect(asked).toBe(2);
});

test('a list with an item that is no record is refused', async () => {
  const server = createServer((_request, response) => response.end('{"data":[null]}'));
  await expect(allOf(await clientOf(server), '/devices')).rejects.toThrow(NoListError);
});
