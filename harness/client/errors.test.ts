import { expect, test } from 'vitest';
import { classify, LimitReached, NoAnswer, Unreachable } from './errors.ts';
import { talking } from './testing/served.ts';

const withCode = (code: string, more: object = {}): Error => Object.assign(new Error(code), { code, ...more });

const limits = ['EMFILE', 'ENFILE', 'ENOBUFS', 'ENOMEM', 'EADDRNOTAVAIL', 'ENOSPC'];
test.each(limits)('an error of code %s is a limit of this machine', (code) => {
  const error = classify(withCode(code, { syscall: 'connect' }), 'GET /health');
  expect(error).toBeInstanceOf(LimitReached);
  expect(error.message).toContain(code);
});

const faults = ['ECONNRESET', 'EPIPE', 'ETIMEDOUT', 'HPE_INVALID_CONSTANT', 'HPE_HEADER_OVERFLOW'];
test.each<[Error, 'Unreachable' | 'NoAnswer']>([
  [withCode('ECONNREFUSED', { syscall: 'connect' }), 'Unreachable'],
  [withCode('ETIMEDOUT', { syscall: 'connect' }), 'Unreachable'],
  [withCode('EPROTO'), 'Unreachable'],
  [withCode('ERR_TLS_CERT_ALTNAME_INVALID'), 'Unreachable'],
  [withCode('DEPTH_ZERO_SELF_SIGNED_CERT'), 'Unreachable'],
  [new TypeError('fetch failed', { cause: withCode('UNABLE_TO_VERIFY_LEAF_SIGNATURE') }), 'Unreachable'],
  ...faults.map((code): [Error, 'NoAnswer'] => [withCode(code), 'NoAnswer']),
])('an error like %s means that there is no connection, or is held against the target: %s', (error, kind) => {
  expect(classify(error, 'GET /health')).toBeInstanceOf({ Unreachable, NoAnswer }[kind]);
});

const ours = [withCode('ERR_INVALID_CHAR'), new TypeError('x is not a function')];
test.each(ours)('an error like %s is a fault in Muster and stays unchanged', (error) => {
  expect(classify(error, 'GET /health')).toBe(error);
});

test('an answer that is no HTTP is held against the target', async () => {
  const http = await talking((socket) => socket.end('what?\r\n\r\n'));
  await expect(http.get('/')).rejects.toBeInstanceOf(NoAnswer);
});
