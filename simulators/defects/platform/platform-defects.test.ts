/** Defects and variants: each has a name of its own, says what it is, and is something other than right. */
import { describe, expect, it } from 'vitest';
import { type PlatformBehaviour, rightBehaviour } from '../../platform/index.ts';
import { startPlatform } from '../../platform/testing/client.ts';
import { platformVariants } from '../../variants/platform/index.ts';
import { platformDefect, platformDefects, systemDefects } from './index.ts';

const defects = [...platformDefects, ...systemDefects];
const changed = (behaviour: PlatformBehaviour): string[] =>
  Object.entries(behaviour)
    .filter(([name, decision]) => rightBehaviour[name as keyof PlatformBehaviour] !== decision)
    .map(([name]) => name);

describe('the registries', () => {
  it('name each once, as a slug', () => {
    const names = [...defects, ...platformVariants].map(({ name }) => name);
    expect(new Set(names).size).toBe(names.length);
    for (const name of names) expect(name).toMatch(/^[a-z0-9]+(-[a-z0-9]+)*$/);
    expect(defects.length).toBeGreaterThanOrEqual(35);
    expect(platformVariants.length).toBeGreaterThanOrEqual(8);
  });

  it('say what breaks', () => {
    for (const { breaks, summary } of defects) {
      expect(breaks.length).toBeGreaterThan(0);
      expect(summary).toMatch(/^[A-Z].*\.$/);
    }
    for (const { breaks } of platformDefects) expect(breaks.every((id) => id.startsWith('platform.'))).toBe(true);
    for (const { breaks } of systemDefects) expect(breaks.every((id) => id.startsWith('system.'))).toBe(true);
  });

  it('find by name, or tell the names', () => {
    expect(platformDefect('scope-ignored').summary).toContain('every key');
    expect(() => platformDefect('none')).toThrow(/known: .*scope-ignored/);
  });

  it.for([...defects, ...platformVariants])(
    '$name changes a decision, and the platform starts with it',
    async (each) => {
      const behaviour = each.behaviour(rightBehaviour);
      expect(changed(behaviour)).not.toEqual([]);
      await using platform = await startPlatform({ behaviour, devices: 3, seed: 1 });
      expect((await platform.get('/principal')).status).toBeLessThan(500);
    },
  );
});
