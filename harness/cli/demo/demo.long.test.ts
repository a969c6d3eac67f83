import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { Running } from '../testing/muster.ts';

const folder = mkdtempSync(join(tmpdir(), 'muster-demo-test-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** A separate temporary folder, so that leftovers show. */
function start(name: string): { demo: Running; scratch: string; out: string } {
  const scratch = join(folder, name);
  mkdirSync(scratch);
  const out = join(folder, `${name}-report`);
  return {
    demo: new Running(['demo', '--robots', '12', '--seed', '3', '--out', out], { env: { TMPDIR: scratch } }),
    scratch,
    out,
  };
}

function groupIsGone(leader: number): boolean {
  try {
    process.kill(-leader, 0);
    return false;
  } catch {
    return true;
  }
}

describe('the demo', () => {
  it('ends with a summary and reports, and leaves nothing else', async () => {
    const { demo, scratch, out } = start('whole');
    const { code, stdout } = await demo.ended;
    expect(stdout).toMatch(/Everything passed 12 robots\n +roll-out p50 .*, p99 .*\n +\d+ checks passed/);
    expect(code).toBe(0);
    expect(readdirSync(out).sort()).toEqual([
      'device.html',
      'device.json',
      'fleet.html',
      'fleet.json',
      'platform.html',
      'platform.json',
    ]);
    expect(readdirSync(scratch)).toEqual([]);
    expect(groupIsGone(demo.child.pid ?? 0)).toBe(true);
  });

  it.each(['platform', 'robots', 'roll-out', 'device API'])(
    'leaves no process, socket or file when stopped after %s',
    async (stage) => {
      const { demo, scratch } = start(stage);
      await demo.line((line) => line.includes(`✓ ${stage}`));
      process.kill(-(demo.child.pid ?? 0), 'SIGINT');
      const { code, stdout } = await demo.ended;
      expect(stdout).toContain('stopped');
      expect(code).toBe(130);
      expect(existsSync(scratch) ? readdirSync(scratch) : []).toEqual([]);
      expect(groupIsGone(demo.child.pid ?? 0)).toBe(true);
    },
  );
});
