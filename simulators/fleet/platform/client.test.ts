import { expect, test } from 'vitest';
import { masked } from './client.ts';

test('a key that is a word is masked only as a credential', () => {
  const platform = { apiKey: 'dev' };
  const text = 'GET /beta/devices?device_id=dvc_1 answered 404 to X-API-Key: dev';
  expect(masked(text, platform)).toBe('GET /beta/devices?device_id=dvc_1 answered 404 to X-API-Key: ***');
  expect(masked('bad key k7Q2-xW9z_Bf4vN8\u001b[2J', { apiKey: 'k7Q2-xW9z_Bf4vN8' })).toMatch(/^bad key \*\*\*\S/);
});
