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
  expect(glance.look(1500)).toEqual({ underWay: 1, open: [{ ...line, events: 1, ended: null }], over: [] });
  // Time goes on where no traffic does.
  expect(glance.look(9000).open[0]?.ms).toBe(8000);
  glance.take({ kind: 'over', at: 1600, exchange: 1, ended: 'server' });
  expect(glance.look(9000)).toEqual({
    underWay: 0,
    open: [],
    over: [{ ...line, ms: 600, events: 1, ended: 'server' }],
  });
  expect(glance.look(9000)).toEqual({ underWay: 0, open: [], over: [] });
});

test('a secret that is known by the time of a look is masked', () => {
  const redactor = new TrafficRedactor();
  const glance = new Glance(redactor);
  glance.take(asks(1, '/beta/devices/mk_0123456789abcdef?token=x'));
  redactor.add('mk_0123456789abcdef');
  expect(glance.look(1000).open[0]?.url).toBe('/beta/devices/***?token=***');
});

test('nothing is left of a secret that stands across the end of what is shown', () => {
  const redactor = new TrafficRedactor();
  redactor.addWord('mk_0123456789abcdef');
  const glance = new Glance(redactor);
  for (const before of [480, 980]) glance.take(asks(before, `/${'x'.repeat(before)}/mk_0123456789abcdef`));
  const [across, beyond] = glance.look(1000).open;
  expect(across?.url).toMatch(/^\/x+\/\*\*\*$/);
  expect(beyond?.url).toMatch(/^\/x+$/);
});

test('however many there are, a few are shown, and all of a bound are followed', () => {
  const glance = new Glance(new TrafficRedactor());
  for (let exchange = 0; exchange < 5000; exchange += 1) glance.take(asks(exchange));
  const { underWay, open } = glance.look(1000);
  expect([underWay, open.length]).toEqual([5000, 100]);
  glance.take({ kind: 'over', at: 1, exchange: 4999, ended: 'whole' });
  expect(glance.look(1000).over).toMatchObject([{ exchange: 4999 }]);
  for (let exchange = 0; exchange < 5000; exchange += 1) {
    glance.take({ kind: 'over', at: 1, exchange, ended: 'whole' });
    glance.take(asks(10_000 + exchange));
  }
  expect(glance.look(1000).over.length).toBeLessThanOrEqual(100);
});
