import { randomInt } from 'node:crypto';
import { resolve } from 'node:path';
import process from 'node:process';
import { EXIT } from '../../common/usage.ts';
import { DemoScreen } from '../demo/screen.ts';
import { interruptSignal } from '../interrupt.ts';
import { command } from '../options.ts';

export const demo = command({
  options: {
    robots: {
      type: 'number',
      range: { whole: true, from: 1, to: 1_000_000 },
      default: 200,
      describe: 'Robots in the fleet',
    },
    seed: {
      type: 'number',
      range: { whole: true },
      describe: 'Seed of the run; the same seed repeats it',
      defaultText: 'a new one',
    },
    out: { type: 'string', default: 'muster-report', describe: 'Folder for the reports' },
  },
  examples: [['muster demo --robots 50', 'a smaller fleet']],
  async run({ robots, seed = randomInt(2 ** 31), out }) {
    const { runDemo } = await import('../demo/steps.ts');
    const interrupt = interruptSignal();
    const screen = new DemoScreen(process.stdout, process.env);
    try {
      return await runDemo({ robots, seed, out: resolve(out), screen, signal: interrupt.signal });
    } catch (error) {
      if (!interrupt.signal.aborted) throw error;
      screen.line('stopped; nothing is left running');
      return EXIT.interrupted;
    } finally {
      interrupt.release();
    }
  },
});
