/** Words that are secrets are masked where they stand as one, and left alone where they are words. */
import { describe, expect, it } from 'vitest';
import { Redactor } from './redact.ts';

function knowing(...secrets: string[]): Redactor {
  const redactor = new Redactor();
  for (const secret of secrets) redactor.add(secret);
  return redactor;
}

describe('a secret of ordinary words', () => {
  const redactor = knowing('limited', 'dev', 'key', 'dev-key', 'p@ss w"', '7');
  redactor.add('deployment', 'MUSTER_API_KEY');

  it.each([
    'muster check platform --url http://x --limited-key "$MUSTER_LIMITED_KEY" --only platform.scope.limited --seed 7',
    'a limited number of deployments for developers; the key is to try 7 of 17',
    '{"object":"deployment","id":"dpl_7","limit":7,"key_id":"dev"}',
    'GET /devices?limit=7&order_by=key',
    'the limited key: limited-keys are for developers',
  ])('leaves %s as it is', (text) => {
    expect(redactor.text(text)).toBe(text);
  });

  it.each([
    ['Authorization: Bearer limited', 'Authorization: Bearer ***'],
    ["-H 'x-api-key: dev' http://x/dev", "-H 'x-api-key: ***' http://x/dev"],
    ['--limited-key limited --api-key=dev-key', '--limited-key *** --api-key=***'],
    ['{"token":"deployment","note":"deployment"}', '{"token":"***","note":"deployment"}'],
    ['{\\"access_token\\": \\"limited\\"}', '{\\"access_token\\": \\"***\\"}'],
    ['?api_key=p%40ss%20w%22&limit=7', '?api_key=***&limit=7'],
    ['MUSTER_API_KEY=key muster', 'MUSTER_API_KEY=*** muster'],
    ['password: 7', 'password: ***'],
  ])('is masked as the value of a credential: %s', (text, masked) => {
    expect(redactor.text(text)).toBe(masked);
  });

  it('is masked in the fields of a report, and in headers', () => {
    expect(
      redactor.value({ api_key: 'limited', requirement: 'limited', more: [{ token: 'dev', type: 'dev' }] }),
    ).toEqual({
      api_key: '***',
      requirement: 'limited',
      more: [{ token: '***', type: 'dev' }],
    });
    expect(redactor.headers({ 'X-API-Key': 'limited', accept: 'limited' })).toEqual({
      'X-API-Key': '***',
      accept: 'limited',
    });
    expect(redactor.variable('deployment')).toBe('MUSTER_API_KEY');
  });
});

it('the beginning of a secret is no word', () => {
  const redactor = knowing('Deployment2026', 'platform-key-9f3');
  const text = 'Deployment of a platform-key, device.deployment; Deployments';
  expect(redactor.text(text)).toBe(text);
  expect(redactor.text('Deployment2026 and platform-key-9f3')).toBe('*** and ***');
});
