import { expect, test } from 'vitest';
import { TrafficRedactor } from '../common/redact.ts';
import { Glance } from './glance.ts';

const asks = (exchange: number, target = '/v0.2/events') => ({
  ...({ kind: 'request', at: 1000, connection: 1, exchange, method: 'GET', target } as const),
  headers: [['User-Agent', 'robot/1']] as const,
});

test('an exchange is shown while it lasts, and once when it is over', () => {
  const glance = new Glance(new TrafficRedactor());
  glance.take(asks(1));
  glance.take({ kind: 'response', at: 1010, exchange: 1, status: 200, headers: [] });
  glance.take({ kind: 'frame', at: 1500, exchange: 1, fields: [] });
  const line = { exchange: 1, at: 1000, ms: 500, method: 'GET', url: '/v0.2/events', client: 'robot/1', status: 200 };
  expect(glance.look()).toEqual({ open: [{ ...line, events: 1, ended: null }], over: [] });
  glance.take({ kind: 'over', at: 1600, exchange: 1, ended: 'server' });
  expect(glance.look()).toEqual({ open: [], over: [{ ...line, ms: 600, events: 1, ended: 'server' }] });
  expect(glance.look()).toEqual({ open: [], over: [] });
});

test('a secret that is known by the time of a look is masked', () => {
  const redactor = new TrafficRedactor();
  const glance = new Glance(redactor);
  glance.take(asks(1, '/beta/devices/mk_0123456789abcdef?token=x'));
  redactor.add('mk_0123456789abcdef');
  expect(glance.look().open[0]?.url).toBe('/beta/devices/***?token=***');
});

test('however many there are, a few are followed', () => {
  const glance = new Glance(new TrafficRedactor());
  for (let exchange = 0; exchange < 5000; exchange += 1) glance.take(asks(exchange));
  expect(glance.look().open).toHaveLength(100);
  for (let exchange = 0; exchange < 5000; exchange += 1) {
    glance.take({ kind: 'over', at: 1, exchange, ended: 'whole' });
    glance.take(asks(10_000 + exchange));
  }
  expect(glance.look().over.length).toBeLessThanOrEqual(100);
});
