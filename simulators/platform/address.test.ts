import type { NetworkInterfaceInfo, networkInterfaces } from 'node:os';
import { expect, test } from 'vitest';
import { isLoopback, toldHost, urlHost } from './address.ts';

const address = (text: string, internal = false) =>
  ({ address: text, family: text.includes(':') ? 'IPv6' : 'IPv4', internal }) as NetworkInterfaceInfo;
const machine = (...addresses: NetworkInterfaceInfo[]): typeof networkInterfaces => {
  return () => ({ lo: [address('127.0.0.1', true), address('::1', true)], eth0: addresses });
};

test.each([
  ['127.0.0.1', true],
  ['127.8.9.10', true],
  ['::1', true],
  ['0:0:0:0:0:0:0:1', true],
  ['localhost', true],
  ['127.1', true],
  ['0.0.0.0', false],
  ['0', false],
  ['::', false],
  ['10.0.0.7', false],
  ['fd00::1', false],
  ['robots.example', false],
  // Only stricter than it needs to be.
  ['::ffff:10.0.0.7', false],
])('%s: is it loopback? %s', (host, loopback) => {
  expect(isLoopback(host)).toBe(loopback);
});

test.each(['', 'a b', 'http://x', 'x:80', 'user@x', 'x/y', 'x?y', 'fe80::1%eth0', '1.2.3.999', '[::1]'])(
  '%j is no host',
  (host) => {
    expect(urlHost(host)).toBeUndefined();
    expect(isLoopback(host)).toBe(false);
  },
);

test('a host that was named is told as it is', () => {
  const elsewhere = machine(address('10.0.0.7'));
  expect(toldHost('127.0.0.1', elsewhere)).toBe('127.0.0.1');
  expect(toldHost('10.1.1.1', elsewhere)).toBe('10.1.1.1');
  expect(toldHost('robots.example', elsewhere)).toBe('robots.example');
  expect(toldHost('fd00::1', elsewhere)).toBe('[fd00::1]');
});

test('all addresses of the machine are told as one that others can reach', () => {
  expect(toldHost('0.0.0.0', machine(address('fd00::1'), address('10.0.0.7')))).toBe('10.0.0.7');
  expect(toldHost('0', machine(address('10.0.0.7')))).toBe('10.0.0.7');
  expect(toldHost('::', machine(address('fe80::1'), address('fd00::1'), address('10.0.0.7')))).toBe('10.0.0.7');
  expect(toldHost('::', machine(address('fe80::1'), address('fd00::1')))).toBe('[fd00::1]');
  expect(toldHost('0.0.0.0', machine(address('fd00::1')))).toBe('127.0.0.1');
  expect(toldHost('::', machine())).toBe('127.0.0.1');
});
