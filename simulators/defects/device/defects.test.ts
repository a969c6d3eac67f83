import { readdirSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { referenceBehaviour } from '../../device/behaviour.ts';
import { simulateDevice } from '../../device/index.ts';
import { ask } from '../../device/testing/robot.ts';
import { scratch } from '../../device/testing/scratch.ts';
import { deviceVariant, deviceVariants } from '../../variants/device/index.ts';
import { deviceDefect, deviceDefects } from './index.ts';

describe.for([
  ['defects', deviceDefects, new URL('.', import.meta.url)],
  ['variants', deviceVariants, new URL('../../variants/device/', import.meta.url)],
] as const)('%s of the device', ([, all, folder]) => {
  test('are each in a file of their own name, and registered', () => {
    const files = readdirSync(folder)
      .filter((name) => !/^(index|types|envelope|.*\.test)\.ts$/.test(name))
      .map((name) => name.replace(/\.ts$/, ''));
    expect(all.map(({ name }) => name).toSorted()).toEqual(files.toSorted());
  });

  test('say what they do in a sentence, and change something', () => {
    for (const { name, summary, behaviour: make } of all) {
      expect(summary, name).toMatch(/^[A-Z].*\.$/);
      expect(make(referenceBehaviour), name).not.toEqual(referenceBehaviour);
    }
  });

  test.for(all.map(({ name }) => name))('%s starts, is driven, restarts and stops', async (name) => {
    using home = scratch();
    const found = all.find((one) => one.name === name);
    const device = await simulateDevice({
      dir: `${home.path}/robot`,
      socket: `${home.path}/agent.sock`,
      loopback: { discovery: `${home.path}/agent.json` },
      retain: 20,
      durability: 'os',
      ...(found ? { behaviour: found.behaviour(referenceBehaviour) } : {}),
    });
    await device.deploy({ config_instances: [{ filepath: '/a', content: 'x' }] });
    await device.publish(30);
    await device.compact();
    const { status } = await ask(`${home.path}/agent.sock`, '/deployments/current');
    expect(status).toBeLessThan(500);
    device.kill();
    await device.start();
    await device.publish(3);
    await device[Symbol.asyncDispose]();
  });
});

test('a defect names requirements that exist by their form', () => {
  for (const { name, breaks } of deviceDefects) {
    expect(breaks.length, name).toBeGreaterThan(0);
    for (const id of breaks) expect(id, name).toMatch(/^device(\.[a-z0-9-]+)+$/);
  }
});

test('an unknown name is refused with the known ones', () => {
  expect(() => deviceDefect('none')).toThrow(/"none"; known: .*ids-restart-at-one/);
  expect(() => deviceVariant('none')).toThrow(/"none"; known: .*byte-by-byte/);
});
