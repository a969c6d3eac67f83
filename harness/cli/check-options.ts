import type { TSchema } from 'typebox';
import { defined } from '../common/defined.ts';
import { UsageError } from '../common/usage.ts';
import { REPORT_FORMATS_TEXT } from '../reports/create.ts';
import type { Api, Suite } from '../runner/types.ts';
import {
  type ClientTargetOptions,
  clientFields,
  controlFields,
  type DeviceTargetOptions,
  type Field,
  type Fields,
  identityFields,
  mergedFields,
  type OptionName,
  optionName,
  ownPlatformFields,
  type PlatformTargetOptions,
  platformFields,
  startFields,
  systemFields,
  type TargetFile,
  type TargetOptions,
  type Value,
  type Values,
} from '../targets/fields.ts';
import type { OpenedTarget } from '../targets/opened.ts';
import { TRANSPORT_FIELDS } from '../targets/transports/index.ts';
import {
  type Command,
  type GivenOptions,
  type OptionSpec,
  type OptionsOf,
  type OptionTable,
  optionsIn,
  REPORTED,
  textFrom,
  wholePath,
} from './options.ts';

const WHICH = optionsIn('Which checks');
const HOW = optionsIn('How');
const OUTCOME = optionsIn('Outcome');

/** Maximum of `--patience` in seconds, far below the 24 days that a Node timer allows. */
export const LONGEST_PATIENCE_SECONDS = 3600;

export const commonOptions = {
  only: WHICH.list('Run only these requirements or checks; * matches anything'),
  section: WHICH.list('Only these sections of the specification'),
  'last-failed': WHICH.flag('Only what failed, was blocked or stayed undecided in the last run against this target'),
  fast: WHICH.flag(
    'Skip checks that have to wait (heartbeats), try fewer inputs, and try findings again once, not twice',
  ),
  profile: WHICH.text('Hold the target to this profile', { defaultText: 'the largest it can reach' }),
  requirements: WHICH.text('Requirement set of this date (YYYY-MM-DD)', { defaultText: 'the newest' }),
  runs: HOW.number('Factor for the number of inputs', { above: 0, to: 10_000, defaultText: '1; with --fast 0.4' }),
  seed: HOW.whole('Seed of the run; the same seed repeats it', { defaultText: 'a new one' }),
  patience: HOW.number('Seconds to wait for an answer or event that is due immediately', {
    above: 0,
    to: LONGEST_PATIENCE_SECONDS,
    default: 10,
  }),
  'max-time': HOW.text(
    'Time for the whole run; checks that have not ended by then are blocked. When the run ends, findings are tried ' +
      'again alone, for a third of the time so far, 20 s at most',
    { default: '10m' },
  ),
  repeat: HOW.whole('Run every check this many times, with the same seed, and tell how often each failed', {
    from: 1,
    to: 1000,
    defaultText: 'once',
  }),
  bail: HOW.whole('End the run after this many failed MUSTs, and try nothing again', { from: 1, defaultText: 'never' }),
  require: OUTCOME.list('Fail (exit 2) unless the target has these capabilities, e.g. drive,restart'),
  'min-decided': OUTCOME.text('Fail (exit 2) unless this many checks were decided: a number, or percent such as 80%'),
  'fail-on': OUTCOME.list(
    'Fail (exit 1) for SHOULDs too: should for all, should=ID,SECTION,… for some; or fail_on in the target file',
  ),
  baseline: OUTCOME.file('Known findings, with reason, owner and expiry'),
  'update-baseline': OUTCOME.flag('Write the findings of this run into the baseline, and say what changes'),
  report: OUTCOME.list(REPORT_FORMATS_TEXT, REPORTED),
  verbose: OUTCOME.flag('Pretty report: list every check, show findings in full'),
  certificate: OUTCOME.file('Write a signed certificate to this file'),
  key: OUTCOME.file('Private key (PEM, Ed25519) that signs it'),
  'valid-until': OUTCOME.text('Last day on which the certificate holds, e.g. 2027-06-30', {
    defaultText: 'a year after the run',
  }),
  signer: OUTCOME.text(
    'Who signs it, and where the public key is published, e.g. "Arms Ltd, https://arms.example/key"',
  ),
  badge: OUTCOME.file('Write an SVG badge to this file'),
} as const satisfies OptionTable;

export const planOptions = {
  ...commonOptions,
  identify: HOW.flag('Name Muster as User-Agent; otherwise nothing in a request tells that it is a test'),
  'read-only': WHICH.flag('Send the platform nothing but GET requests: no write, and no ping'),
} as const satisfies OptionTable;

export type PlanArguments = OptionsOf<typeof commonOptions> &
  Partial<OptionsOf<typeof planOptions>> & { readonly target?: string | undefined };

/** Factor for the number of inputs; 3 by default for a certificate, because one run for a release may take longer. */
export const runsOf = ({ runs, certificate }: Pick<PlanArguments, 'runs' | 'certificate'>): number | undefined =>
  runs ?? (certificate === undefined ? undefined : 3);

export const isReadOnly = (args: Pick<PlanArguments, 'read-only' | 'profile'>): boolean =>
  args['read-only'] === true || args.profile === 'read-only';

const OF_EVERY_RUN: readonly string[] = ['profile', 'requirements', 'patience'];

