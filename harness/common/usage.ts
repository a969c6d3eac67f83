import process from 'node:process';

/** Commands with their own meanings of exit codes; all other commands exit with 0 after their work. */
export const EXIT_CODE_COMMANDS = [
  'check',
  'compare',
  'fit',
  'fleet',
  'mutate',
  'verify',
  'simulate',
  'doctor',
  'watch',
] as const;
export type ExitTable = (typeof EXIT_CODE_COMMANDS)[number];

type ExitCode = { code: number } & { readonly [Table in ExitTable]?: string };

const afterEach = <const Meaning extends string>(meaning: Meaning) =>
  Object.fromEntries(EXIT_CODE_COMMANDS.map((table) => [table, meaning])) as Record<ExitTable, Meaning>;
const afterRuns = <const Meaning extends string>(meaning: Meaning) => ({
  check: meaning,
  compare: meaning,
  fleet: meaning,
  mutate: meaning,
});

const EXIT_CODES = {
  conformant: {
    code: 0,
    check: 'conformant',
    compare: 'the gate holds',
    fit: 'all pairs fit',
    fleet: 'all thresholds met',
    mutate: 'the tests found what they were to find',
    verify: 'valid and conformant',
    simulate: 'ended by SIGINT or SIGTERM',
    watch: 'no MUST failed in what was seen',
    doctor: 'checks can run here',
  },
  nonconformant: {
    code: 1,
    check: 'a MUST failed, or a SHOULD that fails the run',
    compare: 'the gate does not hold',
    fit: 'a pair does not fit',
    fleet: 'an event stream lost or repeated events, or with --judge an answer broke a MUST',
    mutate: 'a defect survived, the score is too low, or the tests are brittle',
    watch: 'a MUST failed, or a SHOULD that fails the run',
    verify: 'valid, not conformant',
  },
  incomplete: {
    code: 2,
    check: 'incomplete (undecided, blocked, or not as declared)',
    compare: 'undecided',
    fit: 'a pair was never tested, or not decided',
    fleet: 'incomplete, a threshold was not measured, or the platform did not answer',
    mutate: 'undecided: the tests fail on the faithful simulator, ask nothing, or are not the same each time',
    watch: 'nothing was seen that decides anything, or no answer of the server was seen',
    verify: 'refused',
  },
  harness: { code: 3, ...afterEach('Muster itself failed'), doctor: 'checks cannot run here, or Muster itself failed' },
  usage: { code: 64, ...afterEach('usage error') },
  saturated: { code: 98, fleet: 'the load generator could not keep up, so the figures mean nothing' },
  threshold: { code: 99, fleet: 'a threshold was missed, or a gate or abort_on ended the run' },
  hungUp: { code: 129, ...afterRuns('hung up'), simulate: 'hung up', watch: 'hung up' },
  interrupted: { code: 130, ...afterRuns('interrupted') },
  terminated: { code: 143, ...afterRuns('terminated') },
} as const satisfies Record<string, ExitCode>;

export const EXIT = Object.fromEntries(Object.entries(EXIT_CODES).map(([name, { code }]) => [name, code])) as {
  readonly [Name in keyof typeof EXIT_CODES]: (typeof EXIT_CODES)[Name]['code'];
};

export const exitCodesOf = (table: ExitTable): number[] =>
  Object.values<ExitCode>(EXIT_CODES).flatMap((exit) => (exit[table] === undefined ? [] : [exit.code]));

export function exitCodesText(command: ExitTable): string {
  return Object.values<ExitCode>(EXIT_CODES)
    .filter((exit) => exit[command] !== undefined)
    .map((exit) => `${exit.code} ${exit[command]}`)
    .join(' · ');
}

/** Closest word for "did you mean …?"; `*` in `text` matches anything. Undefined if no word is close. */
export function nearest(text: string, known: readonly string[]): string | undefined {
  let best: string | undefined;
  // Requires a closer match for a pattern with `*`, because `*` matches more words.
  const most = text.includes('*') ? 2 : Math.max(2, Math.floor(text.length / 3));
  let least = Math.min(most, text.length - 1);
  for (const candidate of known) {
    const distance = editDistance(text, candidate);
    if (distance <= least && (best === undefined || distance < least)) {
      best = candidate;
      least = distance;
    }
  }
  return best;
}

function editDistance(left: string, right: string): number {
  let row = Array.from({ length: right.length + 1 }, (_, index) => index);
  for (let i = 1; i <= left.length; i += 1) {
    const any = left[i - 1] === '*';
    const next = [(row[0] ?? 0) + (any ? 0 : 1)];
    for (let j = 1; j <= right.length; j += 1) {
      if (any) {
        next.push(Math.min(row[j] ?? 0, next[j - 1] ?? 0));
        continue;
      }
      const substitution = (row[j - 1] ?? 0) + (left[i - 1] === right[j - 1] ? 0 : 1);
      next.push(Math.min(substitution, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1));
    }
    row = next;
  }
  return row[right.length] ?? 0;
}

/** Hint for an address at which routes are missing. */
export const wrongBaseUrl = (option: string): string => `is ${option} right? A base URL may end in a path, e.g. /beta`;

/** Throws UsageError, without showing the secret, if no header can carry it. */
export function headerSecret(option: string, secret: string): string {
  const at = secret.search(/[^\x21-\x7e]/);
  if (at < 0) return secret;
  const what = /[\r\n]/.test(secret[at] ?? '') ? 'a line end' : 'a blank or a character beyond ASCII';
  throw new UsageError(
    `${option}: has ${what} as character ${at + 1} of ${secret.length}; accepted: ASCII letters, digits and signs`,
  );
}

export class NamedError extends Error {
  override name = this.constructor.name;
}

/** Error for a mistake of the user (`EXIT.usage`); the message names the option and the accepted values. */
export class UsageError extends NamedError {
  readonly code = 'MUSTER_USAGE';
}

export function usage<T>(option: string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    throw new UsageError(`${option}: ${error instanceof Error ? error.message : String(error)}`);
  }
}

const CODES = { SIGHUP: EXIT.hungUp, SIGINT: EXIT.interrupted, SIGTERM: EXIT.terminated } as const;
export type EndingSignal = keyof typeof CODES;
export const ENDING_SIGNALS = Object.keys(CODES) as EndingSignal[];

export class Interrupted extends NamedError {
  readonly by: EndingSignal;

  constructor(by: EndingSignal) {
    super('interrupted');
    this.by = by;
  }
}

export const interruptedCode = ({ reason }: AbortSignal): number =>
  reason instanceof Interrupted ? CODES[reason.by] : EXIT.interrupted;

/** Resolves with the first signal and its exit code (0 for SIGINT and SIGTERM); ignores signals during the clean-up. */
export function untilSignal(): Promise<{ signal: EndingSignal; code: number }> {
  return new Promise((resolve) => {
    for (const signal of ENDING_SIGNALS)
      process.on(signal, () => resolve({ signal, code: signal === 'SIGHUP' ? CODES[signal] : EXIT.conformant }));
  });
}

/** One word of a command line of a POSIX shell. */
export const quote = (text: string): string =>
  /^[A-Za-z0-9_/:=.,@%+-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;

/** Throws UsageError for an address with credentials; the message does not show the address. */
export function refuseCredentials(option: string, { username, password }: URL): void {
  if (username + password !== '') throw new UsageError(`${option}: credentials do not belong into the address`);
}
