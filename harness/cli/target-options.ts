/** How a target is named on the command line: the options and their values, as the rows of `harness/targets/fields.ts` say. */

import process from 'node:process';
import type { TSchema } from 'typebox';
import { defined } from '../common/defined.ts';
import { UsageError, usage } from '../common/usage.ts';
import { readInputText } from '../common/user-files.ts';
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
  type Value,
  type Values,
} from '../targets/fields.ts';
import { fieldsOf, TRANSPORTS } from '../targets/transports/index.ts';
import type { Opening } from './check-options.ts';
import type { OptionSpec, OptionsOf, OptionTable } from './options.ts';

/** An option whose values have that type. */
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

/** The options of the fields that have help. */
export function optionsFor<T extends Fields>(fields: T): OptionsFor<T> {
  const options = Object.entries<Field>(fields).flatMap(([name, field]) =>
    field.help === undefined ? [] : [[optionName(name, field), optionSpec(field, field.help)]],
  );
  return Object.fromEntries(options) as OptionsFor<T>;
}

function optionSpec({ type, given, variable, ...field }: Field, help: string): OptionSpec {
  const schema = (given ?? type ?? {}) as TSchema & {
    type?: string;
    minimum?: number;
    maximum?: number;
    enum?: string[];
  };
  const { minimum: from, maximum: to, enum: choices } = schema;
  return {
    ...(schema.type === 'boolean'
      ? { type: 'boolean' }
      : schema.type === 'integer'
        ? { type: 'number', range: { whole: true, ...defined({ from, to }) } }
        : { type: 'string', ...defined({ choices, array: schema.type === 'array' || undefined }) }),
    describe: help,
    group: 'Target',
    ...defined({ defaultText: field.defaultText, conflicts: field.conflicts, secret: variable }),
  };
}

/** Their values by the names of the rows; a secret that was not given comes from its environment variable. */
function given<T extends Fields>(fields: T, args: Readonly<Record<string, unknown>>): Values<T> {
  const values = Object.entries<Field>(fields).flatMap(([name, field]) =>
    field.help === undefined ? [] : [[name, args[optionName(name, field)]]],
  );
  return mergedFields(fields, Object.fromEntries(values), {}, process.env);
}

const anyTarget = { ...startFields, ...identityFields };

export const ownPlatformOptions = optionsFor(ownPlatformFields);
export const deviceTargetOptions = {
  ...optionsFor(fieldsOf(TRANSPORTS)),
  ...optionsFor(controlFields),
  ...optionsFor(anyTarget),
  ...ownPlatformOptions,
} satisfies OptionTable;
export const platformTargetOptions = {
  ...optionsFor(platformFields),
  ...optionsFor(anyTarget),
} satisfies OptionTable;
export const systemTargetOptions = { ...deviceTargetOptions, ...optionsFor(systemFields) } satisfies OptionTable;
export const clientTargetOptions = optionsFor(clientFields) satisfies OptionTable;

export function deviceTarget(args: OptionsOf<typeof deviceTargetOptions>, opening: Opening): DeviceTargetOptions {
  const { controlToken: file, ...values } = given({ ...fieldsOf(TRANSPORTS), ...controlFields, ...anyTarget }, args);
  const controlToken = file === undefined ? undefined : usage('--control-token', () => readInputText(file).trim());
  return { ...values, ...defined({ controlToken }), ...opening };
}

export const platformTarget = (
  args: OptionsOf<typeof platformTargetOptions>,
  opening: Opening,
): PlatformTargetOptions => ({ ...given({ ...platformFields, ...anyTarget }, args), ...opening });

export const clientTarget = (args: OptionsOf<typeof clientTargetOptions>, opening: Opening): ClientTargetOptions => ({
  ...given(clientFields, args),
  ...opening,
});

/** What Muster's own platform is like, as the agent reaches it. */
export type OwnPlatform = Values<typeof ownPlatformFields>;
export type OwnPlatformArguments = OptionsOf<typeof ownPlatformOptions>;

export const ownPlatform = (args: OwnPlatformArguments, file: Partial<TargetFile> | undefined): OwnPlatform =>
  mergedFields(ownPlatformFields, given(ownPlatformFields, args), file?.control?.platform);

/** Throws UsageError for the first option that only Muster's own platform takes. `except`: options that mean something else here. */
export function refuseOwnPlatform(args: OwnPlatformArguments, instead: string, except: readonly string[] = []): void {
  const names = Object.keys(ownPlatformOptions) as (keyof OwnPlatformArguments)[];
  const first = names.find((name) => (args[name] ?? false) !== false && !except.includes(name));
  if (first !== undefined) throw new UsageError(`--${first}: is about Muster's own platform; ${instead}`);
}
