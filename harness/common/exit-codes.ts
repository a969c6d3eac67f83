/** Exit codes of every command, declared once: the commands, their help and the README take them from here. */

interface ExitCode {
  code: number;
  /** What it means after `muster check`; absent when that never ends so. */
  check?: string;
  /** What it means after `muster fleet`. */
  fleet?: string;
}

/** By name. No command can do nothing and exit 0. */
const EXIT_CODES = {
  conformant: { code: 0, check: 'conformant', fleet: 'all thresholds met' },
  nonconformant: { code: 1, check: 'a MUST failed', fleet: 'an event stream lost or repeated events' },
  incomplete: {
    code: 2,
    check: 'incomplete (something blocked, or nothing ran)',
    fleet: 'incomplete, or the platform did not answer',
  },
  harness: { code: 3, check: 'Muster itself failed', fleet: 'Muster itself failed' },
  usage: { code: 64, check: 'wrong usage', fleet: 'wrong usage' },
  saturated: { code: 98, fleet: 'the load generator could not keep up, so the figures mean nothing' },
  threshold: { code: 99, fleet: 'a threshold was missed' },
  interrupted: { code: 130, check: 'interrupted', fleet: 'interrupted' },
} as const satisfies Record<string, ExitCode>;

/** The codes alone, by name. */
export const EXIT = Object.fromEntries(Object.entries(EXIT_CODES).map(([name, { code }]) => [name, code])) as {
  readonly [Name in keyof typeof EXIT_CODES]: (typeof EXIT_CODES)[Name]['code'];
};

/** All codes of a command on one line: `0 conformant · 1 a MUST failed · …`. */
export function exitCodesText(command: 'check' | 'fleet'): string {
  return Object.values<ExitCode>(EXIT_CODES)
    .filter((exit) => exit[command] !== undefined)
    .map((exit) => `${exit.code} ${exit[command]}`)
    .join(' · ');
}