export const targetOnly = (options: GivenOptions): GivenOptions =>
  Object.fromEntries(
    Object.entries(options).filter(([name]) => OF_EVERY_RUN.includes(name) || !Object.hasOwn(commonOptions, name)),
  );

export type CheckTable = OptionTable & typeof commonOptions;

export type Opening = Required<Pick<TargetOptions, 'redactor' | 'signal' | 'patienceMs' | 'notify'>> &
  Pick<TargetOptions, 'userAgent'>;

export interface Checked<T extends CheckTable, Context> {
  api: Api;
  options: T;
  examples: NonNullable<Command['examples']>;
  suite(): Promise<Suite<Context>>;
  concurrency?: number;
  open(options: OptionsOf<T>, opening: Opening): Promise<OpenedTarget<Context>>;
}

type OptionOf<T> = [T] extends [boolean]
  ? { type: 'boolean' }
  : [T] extends [number]
    ? { type: 'number' }
    : [T] extends [readonly unknown[]]
      ? { type: 'string'; array: true }
      : [T] extends [string]
        ? string extends T
          ? { type: 'string' }
          : { type: 'string'; choices: readonly T[] }
        : { type: 'string' };

type OptionsFor<T extends Fields> = {
  [Name in keyof T as OptionName<Name, T[Name]>]: OptionSpec & OptionOf<Value<T[Name]>>;
};

type Schema = { type?: string; minimum?: number; maximum?: number; enum?: string[] };

export function optionsFor<T extends Fields>(fields: T): OptionsFor<T> {
  const options = Object.entries<Field>(fields).flatMap(([name, field]) => {
    const { type, given: typed, help, isPath, defaultText, conflicts, variable: secret } = field;
    if (help === undefined) return [];
    const schema = (typed ?? type ?? {}) as TSchema & Schema;
    const { minimum: from, maximum: to, enum: choices } = schema;
    const spec: OptionSpec = {
      ...(schema.type === 'boolean'
        ? { type: 'boolean' }
        : schema.type === 'integer'
          ? { type: 'number', range: { whole: true, ...defined({ from, to }) } }
          : { type: 'string', ...defined({ choices, array: schema.type === 'array' || undefined }) }),
      describe: help,
      group: 'Target',
      ...defined({ defaultText, conflicts, secret, path: pathOf(isPath) }),
    };
    return [[optionName(name, field), spec]];
  });
  return Object.fromEntries(options) as OptionsFor<T>;
}

function pathOf(isPath: Field['isPath']): OptionSpec['path'] {
  if (typeof isPath === 'function') return (value) => (isPath(value) ? value : undefined);
  return isPath === true ? wholePath : undefined;
}

function given<T extends Fields>(fields: T, args: Readonly<Record<string, unknown>>): Values<T> {
  const values = Object.entries<Field>(fields).flatMap(([name, field]) =>
    field.help === undefined ? [] : [[name, args[optionName(name, field)]]],
  );
  return mergedFields(fields, Object.fromEntries(values));
}

const anyTarget = { ...startFields, ...identityFields };
const deviceFields = { ...TRANSPORT_FIELDS, ...controlFields, ...anyTarget };
const ofPlatform = { ...platformFields, ...anyTarget };

export const ownPlatformOptions = optionsFor(ownPlatformFields);
export const deviceTargetOptions = { ...optionsFor(deviceFields), ...ownPlatformOptions } satisfies OptionTable;
export const platformTargetOptions = optionsFor(ofPlatform) satisfies OptionTable;
export const systemTargetOptions = { ...deviceTargetOptions, ...optionsFor(systemFields) } satisfies OptionTable;
export const clientTargetOptions = optionsFor(clientFields) satisfies OptionTable;

export function deviceTarget(args: OptionsOf<typeof deviceTargetOptions>, opening: Opening): DeviceTargetOptions {
  const { controlToken: file, ...values } = given(deviceFields, args);
  const controlToken = file === undefined ? undefined : textFrom('control-token', file).trim();
  return { ...values, ...defined({ controlToken }), ...opening };
}

export const platformTarget = (
  args: OptionsOf<typeof platformTargetOptions>,
  opening: Opening,
): PlatformTargetOptions => ({ ...given(ofPlatform, args), ...opening });

export const clientTarget = (args: OptionsOf<typeof clientTargetOptions>, opening: Opening): ClientTargetOptions => ({
  ...given(clientFields, args),
  ...opening,
});

export type OwnPlatform = Values<typeof ownPlatformFields>;
export type OwnPlatformArguments = OptionsOf<typeof ownPlatformOptions>;

export const ownPlatform = (args: OwnPlatformArguments, file: Partial<TargetFile> | undefined): OwnPlatform =>
  mergedFields(ownPlatformFields, given(ownPlatformFields, args), file?.control?.platform);

export function refuseOwnPlatform(args: OwnPlatformArguments, instead: string, except: readonly string[] = []): void {
  const names = Object.keys(ownPlatformOptions) as (keyof OwnPlatformArguments)[];
  const first = names.find((name) => (args[name] ?? false) !== false && !except.includes(name));
  if (first !== undefined) throw new UsageError(`--${first}: is about Muster's own platform; ${instead}`);
}
