/** The options of every command that serves a console. */
import type { OptionTable } from './options.ts';

const CONSOLE = 'Console';

export const consoleOptions = {
  ui: {
    type: 'boolean',
    describe: 'Serve a page to watch and drive it, on loopback; its address is printed as ui',
    group: CONSOLE,
  },
  'ui-port': {
    type: 'number',
    range: { whole: true, from: 0, to: 65_535 },
    describe: 'Port of the page; implies --ui',
    defaultText: 'any free one',
    group: CONSOLE,
  },
} as const satisfies OptionTable;

/** The port that a console is asked for, 0 for any; undefined when none is. */
export function uiPortOf(args: { ui: boolean; 'ui-port'?: number }): number | undefined {
  return args['ui-port'] ?? (args.ui ? 0 : undefined);
}
