import { randomInt } from 'node:crypto';
import { resolve } from 'node:path';
import process from 'node:process';
import { interruptedCode, UsageError } from '../../common/usage.ts';
import { command, consoleOptions, OPTION, uiPortOf } from '../options.ts';
import { interruptSignal } from '../process-end.ts';

export const demo = command({
  options: {
    robots: OPTION.whole('Robots in the fleet', { from: 1, to: 1_000_000, default: 200 }),
    seed: OPTION.whole('Seed of the run; the same seed repeats it', { defaultText: 'a new one' }),
    out: OPTION.file('Folder for the reports', { default: 'muster-report' }),
    ...consoleOptions,
  },
  examples: [
    ['muster demo --robots 50', 'a smaller fleet'],
    ['muster demo --ui', 'with pages to watch and drive it, until Ctrl+C'],
  ],
  epilogue:
    'With --ui the fleet and the platform have a page each (--ui-port is the port of the first), ' +
    'and both stay up after the checks until Ctrl+C; what was done by hand is in the report of the fleet.',
  async run({ robots, seed = randomInt(2 ** 31), out, ...args }) {
    const { DemoScreen, PreflightError, runDemo } = await import('../demo/demo.ts');
    const uiPort = uiPortOf(args);
    using interrupt = interruptSignal();
    const screen = new DemoScreen(process.stdout, process.env);
    try {
      return await runDemo({ robots, seed, out: resolve(out), uiPort, screen, signal: interrupt.signal });
    } catch (error) {
      if (error instanceof PreflightError) throw new UsageError(error.message);
      if (!interrupt.signal.aborted) throw error;
      screen.line('stopped; nothing is left running');
      return interruptedCode(interrupt.signal);
    }
  },
});
