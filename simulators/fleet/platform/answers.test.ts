import { expect, test } from 'vitest';
import { AnswerSampler, type AnswersTold, type Exchange } from './answers.ts';

const KEY = 'mk_k7Q2xW9zBf4vN8aa';
const headers = { 'X-Tenant': 'acme' };
const platform = { url: 'http://localhost/beta', agentUrl: 'http://localhost', apiKey: KEY, headers };
const WHOLE = { 'content-length': '2', 'content-type': 'application/json', 'set-cookie': 'a=b' };

function sampled(bytesPerSecond: number) {
  const told: AnswersTold[] = [];
  const tell = (each: AnswersTold): void => void told.push(each);
  const sampler = new AnswerSampler({ platform, bytesPerSecond, phase: () => '2-hold', tell });
  const take = (path: string, { body = '{}', sent, headers: answered = WHOLE, status = 200 }: Given = {}): void =>
    sampler.take(
      { method: 'GET', path, headers: { ...headers, 'X-API-Key': KEY, 'service-version': '1' }, body: sent },
      { status, headers: answered, bytes: Buffer.from(body) },
      5,
    );
  return { sampler, take, told, exchanges: (): Exchange[] => told.flatMap(({ exchange }) => exchange ?? []) };
}

interface Given {
  body?: string;
  sent?: string;
  headers?: Record<string, string>;
  status?: number;
}

test('an exchange is reported whole, with its phase, and with key and own headers masked', () => {
  const { take, told } = sampled(1e6);
  take('/devices?limit=1', { body: `{"echo":"${KEY}"}`, sent: `{"key":"${KEY}"}` });
  expect(told).toEqual([
    {
      answers: 1,
      exchange: {
        ...{ at: expect.any(Number), ms: 5, method: 'GET', path: '/devices?limit=1', status: 200, phase: '2-hold' },
        headers: { 'x-tenant': '***', 'x-api-key': '***', 'service-version': '1' },
        answered: { 'content-type': 'application/json' },
        ...{ body: '{"echo":"***"}', sent: '{"key":"***"}' },
      },
    },
  ]);
});

test('tokens, encoded and possibly cut answers are counted, not reported', () => {
  const { sampler, take, told } = sampled(1e6);
  take('/provisioning_tokens', { body: '{"token":"t"}' });
  take('/devices', { headers: { ...WHOLE, 'content-encoding': 'gzip' } });
  take('/devices', { headers: { 'content-type': 'application/json' } });
  take('/devices', { body: 'x'.repeat(2 ** 20 + 1) });
  expect(told).toEqual([]);
  sampler.flush();
  sampler.flush();
  expect(told).toEqual([{ answers: 4 }]);
});

test('without room, the first of each kind are reported, and all are counted', () => {
  const { sampler, take, told, exchanges } = sampled(0);
  for (let count = 0; count < 50; count += 1) {
    take('/devices?limit=1');
    take(`/devices/dvc_${count}`);
  }
  take('/devices', { status: 503 });
  sampler.flush();
  const kinds = exchanges().map(({ path, status }) => `${status} ${path.replace(/_\d+/, '')}`);
  expect(kinds).toEqual([
    ...Array.from({ length: 3 }, () => ['200 /devices?limit=1', '200 /devices/dvc']).flat(),
    '503 /devices',
  ]);
  expect(told.reduce((sum, { answers }) => sum + answers, 0)).toBe(101);
});
