import { expect, test } from 'vitest';
import { headersIn } from './otlp.ts';
import { UsageError } from './usage.ts';

test('headers are percent-encoded', () => {
  expect(headersIn('api-key=a%20b, other=2')).toEqual({ 'api-key': 'a b', other: '2' });
});

test.each([
  ['other=1,api-key=50%off', 'the value of api-key must be percent-encoded, on one line'],
  ['api-key=a%0Ab', 'the value of api-key must be percent-encoded, on one line'],
  ['a=1,Bearer secret', 'header 2 must be name=value'],
  ['my secret=1', 'header 1 must be name=value'],
])('a wrong header is refused, and nothing of it is printed that may be secret: %s', (text, refused) => {
  expect(() => headersIn(text)).toThrow(new UsageError(`OTEL_EXPORTER_OTLP_HEADERS: ${refused}`));
});
