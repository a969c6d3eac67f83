import type TypeBox from 'typebox';
import type { Static, TObject, TObjectOptions, TProperties, TSchema } from 'typebox';

type Schema = Record<string, unknown>;

const OPTIONAL = '~optional';

const simple =
  (type: string) =>
  (options?: Schema): Schema => ({ type, ...options });

const constructors = {
  String: simple('string'),
  Integer: simple('integer'),
  Number: simple('number'),
  Boolean: simple('boolean'),
  Null: simple('null'),
  Unknown: (options?: Schema): Schema => ({ ...options }),
  Literal: (value: unknown, options?: Schema): Schema => ({ type: typeof value, const: value, ...options }),
  Enum: (values: readonly unknown[], options?: Schema): Schema => ({ enum: values, ...options }),
  Union: (anyOf: readonly Schema[], options?: Schema): Schema => ({ anyOf, ...options }),
  Array: (items: Schema, options?: Schema): Schema => ({ type: 'array', items, ...options }),
  Record: (key: Schema, value: Schema, options?: Schema): Schema => ({
    type: 'object',
    patternProperties: { [`${key['pattern'] ?? '^.*$'}`]: value },
    ...options,
  }),
  Object: (properties: Record<string, Schema>, options?: Schema): Schema => {
    const required = Object.keys(properties).filter((name) => !(OPTIONAL in (properties[name] ?? {})));
    return { type: 'object', ...(required.length > 0 && { required }), properties, ...options };
  },
  Optional: (schema: Schema): Schema => Object.defineProperty({ ...schema }, OPTIONAL, { value: true }),
  Unsafe: (schema: Schema): Schema => schema,
  Ref: (to: string): Schema => ({ $ref: to }),
};

/** Builds schemas with TypeBox's types, but without TypeBox, which takes 100 ms to load in each process. */
export const Type = constructors as unknown as Pick<typeof TypeBox, keyof typeof constructors>;

/** `path` is a JSON Pointer, '' for the value itself. */
export interface Problem {
  path: string;
  message: string;
}

/** Steps of a problem's path; a step of digits becomes a number. */
export const stepsOf = ({ path }: Problem): (string | number)[] =>
  path
    .split('/')
    .slice(1)
    .map((step) => (/^\d+$/.test(step) ? Number(step) : step.replaceAll('~1', '/').replaceAll('~0', '~')));

/** Wire format with its type (`Static<typeof x.schema>`), guard, problems in words and published JSON Schema. */
export interface Shape<T extends TSchema = TSchema> {
  readonly name: string;
  readonly schema: T;
  is(value: unknown): value is Static<T>;
  problems(value: unknown): Problem[];
}

export type TypeOfShape<S extends Shape> = Static<S['schema']>;

/** Declares `process`, because a browser page imports types from this file without Node's own types. */
declare const process: {
  getBuiltinModule(name: 'node:module'): { createRequire(from: string): (name: string) => unknown };
};
const require = process.getBuiltinModule('node:module').createRequire(import.meta.url);

/** Loads the compiler of validators, which takes 100 ms; a process that measures time loads it early. */
export function loadCompiler(): typeof import('typebox/schema') {
  const { Format } = require('typebox/format') as typeof import('typebox/format');
  Format.Set('date-time', isIso8601);
  return require('typebox/schema') as typeof import('typebox/schema');
}

/** Compiles the validator on first use, to keep imports fast. */
export function shape<T extends TSchema>(name: string, schema: T): Shape<T> {
  let compiled: Validator | undefined;
  const validator = (): Validator => {
    compiled ??= loadCompiler().Compile(schema);
    return compiled;
  };
  return {
    name,
    schema,
    is: (value): value is Static<T> => validator().Check(value),
    problems: (value) => {
      if (validator().Check(value)) return [];
      const errors = validator().Errors(value)[1];
      const placed = errors.filter(({ keyword }) => keyword !== 'additionalProperties');
      return (placed.length > 0 ? placed : errors).map(({ keyword, instancePath, message, params }) => ({
        path: instancePath,
        message: MESSAGES[keyword]?.(params as Record<string, unknown>) ?? message,
      }));
    },
  };
}

/** Accepts unknown members unless the options refuse them. */
export const objectShape = <P extends TProperties>(
  name: string,
  members: P,
  options?: TObjectOptions,
): Shape<TObject<P>> => shape(name, Type.Object(members, options));

/** Refuses unknown members, so that a client notices a misspelt optional one. */
export const exact = <P extends TProperties>(members: P) => Type.Object(members, { additionalProperties: false });

export const nullable = <T extends TSchema>(schema: T, description?: string) =>
  Type.Union([schema, Type.Null()], description === undefined ? {} : { description });

interface Validator {
  Check(value: unknown): boolean;
  Errors(value: unknown): [boolean, { keyword: string; instancePath: string; message: string; params: object }[]];
}

const MESSAGES: Readonly<Record<string, (params: Record<string, unknown>) => string>> = {
  required: (params) => `lacks ${list(params['requiredProperties'])}`,
  enum: (params) => `must be one of ${list(params['allowedValues'])}`,
  const: (params) => `must be ${JSON.stringify(params['allowedValue'])}`,
  boolean: () => 'is not known here',
  format: () => 'must be an ISO 8601 date-time',
};

function list(values: unknown): string {
  return Array.isArray(values) ? values.map((value) => JSON.stringify(value)).join(', ') : String(values);
}

export function oneOf<const V extends readonly string[]>(values: V, description?: string) {
  return Type.Enum<[...V]>([...values] as never, description === undefined ? {} : { description });
}

const DATE = String.raw`\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])`;
/** YYYY-MM-DD. */
export const DAY_FORM = `^${DATE}$`;
const TIME = String.raw`(([01]\d|2[0-3]):[0-5]\d(:([0-5]\d|60)([.,]\d+)?)?|24:00(:00([.,]0+)?)?)`;
const OFFSET = String.raw`(Z|[+-]([01]\d|2[0-3])(:?[0-5]\d)?)?`;
/** Section 2 of the specification; seconds and offset are optional, unlike in RFC 3339. */
const ISO_8601 = new RegExp(`^${DATE}T${TIME}${OFFSET}$`, 'i');

/** Accepts leap seconds and 24:00, refuses days that the month lacks. */
export function isIso8601(text: string): boolean {
  if (!ISO_8601.test(text)) return false;
  const [year = 0, month = 0, day = 0] = text.slice(0, 10).split('-').map(Number);
  return day <= new Date(Date.UTC(year, month, 0)).getUTCDate();
}

/** Milliseconds since 1970. Date.parse reads no comma, leap second or offset in hours, which `isIso8601` accepts. */
export function instantOf(text: string): number {
  if (!isIso8601(text)) return Date.parse(text);
  const read = text
    .toUpperCase()
    .replace(',', '.')
    .replace(/([+-]\d\d):?(\d\d)?$/, (_, hours, minutes = '00') => `${hours}:${minutes}`);
  return Date.parse(read.replace(':60', ':59')) + (read.includes(':60') ? 1000 : 0);
}

export const Timestamp = Type.String({ format: 'date-time', description: 'ISO 8601 date-time' });

/** Time as Muster writes it: in UTC, so that texts sort, and without the parts of ISO 8601 that Date.parse refuses. */
export const UtcTimestamp = Type.String({
  format: 'date-time',
  pattern: ':[0-5]\\d(\\.\\d+)?Z$',
  description: 'In UTC',
});
