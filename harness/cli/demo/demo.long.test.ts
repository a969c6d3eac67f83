import { existsSync, mkdirSync, readdirSync } from 'node:fs';
import { expect, it } from 'vitest';
import { lives } from '../../common/testing/processes.ts';
import { Running, typed, useFolder } from '../testing/muster.ts';

const at = useFolder();

function start(name: string): { demo: Running; scratch: string; out: string } {
  const [scratch, out] = [at(name), at(`${name}-report`)];
  mkdirSync(scratch);
  const demo = new Running(typed`demo --robots 12 --seed 3 --out ${out}`, { env: { TMPDIR: scratch } });
  return { demo, scratch, out };
}

it('the demo ends with a summary and reports, and leaves nothing else', async () => {
  const { demo, scratch, out } = start('whole');
  const { code, stdout } = await demo.ended;
  expect(stdout).toMatch(/Nothing failed {4}12 robots\n +roll-out p50 .*, p99 .*\n +\d+ checks passed\n/);
  expect(stdout).not.toContain('undecided');
  expect(code).toBe(0);
  const files = ['device', 'fleet', 'platform'].flatMap((name) => [`${name}.html`, `${name}.json`]);
  expect(readdirSync(out).sort()).toEqual(files);
  expect(readdirSync(scratch)).toEqual([]);
  expect(lives(-(demo.child.pid ?? 0))).toBe(false);
});

it('the demo leaves no process, socket or file when it is stopped in the middle', async () => {
  const { demo, scratch } = start('stopped');
  await demo.line((line) => line.includes('✓ robots'));
  process.kill(-(demo.child.pid ?? 0), 'SIGINT');
  const { code, stdout } = await demo.ended;
  expect(stdout).toContain('stopped');
  expect(code).toBe(130);
  expect(existsSync(scratch) ? readdirSync(scratch) : []).toEqual([]);
  expect(lives(-(demo.child.pid ?? 0))).toBe(false);
});
