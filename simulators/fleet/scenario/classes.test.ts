import { expect, it } from 'vitest';
import { classOf, leastRobotsOf, meanOf, robotsOf, type Scenario, settingsOf } from './scenario.ts';

const classes = { arm: { share: '60%', subscribers: 3 }, cart: { share: '39%', retain: 50 }, rare: { share: '1%' } };
const scenario: Scenario = { name: 'x', subscribers: 2, classes, phases: [] };

it.each([100, 1000, 20_000])('each class has its share of %i robots', (robots) => {
  const count = { arm: 0, cart: 0, rare: 0 };
  for (let robot = 0; robot < robots; robot += 1) count[classOf(scenario, robot) as keyof typeof count] += 1;
  expect(Math.abs(count.arm - 0.6 * robots)).toBeLessThan(4);
  expect(Math.abs(count.cart - 0.39 * robots)).toBeLessThan(4);
  expect(Math.abs(count.rare - 0.01 * robots)).toBeLessThan(4);
});

it('a class overrides the settings of the scenario', () => {
  const robot = (name: string) =>
    Array.from({ length: 300 }, (_, at) => at).find((at) => classOf(scenario, at) === name);
  expect(settingsOf(scenario, robot('arm') ?? 0).subscribers).toBe(3);
  expect(settingsOf(scenario, robot('cart') ?? 0)).toMatchObject({ subscribers: 2, retain: 50 });
  expect(meanOf(scenario, ({ subscribers = 2 }) => subscribers)).toBeCloseTo(0.6 * 3 + 0.4 * 2);
  expect(meanOf({}, ({ subscribers = 2 }) => subscribers)).toBe(2);
  expect(classOf({}, 5)).toBeUndefined();
  expect(settingsOf({ name: 'x', phases: [] }, 5)).toEqual({ subscribers: 1 });
});

it('the smallest fleet with a robot of a class is computed', () => {
  const least = leastRobotsOf(scenario, 'rare') ?? 0;
  expect([least, least - 1].map((robots) => robotsOf(scenario, robots, 'rare').length)).toEqual([1, 0]);
  expect(leastRobotsOf({ classes: { ...classes, none: { share: '0%' } } }, 'none')).toBeUndefined();
});
