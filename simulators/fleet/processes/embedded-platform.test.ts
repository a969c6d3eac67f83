import { getPriority } from 'node:os';
import { expect, test } from 'vitest';
import { startEmbeddedPlatform } from './embedded-platform.ts';

test('the platform of a fleet leaves the processor to the robots', async () => {
  const platform = await startEmbeddedPlatform(1);
  try {
    expect(getPriority(platform.pid)).toBe(Math.min(getPriority() + 5, 19));
  } finally {
    await platform.stop();
  }
});
